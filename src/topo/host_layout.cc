#include "topo/host_layout.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text_width.h"

namespace rondo::topo {
namespace {

constexpr size_t kWidestPart = 20;  // GPUs and cards side by side: 1584 units
constexpr size_t kMostCpus = 10;    // that stand side by side
constexpr double kLevel = 68;       // from a row of switches to the next one
constexpr double kDoors = 50;       // below devices, where rings leave a host
constexpr double kBar = 48;         // from an NVSwitch to the next one, with numbers between

bool isDevice(NodeKind kind) { return kind == NodeKind::Gpu || kind == NodeKind::Nic; }

/// Devices of a host in their order, in groups that hang below one switch of a CPU.
std::vector<std::vector<int>> groupsOf(const Graph& graph, int host) {
  std::vector<std::vector<int>> out;
  std::set<int> seen;
  std::vector<int>* group = nullptr;
  const auto visit = [&](auto&& self, int node, bool top) -> void {
    if (graph.node(node).host != host || !seen.insert(node).second) return;
    const NodeKind kind = graph.node(node).kind;
    if (top) {
      out.emplace_back();
      group = &out.back();
    }
    if (isDevice(kind)) group->push_back(node);
    for (const Arc arc : graph.from(node)) {
      const int other = graph.target(arc);
      if (graph.link(arc / 2).kind != LinkKind::Pci) continue;
      self(self, other, kind == NodeKind::Cpu);
    }
  };
  for (const NodeKind kind : {NodeKind::Cpu, NodeKind::Pci, NodeKind::Gpu, NodeKind::Nic}) {
    for (const int node : graph.all(kind, host)) visit(visit, node, true);
  }
  std::erase_if(out, [](const std::vector<int>& g) { return g.empty(); });
  return out;
}

/// Of the devices below a node the middle; -1 if there are none.
double above(const Graph& graph, int node, const std::map<int, double>& x) {
  double sum = 0;
  int count = 0;
  std::set<int> seen{node};
  const auto visit = [&](auto&& self, int at) -> void {
    for (const Arc arc : graph.from(at)) {
      const Link& link = graph.link(arc / 2);
      const int other = graph.target(arc);
      // Trees are added from above: the first end of a link is the upper one.
      if (link.kind != LinkKind::Pci || link.a != at || !seen.insert(other).second) continue;
      if (const auto found = x.find(other); found != x.end()) {
        sum += found->second;
        ++count;
      }
      self(self, other);
    }
  };
  visit(visit, node);
  return count > 0 ? sum / count : -1;
}

/// PCIe switches between a switch and its CPU.
int depthOf(const Graph& graph, int node) {
  int steps = 0;
  for (bool up = true; up && steps < 8;) {
    up = false;
    for (const Arc arc : graph.from(node)) {
      const Link& link = graph.link(arc / 2);
      if (link.kind != LinkKind::Pci || link.b != node) continue;
      if (graph.node(link.a).kind != NodeKind::Pci) return steps;
      node = link.a;
      ++steps;
      up = true;
      break;
    }
  }
  return steps;
}

/// Groups in their order, even over so many parts; 0: each part has as many as there is room for.
std::vector<HostPart> packed(const std::vector<std::vector<int>>& groups, size_t parts) {
  size_t left = 0;  // devices without a part
  for (const std::vector<int>& group : groups) left += group.size();
  std::vector<HostPart> out(1);
  for (const std::vector<int>& group : groups) {
    const size_t now = out.back().devices.size();
    const bool full = now + group.size() > kWidestPart;
    const size_t toFill = parts > out.size() ? parts - out.size() + 1 : 1;
    const bool enough = parts > out.size() && (2 * now + group.size()) * toFill > 2 * (left + now);
    if (now > 0 && (full || enough)) out.emplace_back();
    for (const int device : group) {
      if (out.back().devices.size() == kWidestPart) out.emplace_back();
      out.back().devices.push_back(device);
    }
    left -= group.size();
  }
  return out;
}

/// CPUs without devices stand beside the others where these are few, else in parts of their own.
void addIdle(const Graph& graph, int host, const std::vector<std::vector<int>>& groups,
             std::vector<HostPart>* parts) {
  std::map<int, double> all;
  for (const std::vector<int>& group : groups) {
    for (const int device : group) all[device] = 0;
  }
  size_t beside = 0;  // with devices; all of them count for the first part
  std::vector<int> idle;
  for (const int cpu : graph.all(NodeKind::Cpu, host)) {
    if (above(graph, cpu, all) < 0)
      idle.push_back(cpu);
    else
      ++beside;
  }
  size_t part = 0;
  for (const int cpu : idle) {
    while ((part == 0 ? beside : 0) + (*parts)[part].idle.size() >= kMostCpus) {
      if (++part == 1 && parts->size() > 1) part = parts->size();
      if (part == parts->size()) parts->emplace_back();
    }
    (*parts)[part].idle.push_back(cpu);
  }
}

class Layout {
 public:
  Layout(const Graph& graph, const HostPart& part, size_t rings)
      : graph_(graph), part_(part), rings_(rings) {
    for (const int device : part.devices) {
      x_[device] = kInset + kDeviceCell * (static_cast<double>(x_.size()) + 0.5);
    }
    out_.width = 2 * kInset + kDeviceCell * static_cast<double>(x_.size());
  }

