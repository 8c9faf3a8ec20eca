#include "status/merge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "status/clocks.h"

namespace rondo::status {
namespace {

using nlohmann::json;

/// One file as far as it is understood; its times become those of its clock.
struct Record {
  std::string name, host, clock;
  int64_t origin = 0, realtime = 0, written = 0;
  json events;
  std::string why;

  int64_t ns(const json& micros) const {
    return origin + static_cast<int64_t>(std::llround(micros.get<double>() * 1000));
  }
};

/// Throws if a call lacks anything that is asked for later.
void checkCall(const Record& record, const json& event) {
  const json& args = event.at("args");
  record.ns(event.at("ts"));
  record.ns(event.at("dur"));
  event.at("name").get<std::string>();
  event.at("cat").get<std::string>();
  args.at("communicator").get<std::string>();
  args.at("rank").get<int>();
  args.at("sequence").get<int64_t>();
  args.at("bytes").get<uint64_t>();
  args.value("root", -1);
}

Record readRecord(const RecordFile& file) {
  try {
    json whole = json::parse(file.text);
    const json& other = whole.at("otherData");
    Record out;
    out.name = file.name;
    out.host = other.at("host");
    out.clock = other.at("clock");
    out.why = other.at("why");
    out.origin = other.at("origin_monotonic_ns");
    out.realtime = other.at("origin_realtime_ns");
    out.written = other.at("written_monotonic_ns");
    out.events = std::move(whole.at("traceEvents"));
    for (const json& event : out.events) {
      event.at("pid").get<int64_t>();
      event.at("args").at(event.at("ph") == "X" ? "call" : "name").get<std::string>();
      if (event.at("ph") == "X") checkCall(out, event);
    }
    return out;
  } catch (const json::exception& error) {
    throw Error(rondoInvalidArgument,
                format("\"%s\" is no record of Rondo (%s); allowed: files of RONDO_RECORD or of "
                       "rondo-status --record, of this version",
                       file.name.c_str(), error.what()));
  }
}

/// What one rank did of one collective.
struct Part {
  size_t clock;
  int rank, root;
  int64_t begun, ended;  ///< -1: it has not.
};
struct Collective {
  std::string name;
  std::vector<Part> parts;
};

/// Whether `late` cannot end before `early` has begun.
bool needs(const Collective& collective, const Part& late, const Part& early) {
  const std::string& name = collective.name;
  for (const char* const all : {"allreduce", "barrier", "allgather", "alltoall", "reducescatter"}) {
    if (name == all) return true;
  }
  if (name == "broadcast" || name == "scatter") return early.rank == early.root;
  if (name == "reduce" || name == "gather") return late.rank == late.root;
  return (name == "scan" || name == "exscan") && early.rank < late.rank;
}

/// The files on one time line.
class Merger {
 public:
  explicit Merger(std::vector<Record> records) : records_(std::move(records)) {
    for (const Record& record : records_) {
      const auto known = std::find(clocks_.begin(), clocks_.end(), record.clock);
      clockOf_.push_back(static_cast<size_t>(known - clocks_.begin()));
      if (known != clocks_.end()) continue;
      clocks_.push_back(record.clock);
      firsts_.push_back(&record);
    }
    pickProcesses();
    collectEvidence();
    offsets_ = offsetsOf(clocks_.size(), evidence_);
    byWall_.resize(clocks_.size());
    for (size_t c = 1; c < clocks_.size(); ++c) {
      if (!offsets_[c].known) setByWall(c);
    }
  }

  Merged merged() const {
    Merged out;
    const int64_t origin = firstStart();
    std::string events;
    for (size_t r = 0; r < records_.size(); ++r) {
      for (const json& event : records_[r].events) {
        if (newest(r, event)) events += (events.empty() ? "" : ",\n") + moved(r, event, origin);
      }
    }
    json other{{"why", json::array()}, {"origin_monotonic_ns", origin}, {"clocks", json::array()}};
    for (const Record& record : records_) other["why"].push_back(record.why);
    for (size_t c = 0; c < clocks_.size(); ++c) {
      const ClockOffset& offset = offsets_[c];
      other["clocks"].push_back({{"host", firsts_[c]->host},
                                 {"ahead_ns", offset.ahead},
                                 {"uncertainty_ns", offset.uncertainty},
                                 {"by", byWall_[c] ? "wall clock" : "collectives"}});
      out.summary += clockText(c) + "\n";
    }
    out.trace = "{\"displayTimeUnit\":\"ns\",\"otherData\":" + other.dump() +
                ",\n\"traceEvents\":[\n" + events + "\n]}\n";
    return out;
  }

