#include "coll/sim/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "coll/step_text.h"
#include "topo/quantities.h"

namespace rondo::sim {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

const char* connection(const topo::Graph& graph, const std::vector<topo::Arc>& arcs) {
  using topo::LinkKind;
  const char* name = "shm";
  for (const topo::Arc arc : arcs) {
    switch (graph.link(arc / 2).kind) {
      case LinkKind::Network:
        return "net";
      case LinkKind::NvLink:
        name = "nvlink";
        break;
      case LinkKind::Pci:
        name = "pci";
        break;
      default:
        break;
    }
  }
  return name;
}

std::string routeText(const topo::Graph& graph, const std::vector<topo::Arc>& arcs) {
  std::string out;
  if (!arcs.empty()) out = graph.fullName(graph.source(arcs[0]));
  for (const topo::Arc arc : arcs) out += " " + graph.fullName(graph.target(arc));
  return out;
}

/// Looks up the route of a transfer by its ends' places.
class RouteTexts {
 public:
  RouteTexts(const Job& job, const Result& result) : job_(job) {
    const uint64_t n = job.places.size();
    for (const auto& [ends, arcs] : result.routes) {
      const auto from = at(static_cast<int64_t>(ends / n)), to = at(static_cast<int64_t>(ends % n));
      texts_[key(job.places[from], job.places[to])] = {routeText(*job.graph, arcs),
                                                       connection(*job.graph, arcs)};
    }
  }
  struct Texts {
    std::string route;
    const char* connection;
  };
  const Texts& of(const Transfer& t) const {
    return texts_.at(key(job_.places[at(t.from)], job_.places[at(t.to)]));
  }

 private:
  static uint64_t key(int a, int b) {
    return static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b);
  }
  const Job& job_;
  std::unordered_map<uint64_t, Texts> texts_;
};

double microseconds(Time time) { return static_cast<double>(time) * 1e-6; }

}  // namespace

std::string namePattern(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '*')
      out += '*';
  }
  return out;
}

double busBandwidth(Collective collective, int ranks, uint64_t bytes, Time time) {
  if (time == 0) return 0;
  const double n = ranks, others = (n - 1) / n;
  double factor = 1;
  if (collective == Collective::AllReduce) factor = 2 * others;
  if (hasSlots(collective)) factor = others;
  return static_cast<double>(bytes) * factor / (static_cast<double>(time) * 1e-12);
}

std::string busiestLinks(const topo::Graph& graph, const Result& result, size_t lines) {
  struct Group {
    double use;
    std::string first;
    uint64_t bytes, capacity;
    int count;
  };
  std::map<std::string, Group> groups;
  for (size_t arc = 0; arc < result.arcBytes.size(); ++arc) {
    const uint64_t bytes = result.arcBytes[arc];
    if (bytes == 0) continue;
    const topo::Link& link = graph.links()[arc / 2];
    const std::string name = graph.fullName(graph.source(static_cast<int>(arc))) + " to " +
                             graph.fullName(graph.target(static_cast<int>(arc)));
    const double use =
        static_cast<double>(bytes) / (static_cast<double>(link.bytesPerSecond) * 1e-12 *
                                      static_cast<double>(std::max<Time>(result.picoseconds, 1)));
    // Alike: the same kind of ends and the same bytes.
    const std::string key = namePattern(name) + " " + std::to_string(bytes);
    const auto [found, isNew] =
        groups.try_emplace(key, Group{use, name, bytes, link.bytesPerSecond, 0});
    ++found->second.count;
  }
  std::vector<Group> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group& a, const Group& b) { return a.use > b.use; });
  std::string out;
  for (size_t i = 0; i < std::min(lines, sorted.size()); ++i) {
    const Group& g = sorted[i];
    out +=
        format("  %5.1f %%  %-44s %14llu bytes of %s%s\n", 100 * g.use, g.first.c_str(),
               static_cast<unsigned long long>(g.bytes), topo::shortBandwidth(g.capacity).c_str(),
               g.count > 1 ? format(", and %d like it", g.count - 1).c_str() : "");
  }
  return out;
}