  HostLayout run() {
    placeCpus();
    const double lowest = placeSwitches();
    if (x_.empty()) {
      out_.height = lowest + kBoxHeight / 2 + (rings_ > 0 ? cpuRings() : 10) + kInset;
      return std::move(out_);
    }
    out_.deviceY = lowest + (lowest > out_.cpuY ? 84 : 120);
    for (const auto& [device, x] : x_) out_.places[device] = {x, out_.deviceY};
    placeBelow();
    return std::move(out_);
  }

 private:
  struct Wanted {
    double x;
    int node;
  };
  /// From left to right, each as near to where it should be as those before it leave room.
  void spread(std::vector<Wanted> row, double width, double between, double y) {
    std::stable_sort(row.begin(), row.end(),
                     [](const Wanted& a, const Wanted& b) { return a.x < b.x; });
    double least = kInset + width / 2;
    for (const Wanted& one : row) {
      const double x = std::max(one.x, least);
      out_.places[one.node] = {x, y};
      least = x + width + between;
      out_.width = std::max(out_.width, x + width / 2 + kInset);
    }
  }

  void placeCpus() {
    std::vector<Wanted> row;
    double last = 0;
    for (const int cpu : graph_.all(NodeKind::Cpu, part_.host)) {
      const double middle = above(graph_, cpu, x_);
      const bool idle = std::find(part_.idle.begin(), part_.idle.end(), cpu) != part_.idle.end();
      if (middle < 0 && !idle) continue;
      // One without devices stands behind the CPU of the number before its own.
      if (middle > 0) last = middle;
      row.push_back({last, cpu});
      const double text = textWidth(cpuText(graph_, cpu), SvgCanvas::kSecondSize);
      out_.cpuWidth = std::max({out_.cpuWidth, text + 10, 114.0});
    }
    out_.cpuY = 40;
    spread(row, out_.cpuWidth, 44, out_.cpuY);
    const double head = socketHead();
    out_.cpuY += head;
    for (const Wanted& one : row) out_.places[one.node].y = out_.cpuY;
  }
  /// Room for arches between CPUs that are no neighbours.
  double socketHead() const {
    std::vector<int> order;
    for (const auto& [cpu, place] : out_.places) order.push_back(cpu);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return out_.places.at(a).x < out_.places.at(b).x; });
    size_t most = 1;
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t k = i + 1; k < order.size(); ++k) {
        for (const Arc arc : graph_.from(order[i])) {
          if (graph_.target(arc) == order[k]) most = std::max(most, k - i);
        }
      }
    }
    return socketArch(most);
  }

  /// Returns where the lowest of them, or else the CPUs, are.
  double placeSwitches() {
    std::map<int, std::vector<Wanted>> rows;
    for (const int pci : graph_.all(NodeKind::Pci, part_.host)) {
      const double middle = above(graph_, pci, x_);
      if (middle > 0) rows[depthOf(graph_, pci)].push_back({middle, pci});
    }
    double y = out_.cpuY;
    for (const auto& [depth, row] : rows) {
      y = out_.cpuY + kLevel * (depth + 1);
      spread(row, kDeviceBox, 8, y);
    }
    return y;
  }

  double cpuRings() const {
    double left = HUGE_VAL, right = 0;
    for (const auto& [node, place] : out_.places) {
      left = std::min(left, place.x);
      right = std::max(right, place.x);
    }
    return right > left ? ringDepth(right - left, rings_ - 1) : 10;
  }

  /// Arches and rings, NVSwitches, cables.
  void placeBelow() {
    double band = rings_ > 0 ? kDoors : 10;
    bool cables = false;
    std::set<int> bars;
    const auto [first, last] = std::pair{part_.devices.front(), part_.devices.back()};
    if (rings_ > 0) band = std::max(band, ringDepth(x_.at(last) - x_.at(first), rings_ - 1));
    for (const auto& [device, x] : x_) {
      for (const Arc arc : graph_.from(device)) {
        const int other = graph_.target(arc);
        const LinkKind kind = graph_.link(arc / 2).kind;
        cables = cables || kind == LinkKind::Network;
        if (kind != LinkKind::NvLink) continue;
        if (graph_.node(other).kind == NodeKind::NvSwitch) bars.insert(other);
        const auto found = x_.find(other);
        if (found != x_.end()) band = std::max(band, nvArch(std::abs(found->second - x)));
      }
    }
    double y = out_.deviceY + kBoxHeight / 2 + band;
    if (part_.number == 0) {  // switches that nothing is seen to hang on
      for (const int bar : graph_.all(NodeKind::NvSwitch, part_.host)) {
        if (graph_.from(bar).empty()) bars.insert(bar);
      }
    }
    if (!bars.empty()) y += 24 + kBoxHeight / 2 - kBar;
    for (const int bar : bars) out_.places[bar] = {out_.width / 2, y += kBar};
    if (!bars.empty()) y += kBoxHeight / 2;
    out_.height = y + (cables ? 40 : 16);
  }

  const Graph& graph_;
  const HostPart& part_;
  const size_t rings_;
  std::map<int, double> x_;  // of devices
  HostLayout out_;
};

}  // namespace