 private:
  /// Of a process that several files of a host have, the newest counts.
  void pickProcesses() {
    for (size_t r = 0; r < records_.size(); ++r) {
      for (const json& event : records_[r].events) {
        const auto key = std::pair(clockOf_[r], event.at("pid").get<int64_t>());
        const auto [known, added] = newest_.emplace(key, r);
        if (!added && records_[r].written > records_[known->second].written) known->second = r;
      }
    }
  }
  bool newest(size_t r, const json& event) const {
    return newest_.at({clockOf_[r], event.at("pid").get<int64_t>()}) == r;
  }

  void collectEvidence() {
    std::map<std::pair<std::string, int64_t>, Collective> collectives;
    for (size_t r = 0; r < records_.size(); ++r) {
      for (const json& event : records_[r].events) {
        if (event.at("ph") == "X" && newest(r, event)) addPart(r, event, collectives);
      }
    }
    for (const auto& each : collectives) compare(each.second);
  }

  void addPart(size_t r, const json& event,
               std::map<std::pair<std::string, int64_t>, Collective>& collectives) const {
    const json& args = event.at("args");
    const std::string name = event.at("name");
    // Of calls on devices only the launch is known; an empty call waits for nobody.
    const bool tells =
        event.at("cat") != "device" && (name == "barrier" || args.at("bytes").get<uint64_t>() != 0);
    if (!tells) return;
    Collective& to = collectives[{args.at("communicator"), args.at("sequence")}];
    to.name = name;
    const int64_t begun = records_[r].ns(event.at("ts"));
    const bool running = args.contains("state");
    const int64_t ended =
        running ? -1 : records_[r].ns(event.at("ts").get<double>() + event.at("dur").get<double>());
    to.parts.push_back({clockOf_[r], args.at("rank"), args.value("root", -1), begun, ended});
  }

  void compare(const Collective& collective) {
    for (const Part& early : collective.parts) {
      for (const Part& late : collective.parts) {
        if (early.clock == late.clock || late.ended < 0) continue;
        if (needs(collective, late, early)) {
          evidence_.push_back({early.clock, late.clock, early.begun, late.ended});
        }
      }
    }
  }

  void setByWall(size_t clock) {
    const Record &own = *firsts_[clock], &first = *firsts_[0];
    // When both wall clocks show the same.
    offsets_[clock].ahead = own.origin - first.origin - (own.realtime - first.realtime);
    byWall_[clock] = true;
  }

  int64_t firstStart() const {
    int64_t first = INT64_MAX;
    for (size_t r = 0; r < records_.size(); ++r) {
      first = std::min(first, records_[r].origin - offsets_[clockOf_[r]].ahead);
    }
    return first;
  }

  /// Process ids of different hosts may be the same ones.
  std::string moved(size_t r, json event, int64_t origin) const {
    constexpr int64_t kApart = 10'000'000;
    const size_t clock = clockOf_[r];
    const int64_t pid = event.at("pid");
    event["pid"] = pid + kApart * static_cast<int64_t>(clock);
    if (event.at("ph") == "X") {
      const int64_t ns = records_[r].ns(event.at("ts")) - offsets_[clock].ahead - origin;
      event["ts"] = static_cast<double>(ns) / 1000;
    } else if (event.at("name") == "process_name") {
      std::string& name = event["args"]["name"].get_ref<std::string&>();
      name += " (pid " + std::to_string(pid) + ")";
    }
    return event.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  std::string clockText(size_t c) const {
    const ClockOffset& offset = offsets_[c];
    const std::string& host = firsts_[c]->host;
    if (c == 0) return format("host \"%s\": its clock counts", host.c_str());
    const std::string ahead =
        format("host \"%s\": its clock is %.6f s %s that of \"%s\", ", host.c_str(),
               static_cast<double>(std::llabs(offset.ahead)) * 1e-9,
               offset.ahead < 0 ? "behind" : "ahead of", firsts_[0]->host.c_str());
    if (byWall_[c]) return ahead + "by their wall clocks: no collective is in both records";
    return ahead + format("give or take %.1f us", static_cast<double>(offset.uncertainty) * 1e-3);
  }

  std::vector<Record> records_;
  std::vector<std::string> clocks_;
  std::vector<const Record*> firsts_;  // of each clock
  std::vector<size_t> clockOf_;        // of each record
  std::map<std::pair<size_t, int64_t>, size_t> newest_;
  std::vector<Evidence> evidence_;
  std::vector<ClockOffset> offsets_;
  std::vector<bool> byWall_;
};

}  // namespace

Merged mergeRecords(const std::vector<RecordFile>& files) {
  if (files.empty()) throw Error(rondoInvalidArgument, "no files to merge; allowed: one or more");
  std::vector<Record> records;
  for (const RecordFile& file : files) records.push_back(readRecord(file));
  return Merger(std::move(records)).merged();
}

}  // namespace rondo::status
