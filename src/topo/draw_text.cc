#include "topo/draw_text.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "topo/paths.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

constexpr size_t kMostColumns = 24;

std::string describe(const Graph& graph, int index) {
  const Node& node = graph.node(index);
  std::string out = node.name;
  if (node.cores > 0) out += format(" (%d cores)", node.cores);
  if (!node.model.empty()) out += " " + node.model;
  if (!node.busId.empty()) out += " [" + node.busId + "]";
  if (node.rate > 0) out += " port " + shortBandwidth(node.rate);
  return out;
}

/// "25 GB/s", or "25 GB/s measured (0.25 GB/s claimed)".
std::string widthText(const Link& link) {
  std::string out = shortBandwidth(link.bytesPerSecond);
  if (link.claimedBytes) out += " measured (" + shortBandwidth(*link.claimedBytes) + " claimed)";
  return out;
}

class Tree {
 public:
  Tree(const Graph& graph, int host) : graph_(graph), host_(host) {}

  std::string text() {
    for (const int cpu : graph_.all(NodeKind::Cpu, host_)) done_.insert(cpu);
    for (const int cpu : graph_.all(NodeKind::Cpu, host_)) {
      out_ += "  " + describe(graph_, cpu) + beside(cpu, LinkKind::Socket) + "\n";
      below(cpu, 2);
    }
    for (const NodeKind kind : {NodeKind::Pci, NodeKind::Gpu, NodeKind::Nic}) {
      for (const int node : graph_.all(kind, host_)) {  // machines without CPUs
        if (!done_.insert(node).second) continue;
        out_ += "  " + describe(graph_, node) + beside(node, LinkKind::NvLink) + "\n";
        below(node, 2);
      }
    }
    for (const int node : graph_.all(NodeKind::NvSwitch, host_)) {
      const auto gpus = std::count_if(
          graph_.from(node).begin(), graph_.from(node).end(),
          [&](Arc arc) { return graph_.node(graph_.target(arc)).kind == NodeKind::Gpu; });
      out_ += format("  %s: %zu GPUs\n", graph_.node(node).name.c_str(), static_cast<size_t>(gpus));
    }
    return out_;
  }

 private:
  static bool downwards(LinkKind kind) { return kind == LinkKind::Pci || kind == LinkKind::Memory; }

  /// Links to its equals: ", nvlink 450GB/s x18 to nvs0".
  std::string beside(int node, LinkKind kind) const {
    std::string out;
    for (const Arc arc : graph_.from(node)) {
      const Link& link = graph_.link(arc / 2);
      const bool wanted = link.kind == kind || link.kind == LinkKind::C2c;
      if (!wanted || graph_.node(graph_.target(arc)).host != host_) continue;
      out += format(", %s %s%s to %s", linkKindName(link.kind), widthText(link).c_str(),
                    link.count > 1 ? format(" x%d", link.count).c_str() : "",
                    graph_.node(graph_.target(arc)).name.c_str());
    }
    return out;
  }

  void below(int node, size_t depth) {
    for (const Arc arc : graph_.from(node)) {
      const Link& link = graph_.link(arc / 2);
      const int other = graph_.target(arc);
      if (!downwards(link.kind) || graph_.node(other).host != host_ ||
          !done_.insert(other).second) {
        continue;
      }
      out_ += std::string(2 * depth, ' ') + describe(graph_, other) + "  " +
              linkKindName(link.kind) + " " + widthText(link) + beside(other, LinkKind::NvLink) +
              cables(other) + "\n";
      below(other, depth + 1);
    }
  }
  std::string cables(int node) const {
    std::string out;
    for (const Arc arc : graph_.from(node)) {
      const Link& link = graph_.link(arc / 2);
      if (link.kind != LinkKind::Network) continue;
      out += format(", %s to %s", shortBandwidth(link.bytesPerSecond).c_str(),
                    graph_.fullName(graph_.target(arc)).c_str());
    }
    return out;
  }

  const Graph& graph_;
  int host_;
  std::set<int> done_;
  std::string out_;
};