double nvArch(double apart) { return 18 + 0.12 * apart; }
double socketArch(size_t apart) {
  return apart < 2 ? 0 : 18.0 * static_cast<double>(apart - 1) + 6;
}
double ringDepth(double apart, size_t ring) {
  return 0.75 * (39 + 4 * static_cast<double>(ring) + 0.03 * apart);
}

std::string gigabytes(uint64_t bytes) { return format("%.4g", static_cast<double>(bytes) * 1e-9); }

std::string cpuText(const Graph& graph, int cpu) {
  std::string out = format("%d cores", graph.node(cpu).cores);
  for (const Arc arc : graph.from(cpu)) {
    const Link& link = graph.link(arc / 2);
    if (link.kind != LinkKind::Memory) continue;
    return out + ", memory " + gigabytes(link.bytesPerSecond) + (link.claimedBytes ? "*" : "");
  }
  return out;
}

std::vector<HostPart> partsOf(const Graph& graph, int host) {
  const std::vector<std::vector<int>> groups = groupsOf(graph, host);
  // At first as many in each as there is room, to see how many parts there are; then about as many
  // in one as in another.
  std::vector<HostPart> out = packed(groups, 0);
  if (out.size() > 1) out = packed(groups, out.size());
  addIdle(graph, host, groups, &out);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].host = host;
    out[i].number = i;
    out[i].parts = out.size();
  }
  return out;
}

HostLayout layoutOf(const Graph& graph, const HostPart& part, size_t rings) {
  return Layout(graph, part, rings).run();
}

}  // namespace rondo::topo
