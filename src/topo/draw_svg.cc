#include "topo/draw_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "topo/quantities.h"
#include "topo/xml.h"

namespace rondo::topo {
namespace {

constexpr size_t kMostHosts = 4, kMostRings = 16, kMostSwitches = 24;
constexpr double kTreeRadius = 9, kLeastTreeColumn = 13;
constexpr int kMostLabels = 8;
constexpr double kWidest = 1250;
constexpr double kCell = 78, kBoxWidth = 62, kBoxHeight = 30, kMargin = 24;
constexpr double kCpuY = 40, kPciY = 120, kDeviceY = 200, kNvY = 300, kRingY = 236;

struct Point {
  double x, y;
};

const char* fill(NodeKind kind) {
  static constexpr const char* kColours[kNodeKinds] = {"#cfe2f3", "#e8eef4", "#eeeeee", "#c9e7b5",
                                                       "#ffe3b3", "#9fd37d", "#f6cf92"};
  return kColours[static_cast<int>(kind)];
}

/// Colours that are told apart, however many there are.
std::string ringColour(size_t index) {
  static const char* const first[] = {"#d62728", "#1f77b4", "#9467bd", "#ff7f0e",
                                      "#17becf", "#8c564b", "#e377c2", "#2ca02c"};
  if (index < 8) return first[index];
  return format("hsl(%d,70%%,40%%)", static_cast<int>(index * 47 % 360));
}

std::string gigabytes(uint64_t bytes) { return format("%.4g", static_cast<double>(bytes) * 1e-9); }

class Drawing {
 public:
  Drawing(const Graph& graph, const Channels* channels) : graph_(graph), channels_(channels) {}

  std::string run(const std::string& title) {
    std::string hosts;
    double y = kMargin + 40;
    const size_t shown = std::min(kMostHosts, graph_.hosts().size());
    double right = 0, widest = 0;
    for (size_t h = 0; h < shown; ++h) widest = std::max(widest, innerOf(static_cast<int>(h)));
    for (size_t h = 0; h < shown; ++h) {
      const bool besides = h > 0 && right + 2 * widest < kWidest;  // small ones
      right = besides ? right + widest : 0;
      if (h > 0 && !besides) y += height_ + 16;
      top_ = y;
      shifted(right, [&] { drawHost(static_cast<int>(h)); });
      width_ = std::max(width_, right + widest + 12);
    }
    y += shown > 0 ? height_ + 16 : 0;
    if (shown < graph_.hosts().size()) {
      text({kMargin, y + 6}, format("... and %zu more hosts", graph_.hosts().size() - shown), 14,
           "start", "#333");
      y += 26;
    }
    y = drawSwitches(y);
    y = drawTrees(y);
    y = drawLegend(y);
    // A letter of the title takes some 11 of these; a file's name may be long.
    const double titled = 11.5 * static_cast<double>(title.size());
    const double width = std::max({width_, 560.0, titled}) + kMargin;
    const bool measured =
        std::any_of(graph_.links().begin(), graph_.links().end(),
                    [](const Link& link) { return link.claimedBytes.has_value(); });
    std::string out = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, sans-serif\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
        "<text x=\"%.0f\" y=\"%.0f\" font-size=\"18\" font-weight=\"bold\">%s</text>\n"
        "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\" fill=\"#555\">Numbers on links: GB/s in each "
        "direction%s.</text>\n",
        width, y, width, y, kMargin, kMargin + 6, xmlEscape(title).c_str(), kMargin, kMargin + 24,
        measured ? "; * and bold: measured" : "");
    return out + lines_ + boxes_ + rings_ + "</svg>\n";
  }