std::string flowsHead(const std::string& more) {
  return "flow_id,src,dest,flow_size,channel_id,chunk_id,conn_type,prev,start_ps,end_ps,route" +
         (more.empty() ? "" : "," + more) + "\n";
}

std::string flowsLines(const Job& job, const Result& result, uint64_t first, Time later,
                       const std::vector<int>& ranks, const std::string& more) {
  const std::string end = more.empty() ? "\n" : "," + more + "\n";
  const RouteTexts routes(job, result);
  const auto rank = [&ranks](int number) { return ranks.empty() ? number : ranks[at(number)]; };
  std::string out;
  for (size_t i = 0; i < result.transfers.size(); ++i) {
    const Transfer& t = result.transfers[i];
    const auto& texts = routes.of(t);
    const std::string previous =
        t.previous < 0 ? "" : std::to_string(first + static_cast<uint64_t>(t.previous));
    out += format("%llu,%d,%d,%llu,%d,%llu,%s,%s,%llu,%llu,%s%s",
                  static_cast<unsigned long long>(first + i), rank(t.from), rank(t.to),
                  static_cast<unsigned long long>(t.bytes), t.lane, t.period, texts.connection,
                  previous.c_str(), static_cast<unsigned long long>(later + t.start),
                  static_cast<unsigned long long>(later + t.end), texts.route.c_str(), end.c_str());
  }
  return out;
}

std::string flowsCsv(const Job& job, const Result& result) {
  return flowsHead() + flowsLines(job, result, 0, 0, {});
}

std::string flowsJson(const Job& job, const Result& result) {
  const RouteTexts routes(job, result);
  std::string out = "[";
  for (size_t i = 0; i < result.transfers.size(); ++i) {
    const Transfer& t = result.transfers[i];
    const auto& texts = routes.of(t);
    std::string nodes;  // names have neither blanks nor quotes
    for (const char c : texts.route) nodes += c == ' ' ? "\",\"" : std::string(1, c);
    out += format(
        "%s\n{\"flow_id\":%zu,\"src\":%d,\"dest\":%d,\"flow_size\":%llu,\"channel_id\":%d,"
        "\"chunk_id\":%llu,\"conn_type\":\"%s\",\"prev\":[%s],\"start_ps\":%llu,"
        "\"end_ps\":%llu,\"route\":[%s]}",
        i == 0 ? "" : ",", i, t.from, t.to, static_cast<unsigned long long>(t.bytes), t.lane,
        t.period, texts.connection, t.previous < 0 ? "" : std::to_string(t.previous).c_str(),
        static_cast<unsigned long long>(t.start), static_cast<unsigned long long>(t.end),
        nodes.empty() ? "" : ("\"" + nodes + "\"").c_str());
  }
  return out + "\n]\n";
}

std::string traceJson(const Result& result) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* comma = "";
  const auto slice = [&](const Span& s, const std::string& name, Time start, Time end) {
    out += format(
        "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.6f,\"dur\":%.6f,"
        "\"args\":{\"period\":%llu}}",
        comma, name.c_str(), s.rank, s.lane, microseconds(start), microseconds(end - start),
        s.period);
    comma = ",";
  };
  int ranks = 0;
  for (const Span& s : result.spans) {
    ranks = std::max(ranks, s.rank + 1);
    if (s.start > s.ready) slice(s, "waits", s.ready, s.start);
    const Step step{s.kind, s.bits, algo::Room::Pair, -1, -1, 0, 0};
    slice(s, verbName(step), s.start, s.end);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    out += format(
        "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}",
        comma, rank, rank);
  }
  return out + "\n]}\n";
}

void writeFile(const std::string& path, const std::string& text) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) throw systemError(path, errno);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw systemError(path, errno);
  }
}

}  // namespace rondo::sim
