#include "coll/sim/program.h"

#include <utility>

#include "base/error.h"
#include "coll/sim/output.h"

namespace rondo::sim {
namespace {

/// So that a program's first call of a kind takes a few seconds at most.
constexpr double kMostSteps = 2e6;
/// Transfers of one call that are kept, and lines of flows that are written.
constexpr double kMostKept = 1e6;
constexpr size_t kMostFlows = 4'000'000;

Settings settingsOf(bool keeps) {
  Settings out;
  out.mostSteps = kMostSteps;
  out.mostKept = kMostKept;
  out.record = keeps;
  return out;
}

double micro(Time time) { return static_cast<double>(time) * 1e-6; }

}  // namespace

Program::Program(topo::Graph graph, int ranks, int rank, bool keeps)
    : graph_(std::move(graph)), rank_(rank), on_(graph_, ranks, settingsOf(keeps)), keeps_(keeps) {
  if (rank < 0 || rank >= on_.ranks()) {
    throw Error(rondoInvalidArgument,
                format("argument rank is %d; allowed: 0 to %d", rank, on_.ranks() - 1));
  }
}

void Program::note(const std::string& name, uint64_t bytes, const char* algorithm, Time time,
                   const Source& source) {
  calls_.push_back({name, bytes, algorithm, now_, time});
  sources_.push_back(source);
  now_ += time;
}

Time Program::collective(const std::string& name, const CallShape& shape) {
  if (on_.ranks() == 1 || (shape.bytes == 0 && shape.collective != Collective::Barrier)) {
    note(name, shape.bytes, "none", 0, {nullptr, 0, nullptr});
    return 0;
  }
  const Outcome& best = on_.best(shape);
  note(name, shape.bytes, best.algorithm->name, best.result.picoseconds,
       {&best, shape.root, nullptr});
  return best.result.picoseconds;
}

Time Program::exchange(const std::string& name, const std::vector<PeerTransfer>& transfers) {
  auto found = exchanges_.find(transfers);
  if (found == exchanges_.end()) {
    const ExchangeJob exchange(on_, rank_, transfers);
    Exchanged made{exchange.ranks(), {}, exchange.job(keeps_)};
    if (made.ranks.size() > 1) made.result = simulate(made.job);
    made.job.plan = nullptr;  // it refers to `exchange`
    found = exchanges_.emplace(transfers, std::move(made)).first;
  }
  uint64_t bytes = 0;
  for (const PeerTransfer& t : transfers) bytes += t.bytes;
  const Time time = found->second.result.picoseconds;
  note(name, bytes, "p2p", time, {nullptr, 0, &found->second});
  return time;
}

std::string Program::callsCsv() const {
  std::string out = "call,name,bytes,algorithm,start_ps,time_ps\n";
  for (size_t i = 0; i < calls_.size(); ++i) {
    const ProgramCall& call = calls_[i];
    out += format("%zu,%s,%llu,%s,%llu,%llu\n", i, call.name.c_str(),
                  static_cast<unsigned long long>(call.bytes), call.algorithm,
                  static_cast<unsigned long long>(call.start),
                  static_cast<unsigned long long>(call.time));
  }
  return out;
}

std::string Program::traceJson() const {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (size_t i = 0; i < calls_.size(); ++i) {
    const ProgramCall& call = calls_[i];
    out += format(
        "\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":0,\"ts\":%.6f,\"dur\":%.6f,"
        "\"args\":{\"call\":%zu,\"bytes\":%llu,\"algorithm\":\"%s\"}},",
        call.name.c_str(), rank_, micro(call.start), micro(call.time), i,
        static_cast<unsigned long long>(call.bytes), call.algorithm);
  }
  return out + format(
                   "\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank "
                   "%d of %d\"}}\n]}\n",
                   rank_, rank_, on_.ranks());
}

std::string Program::flowsCsv(size_t* left) const {
  std::string out = flowsHead();
  uint64_t first = 0;
  *left = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.outcome == nullptr && source.exchanged == nullptr) continue;
    const bool collective = source.outcome != nullptr;
    const Result& result = collective ? source.outcome->result : source.exchanged->result;
    const bool kept = !result.transfers.empty() || result.messages == 0;
    if (!kept || first + result.transfers.size() > kMostFlows) {
      ++*left;
      continue;
    }
    if (collective) {
      const Outcome& o = *source.outcome;
      out += flowsLines(on_.jobOf(*o.algorithm, o.geometry, source.root), result, first,
                        calls_[i].start, {});
    } else {
      out += flowsLines(source.exchanged->job, result, first, calls_[i].start,
                        source.exchanged->ranks);
    }
    first += result.transfers.size();
  }
  return out;
}

}  // namespace rondo::sim