 private:
  void line(Point a, Point b, const std::string& colour, double width) {
    lines_ += format(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
        "stroke-width=\"%.1f\"/>\n",
        a.x, a.y, b.x, b.y, colour.c_str(), width);
  }
  void text(Point at, const std::string& what, int size, const char* anchor, const char* colour,
            const char* style = "") {
    boxes_ += format(
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" "
        "fill=\"%s\"%s>%s</text>\n",
        at.x, at.y, size, anchor, colour, style, xmlEscape(what).c_str());
  }
  /// Of a link: what it carries, bold and with a star where that was measured.
  void label(Point at, const Link& link) {
    const std::string count = link.count > 1 ? format(" (%d)", link.count) : "";
    if (!link.claimedBytes) return label(at, gigabytes(link.bytesPerSecond) + count);
    label(at, gigabytes(link.bytesPerSecond) + "*" + count, " font-weight=\"bold\"");
  }
  void label(Point at, const std::string& what, const char* style = "") {
    boxes_ += format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"white\" "
        "fill-opacity=\"0.85\"/>\n",
        at.x - 3.2 * static_cast<double>(what.size()) - 1, at.y - 9,
        6.4 * static_cast<double>(what.size()) + 2);
    text(at, what, 10, "middle", "#444", style);
  }
  void box(Point centre, double width, NodeKind kind, const std::string& name,
           const std::string& second) {
    boxes_ += format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
        "fill=\"%s\" stroke=\"#666\"/>\n",
        centre.x - width / 2, centre.y - kBoxHeight / 2, width, kBoxHeight, fill(kind));
    text({centre.x, centre.y + (second.empty() ? 4 : -1)}, name, 12, "middle", "#000");
    if (!second.empty())
      text({centre.x, centre.y + 11}, second.substr(0, static_cast<size_t>(width / 5)), 9, "middle",
           "#333");
  }

  /// GPUs and NICs from left to right, as they hang below CPUs and switches.
  std::vector<int> devicesInOrder(int host) const {
    std::vector<int> out;
    std::set<int> seen;
    const auto visit = [&](auto&& self, int node) -> void {
      if (!seen.insert(node).second || graph_.node(node).host != host) return;
      const NodeKind kind = graph_.node(node).kind;
      if (kind == NodeKind::Gpu || kind == NodeKind::Nic) out.push_back(node);
      for (const Arc arc : graph_.from(node)) {
        if (graph_.link(arc / 2).kind == LinkKind::Pci) self(self, graph_.target(arc));
      }
    };
    for (const NodeKind kind : {NodeKind::Cpu, NodeKind::Pci, NodeKind::Gpu, NodeKind::Nic}) {
      for (const int node : graph_.all(kind, host)) visit(visit, node);
    }
    return out;
  }

  /// Above the middle of what hangs below it.
  double above(int node, const std::map<int, double>& x) const {
    double sum = 0;
    int count = 0;
    std::set<int> seen{node};
    const auto visit = [&](auto&& self, int at) -> void {
      for (const Arc arc : graph_.from(at)) {
        const Link& link = graph_.link(arc / 2);
        const int other = graph_.target(arc);
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

  /// Draws what `draw` draws, further to the right.
  template <class Draw>
  void shifted(double right, const Draw& draw) {
    const std::string begin = format("<g transform=\"translate(%.1f,0)\">\n", right);
    for (std::string* layer : {&lines_, &boxes_, &rings_}) *layer += begin;
    draw();
    for (std::string* layer : {&lines_, &boxes_, &rings_}) *layer += "</g>\n";
  }

  /// The right end of what a host holds.
  double innerOf(int host) const {
    const double devices = kMargin + 12 + kCell * static_cast<double>(devicesInOrder(host).size());
    const size_t cpus = graph_.all(NodeKind::Cpu, host).size();
    return std::max(devices, kMargin + 24 + 150.0 * static_cast<double>(cpus));
  }

  void drawHost(int host) {
    places_.clear();
    arches_ = 0;
    for (const int gpu : graph_.all(NodeKind::Gpu, host)) {
      for (const Arc arc : graph_.from(gpu)) {
        arches_ += (arc & 1) == 0 && graph_.node(graph_.target(arc)).kind == NodeKind::Gpu ? 1 : 0;
      }
    }
    const std::vector<int> devices = devicesInOrder(host);
    std::map<int, double> x;
    for (const int device : devices)
      x[device] = kMargin + 12 + kCell * (static_cast<double>(x.size()) + 0.5);
    const std::vector<int> cpus = graph_.all(NodeKind::Cpu, host);
    const double inner = innerOf(host);
    const bool bare = devices.empty();
    // Below the devices there is room for the rings between GPUs, and for cables.
    const bool ends = graph_.all(NodeKind::Gpu, host).empty() && graph_.hosts().size() < 2;
    height_ = bare                                           ? 90
              : ends                                         ? kDeviceY + 40
              : graph_.all(NodeKind::NvSwitch, host).empty() ? 300
                                                             : 358;
    boxes_ += format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" "
        "fill=\"none\" stroke=\"#999\" stroke-dasharray=\"5 4\"/>\n",
        kMargin, top_, inner - kMargin + 12, height_);
    text({kMargin + 8, top_ + 16}, graph_.hosts()[static_cast<size_t>(host)], 13, "start", "#000");
    for (const int device : devices) places_[device] = {x[device], top_ + kDeviceY};
    double spare = kMargin + 90;
    for (const int cpu : cpus) {
      const double middle = above(cpu, x);
      places_[cpu] = {std::max(middle > 0 ? middle : spare, kMargin + 68), top_ + kCpuY};
      spare = places_[cpu].x + 150;
    }
    for (const int pci : graph_.all(NodeKind::Pci, host)) {
      const double middle = above(pci, x);
      if (middle > 0)
        places_[pci] = {middle, top_ + kPciY + 30 * (depth(pci) % 2 == 0 ? -0.6 : 0.3)};
    }
    for (const int nvs : graph_.all(NodeKind::NvSwitch, host)) {
      places_[nvs] = {(kMargin + inner) / 2, top_ + kNvY + 16};
    }
    drawLinks(host);
    for (const auto& [node, place] : places_) {
      const Node& n = graph_.node(node);
      const bool wide = n.kind == NodeKind::NvSwitch;
      std::string second = n.kind == NodeKind::Gpu ? n.model : "";
      if (n.kind == NodeKind::Cpu) second = format("%d cores", n.cores) + memory(node);
      if (n.kind == NodeKind::Nic && n.rate > 0) second = gigabytes(n.rate) + " GB/s";
      box(place, wide ? inner - kMargin - 60 : kBoxWidth + (n.kind == NodeKind::Cpu ? 52 : 0),
          n.kind, n.name, second);
    }
    drawRings();
  }

  /// PCIe switches between a switch and its CPU.
  int depth(int node) const {
    int steps = 0;
    for (bool up = true; up && steps < 8;) {
      up = false;
      for (const Arc arc : graph_.from(node)) {
        const Link& link = graph_.link(arc / 2);
        if (link.kind != LinkKind::Pci || link.b != node) continue;
        if (graph_.node(link.a).kind != NodeKind::Pci) return steps;
        node = link.a;
        ++steps;
        up = true;
        break;
      }
    }
    return steps;
  }

  void drawLinks(int host) {
    for (const auto& [node, place] : places_) {
      for (const Arc arc : graph_.from(node)) {
        const Link& link = graph_.link(arc / 2);
        const int other = graph_.target(arc);
        if (link.kind == LinkKind::Network && graph_.node(node).kind == NodeKind::Nic) {
          cable(place, graph_.node(other).name);
        }
        if ((arc & 1) != 0 || graph_.node(other).host != host || places_.count(other) == 0)
          continue;
        drawLink(link, place, places_[other]);
      }
    }
  }
  void cable(Point nic, const std::string& to) {
    const Point end{nic.x, top_ + height_ - 12};
    line({nic.x, nic.y}, end, "#d08a1d", 2);
    label({end.x, end.y + 6}, to);
  }
  std::string memory(int cpu) const {
    for (const Arc arc : graph_.from(cpu)) {
      const Link& link = graph_.link(arc / 2);
      if (link.kind == LinkKind::Memory) {
        return ", memory " + gigabytes(link.bytesPerSecond) + (link.claimedBytes ? "*" : "");
      }
    }
    return "";
  }
  void drawLink(const Link& link, Point a, Point b) {
    const bool nv = link.kind == LinkKind::NvLink;
    const double width =
        std::clamp(std::log2(static_cast<double>(link.bytesPerSecond) * 1e-9 + 1) / 2, 1.0, 5.0);
    if (nv && std::abs(a.y - b.y) < 1) {
      // Between GPUs that stand in one row: an arch above them.
      const double rise = 18 + std::abs(a.x - b.x) * 0.12;
      lines_ += format(
          "<path d=\"M %.1f %.1f Q %.1f %.1f %.1f %.1f\" fill=\"none\" "
          "stroke=\"#76b900\" stroke-width=\"%.1f\"/>\n",
          a.x, a.y + 10, (a.x + b.x) / 2, a.y + 2 * rise + 10, b.x, b.y + 10, width);
      // Of many only those between neighbours, which nothing hides.
      if (arches_ > kMostLabels && std::abs(a.x - b.x) > 1.5 * kCell) return;
      return label({(a.x + b.x) / 2, a.y + rise + 12}, link);
    }
    const char* const colour = nv                              ? "#76b900"
                               : link.kind == LinkKind::C2c    ? "#a64ca6"
                               : link.kind == LinkKind::Socket ? "#3c78d8"
                                                               : "#888";
    if (nv) b.x = a.x;  // a switch is as wide as its host
    line(a, b, colour, width);
    const double part = nv ? 0.72 : 0.5;
    label({a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part + 4}, link);
  }

  void drawRings() {
    if (channels_ == nullptr) return;
    const size_t count = std::min(kMostRings, channels_->rings.size());
    for (size_t r = 0; r < count; ++r) {
      const Ring& ring = channels_->rings[r];
      for (size_t i = 0; i < ring.hops.size(); ++i) {
        const auto a = places_.find(ring.places[i]);
        const auto b = places_.find(ring.places[(i + 1) % ring.places.size()]);
        const double shift = (static_cast<double>(r) - static_cast<double>(count - 1) / 2) * 5;
        if (a != places_.end() && b != places_.end())
          ringHop(a->second, b->second, shift, r);
        else if (a != places_.end())
          ringDoor(ring.hops[i], true, r);
        else if (b != places_.end())
          ringDoor(ring.hops[i], false, r);
      }
    }
  }
  void ringHop(Point a, Point b, double shift, size_t ring) {
    const double below = a.y - top_ < kDeviceY ? a.y + 24 : top_ + kRingY;  // of CPUs, or devices
    const double sag = below + 4 + static_cast<double>(ring) * 4 + std::abs(b.x - a.x) * 0.03;
    rings_ += format(
        "<path d=\"M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" "
        "stroke=\"%s\" stroke-width=\"2\"/>\n",
        a.x + shift, a.y + kBoxHeight / 2, a.x + shift, sag + 14, b.x + shift, sag + 14,
        b.x + shift, b.y + kBoxHeight / 2, ringColour(ring).c_str());
    arrow({b.x + shift, b.y + kBoxHeight / 2}, false, ring);
  }
  /// Where a ring leaves its host, or comes in.
  void ringDoor(const Path& hop, bool out, size_t ring) {
    for (const Arc arc : hop.arcs) {
      for (const int node : {graph_.source(arc), graph_.target(arc)}) {
        const auto nic = places_.find(node);
        if (nic == places_.end() || graph_.node(node).kind != NodeKind::Nic) continue;
        const Point at{nic->second.x + (out ? 12 : -12), nic->second.y + kBoxHeight / 2};
        rings_ += format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"3\"/>\n",
            at.x, at.y, at.x, at.y + 26, ringColour(ring).c_str());
        return arrow(out ? Point{at.x, at.y + 30} : at, out, ring);
      }
    }
  }
  void arrow(Point tip, bool down, size_t ring) {
    const double back = down ? -8 : 8;
    rings_ += format("<path d=\"M %.1f %.1f l -4 %.1f l 8 0 z\" fill=\"%s\"/>\n", tip.x, tip.y,
                     back, ringColour(ring).c_str());
  }

  double drawSwitches(double y) {
    const std::vector<int> switches = graph_.all(NodeKind::Switch);
    if (switches.empty()) return y;
    double x = kMargin + 45;
    y += 20;
    for (size_t i = 0; i < std::min(kMostSwitches, switches.size()); ++i) {
      if (x > std::max(width_, 560.0) - 30) {
        x = kMargin + 45;
        y += 40;
      }
      size_t nics = 0;
      for (const Arc arc : graph_.from(switches[i]))
        nics += graph_.node(graph_.target(arc)).host >= 0;
      const size_t up = graph_.from(switches[i]).size() - nics;
      box({x, y}, 84, NodeKind::Switch, graph_.node(switches[i]).name,
          nics == 0 ? format("%zu leaves", up)
          : up == 0 ? format("%zu NICs", nics)
                    : format("%zu NICs, %zu up", nics, up));
      x += 92;
    }
    if (switches.size() > kMostSwitches) {
      text({x - 40, y + 4}, format("... %zu more", switches.size() - kMostSwitches), 12, "start",
           "#333");
    }
    return y + 34;
  }

  /// The first two trees, by hosts, or by places where there is one host: who hangs below whom.
  double drawTrees(double y) {
    const bool one = graph_.hosts().size() < 2;
    if (channels_ == nullptr || channels_->places.size() < 2 || channels_->trees.size() < 2)
      return y;
    const size_t most = one ? channels_->places.size() : graph_.hosts().size();
    const double each = std::min(60.0, (std::max(width_, 560.0) - 40) / static_cast<double>(most));
    if (each < kLeastTreeColumn) return y;
    text({kMargin, y + 10},
         one ? "Trees (the first two)" : "Trees over the hosts (the first channel's two)", 13,
         "start", "#000");
    const double wide = each * static_cast<double>(most) + 30;
    if (2 * wide > std::max(width_, 560.0)) {
      for (size_t t = 0; t < 2; ++t) y = drawTree(t, {0, y + 34}, each);
      return y + 30;
    }
    const double first = drawTree(0, {0, y + 34}, each);
    return std::max(first, drawTree(1, {wide, y + 34}, each)) + 30;
  }
  /// Where the `place` stands in a picture of trees, from the left.
  int columnOf(int place) const {
    if (graph_.hosts().size() > 1) return graph_.node(place).host;
    const auto& all = channels_->places;
    return static_cast<int>(std::find(all.begin(), all.end(), place) - all.begin());
  }
  /// From `corner` on; returns where its lowest column is.
  double drawTree(size_t index, Point corner, double each) {
    const double radius = std::min(kTreeRadius, each / 2 - 1);
    const Tree& tree = channels_->trees[index];
    std::map<int, int> parents;  // of columns
    for (size_t i = 0; i < tree.places.size(); ++i) {
      const int column = columnOf(tree.places[i]);
      if (tree.parents[i] < 0)
        parents[column] = -1;
      else if (const int up = columnOf(tree.places[static_cast<size_t>(tree.parents[i])]);
               up != column)
        parents[column] = up;
    }
    const auto at = [&](int column) {
      int levels = 0;
      for (int c = column; parents[c] >= 0 && levels < 64; c = parents[c]) ++levels;
      return Point{corner.x + kMargin + 20 + each * static_cast<double>(column),
                   corner.y + 26.0 * levels};
    };
    double deepest = corner.y;
    for (const auto& [column, parent] : parents) {
      const Point here = at(column);
      deepest = std::max(deepest, here.y);
      if (parent >= 0) line(here, at(parent), ringColour(index), 2);
      boxes_ += format(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"white\" stroke=\"%s\" "
          "stroke-width=\"2\"/>\n",
          here.x, here.y, radius, ringColour(index).c_str());
      text({here.x, here.y + radius / 2 - 0.5}, std::to_string(column),
           radius < kTreeRadius ? 7 : 10, "middle", "#000");
    }
    return deepest;
  }

  double drawLegend(double y) {
    // A single place has a ring and a tree without links.
    if (channels_ == nullptr || channels_->places.size() < 2) return y + kMargin;
    y += 14;
    for (size_t r = 0; r < std::min(kMostRings, channels_->rings.size()); ++r, y += 17) {
      const Ring& ring = channels_->rings[r];
      rings_ += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"6\" fill=\"%s\"/>\n",
                       kMargin, y - 8, ringColour(r).c_str());
      std::string order;
      int host = -1;
      for (size_t i = 0; i < std::min<size_t>(10, ring.places.size()); ++i) {
        const Node& node = graph_.node(ring.places[i]);
        if (graph_.hosts().size() > 1 && node.host != host) {
          order += (i == 0 ? "" : ", ") + graph_.hosts()[static_cast<size_t>(node.host)] + ":";
        }
        host = node.host;
        order += (order.empty() ? "" : " ") + node.name;
      }
      if (ring.places.size() > 10) order += " ...";
      text({kMargin + 26, y},
           format("ring %zu, %s GB/s: ", r, gigabytes(ring.bytesPerSecond).c_str()) + order, 11,
           "start", "#000");
    }
    text({kMargin, y + 2},
         format("Rings: %zu, %s GB/s together. Trees: %zu, %s GB/s up and as much down.",
                channels_->rings.size(), gigabytes(channels_->ringBytes()).c_str(),
                channels_->trees.size(), gigabytes(channels_->treeBytes()).c_str()),
         12, "start", "#000");
    return y + kMargin;
  }

  const Graph& graph_;
  const Channels* channels_;
  std::string lines_, boxes_, rings_;
  std::map<int, Point> places_;
  int arches_ = 0;  // NVLinks between two GPUs of the host
  double top_ = 0, height_ = 0, width_ = 0;
};

}  // namespace

std::string drawSvg(const Graph& graph, const Channels* channels, const std::string& title) {
  return Drawing(graph, channels).run(title);
}

}  // namespace rondo::topo