/// What a path between two places is called in nvidia-smi topo -m.
std::string wayName(const Graph& graph, const Path& path) {
  int switches = 0, nvLinks = 0;
  int cpus = graph.node(graph.source(path.arcs.front())).kind == NodeKind::Cpu ? 1 : 0;
  bool c2c = false;
  for (const Arc arc : path.arcs) {
    const Link& link = graph.link(arc / 2);
    const NodeKind kind = graph.node(graph.target(arc)).kind;
    cpus += kind == NodeKind::Cpu ? 1 : 0;
    switches += kind == NodeKind::Pci ? 1 : 0;
    c2c = c2c || link.kind == LinkKind::C2c;
    if (link.kind == LinkKind::NvLink)
      nvLinks = nvLinks == 0 ? link.count : std::min(nvLinks, link.count);
  }
  if (nvLinks > 0) return format("NV%d", nvLinks);
  if (c2c) return "C2C";
  if (cpus > 1) return "SYS";
  if (cpus == 1) return "PHB";
  return switches > 1 ? "PXB" : "PIX";
}

bool overMeasured(const Graph& graph, const Path& path) {
  return std::any_of(path.arcs.begin(), path.arcs.end(),
                     [&](Arc arc) { return graph.link(arc / 2).claimedBytes.has_value(); });
}

/// Hosts that look the same from outside.
std::string alikeKey(const Graph& graph, int host) {
  std::string tree = Tree(graph, host).text();
  // Which switch port each cable ends at may differ.
  std::string out;
  for (size_t i = 0; i < tree.size();) {
    const size_t line = std::min(tree.find('\n', i), tree.size());
    const std::string text = tree.substr(i, line - i);
    out += text.substr(0, text.find(", ")) + "\n";
    i = line + 1;
  }
  return out;
}

}  // namespace

std::string treeText(const Graph& graph) {
  std::string out;
  for (size_t h = 0; h < graph.hosts().size();) {
    const std::string key = alikeKey(graph, static_cast<int>(h));
    size_t end = h + 1;
    while (end < graph.hosts().size() && alikeKey(graph, static_cast<int>(end)) == key) ++end;
    out += graph.hosts()[h];
    if (end > h + 1) out += " .. " + graph.hosts()[end - 1] + format(", %zu hosts alike", end - h);
    out += "\n" + Tree(graph, static_cast<int>(h)).text();
    h = end;
  }
  constexpr size_t kShown = 16;
  const std::vector<int> switches = graph.all(NodeKind::Switch);
  for (size_t i = 0; i < std::min(kShown, switches.size()); ++i) {
    size_t cards = 0, nvSwitches = 0;
    for (const Arc arc : graph.from(switches[i])) {
      const Node& end = graph.node(graph.target(arc));
      if (end.kind == NodeKind::NvSwitch)
        ++nvSwitches;
      else if (end.host >= 0)
        ++cards;
    }
    out += graph.fullName(switches[i]);
    if (nvSwitches > 0) {
      out += format(": %zu hosts' NVSwitches\n", nvSwitches);
      continue;
    }
    out += format(": %zu NICs, %zu switches\n", cards, graph.from(switches[i]).size() - cards);
  }
  if (switches.size() > kShown)
    out += format("... and %zu more switches\n", switches.size() - kShown);
  return out;
}

std::string matrixText(const Graph& graph, int host) {
  std::vector<int> rows = graph.all(NodeKind::Gpu, host);
  if (rows.empty()) rows = graph.all(NodeKind::Cpu, host);
  for (const int nic : graph.all(NodeKind::Nic, host)) rows.push_back(nic);
  const size_t left = rows.size() > kMostColumns ? rows.size() - kMostColumns : 0;
  rows.resize(rows.size() - left);
  PathFinder finder(graph);
  const bool stars = std::any_of(graph.links().begin(), graph.links().end(),
                                 [](const Link& link) { return link.claimedBytes.has_value(); });
  const int width = stars ? 11 : 9;
  std::string out = format("%-8s", "");
  for (const int column : rows) {
    out += format(" %*s", width, graph.node(column).name.substr(0, 9).c_str());
  }
  out += "\n";
  for (const int row : rows) {
    out += format("%-8s", graph.node(row).name.substr(0, 8).c_str());
    for (const int column : rows) {
      Path path;
      const unsigned inside = kAllLinks & ~linkBit(LinkKind::Network);
      if (row == column) {
        out += format(" %*s", width, "X");
      } else if (!finder.find(row, column, &path, 0, inside)) {
        out += format(" %*s", width, "-");
      } else {
        std::string cell =
            wayName(graph, path) + format(" %.4g", static_cast<double>(path.bytesPerSecond) * 1e-9);
        if (overMeasured(graph, path)) cell += "*";
        out += format(" %*s", width, cell.c_str());
      }
    }
    out += "\n";
  }
  if (left > 0) out += format("... and %zu more\n", left);
  if (stars) out += "*: over links whose bandwidth was measured\n";
  return out;
}

}  // namespace rondo::topo
