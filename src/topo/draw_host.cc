#include "topo/draw_host.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text_width.h"

namespace rondo::topo {
namespace {

/// Beyond so many arches in a row their numbers are one sentence.
constexpr size_t kMostLabels = 8;
constexpr const char* kNvColour = "#76b900";

std::string numberOf(const Link& link) {
  const std::string count = link.count > 1 ? format(" (%d)", link.count) : "";
  return gigabytes(link.bytesPerSecond) + (link.claimedBytes ? "*" : "") + count;
}

std::string countText(LinkKind kind, size_t count) {
  const char* const many = count == 1 ? "" : "s";
  switch (kind) {
    case LinkKind::NvLink:
      return format("%zu NVLink%s", count, many);
    case LinkKind::Socket:
      return format("%zu link%s between CPUs", count, many);
    case LinkKind::C2c:
      return format("%zu link%s between CPU and GPU", count, many);
    default:
      return format("%zu PCIe link%s", count, many);
  }
}

std::string rangeText(uint64_t least, uint64_t most) {
  return (least == most ? "" : gigabytes(least) + " to ") + gigabytes(most) + " GB/s each";
}

double widthOf(const Link& link) {
  return std::clamp(std::log2(static_cast<double>(link.bytesPerSecond) * 1e-9 + 1) / 2, 1.0, 5.0);
}

/// Makers' names are longer than boxes.
std::string modelText(const std::string& model) {
  const std::string maker = "NVIDIA ";
  return model.starts_with(maker) ? model.substr(maker.size()) : model;
}

/// From `first` on both ways along a link, in steps that a label may be moved by.
std::vector<double> partsAround(double first) {
  std::vector<double> out{first};
  for (int i = 1; i <= 12; ++i) {
    for (const double part : {first - 0.04 * i, first + 0.04 * i}) {
      if (part > 0.05 && part < 0.95) out.push_back(part);
    }
  }
  return out;
}

}  // namespace

const char* fillOf(NodeKind kind) {
  static constexpr const char* kColours[kNodeKinds] = {"#cfe2f3", "#e8eef4", "#eeeeee", "#c9e7b5",
                                                       "#ffe3b3", "#9fd37d", "#f6cf92"};
  return kColours[static_cast<int>(kind)];
}

std::string ringColour(size_t index) {
  static const char* const all[kMostRings] = {"#d62728", "#1f77b4", "#9467bd", "#ff7f0e",
                                              "#17becf", "#8c564b", "#e377c2", "#2ca02c"};
  return all[index % kMostRings];
}

std::string HostDrawing::nameOf(const HostPart& part) const {
  const std::string& name = graph_.hosts()[static_cast<size_t>(part.host)];
  return part.parts < 2 ? name : name + format(", part %zu of %zu", part.number + 1, part.parts);
}

size_t HostDrawing::rings() const {
  if (channels_ == nullptr || channels_->places.size() < 2) return 0;
  return std::min(kMostRings, channels_->rings.size());
}

void HostDrawing::draw(const HostPart& part, const HostLayout& layout, Point corner) {
  places_.clear();
  arches_.clear();
  part_ = part;
  cpuWidth_ = layout.cpuWidth;
  deviceY_ = corner.y + layout.deviceY;
  for (const auto& [node, place] : layout.places) {
    places_[node] = {corner.x + place.x, corner.y + place.y};
  }
  frame_ = {corner.x, corner.y, corner.x + layout.width, corner.y + layout.height};
  canvas_.frame(frame_);
  canvas_.text({corner.x + 8, corner.y + 16}, nameOf(part), 13, "start", "#000");
  boxes();
  links();
  drawRings();
  if (const size_t left = canvas_.placeLabels(); left > 0) {
    canvas_.text({frame_.right - 8, frame_.top + 16},
                 format("%zu links have no room for their numbers", left), 10, "end", "#555");
  }
}

void HostDrawing::boxes() {
  for (const auto& [node, place] : places_) {
    const Node& n = graph_.node(node);
    std::string second = modelText(n.kind == NodeKind::Gpu ? n.model : "");
    double width = kDeviceBox;
    if (n.kind == NodeKind::NvSwitch) width = frame_.right - frame_.left - 2 * kInset;
    if (n.kind == NodeKind::Cpu) {
      second = cpuText(graph_, node);
      width = cpuWidth_;
    }
    if (n.kind == NodeKind::Nic && n.rate > 0) second = gigabytes(n.rate) + " GB/s";
    canvas_.box({place, width, kBoxHeight, fillOf(n.kind)}, n.name, second);
  }
}

size_t HostDrawing::cpusApart(int a, int b) const {
  const double from = std::min(places_.at(a).x, places_.at(b).x);
  const double to = std::max(places_.at(a).x, places_.at(b).x);
  size_t between = 0;
  for (const auto& [node, place] : places_) {
    between += graph_.node(node).kind == NodeKind::Cpu && place.x > from && place.x < to ? 1 : 0;
  }
  return between + 1;
}

/// Of many arches only those between neighbours have numbers, and only if they differ.
bool HostDrawing::labelled(LinkKind kind, bool neighbours) const {
  const Arches& all = arches_.at(kind);
  return all.count <= kMostLabels || (neighbours && all.least != all.most);
}

void HostDrawing::links() {
  std::vector<std::pair<const Link*, Ends>> inside;
  std::map<int, int> bars;  // NVSwitches, from above
  for (const auto& [node, place] : places_) {
    if (graph_.node(node).kind == NodeKind::NvSwitch)
      bars.emplace(node, static_cast<int>(bars.size()));
    if (graph_.node(node).kind == NodeKind::Nic) cable(node, place);
    for (const Arc arc : graph_.from(node)) {
      const auto other = places_.find(graph_.target(arc));
      if ((arc & 1) != 0 || other == places_.end()) continue;
      const Link& link = graph_.link(arc / 2);
      inside.emplace_back(&link, Ends{place, other->second});
      drawn_.insert(&link);
      const bool row = std::abs(place.y - other->second.y) < 1;
      const bool far = link.kind == LinkKind::Socket && cpusApart(node, other->first) > 1;
      if (!row || (link.kind != LinkKind::NvLink && !far)) continue;
      Arches& arches = arches_[link.kind];
      ++arches.count;
      arches.least = std::min(arches.least, link.bytesPerSecond);
      arches.most = std::max(arches.most, link.bytesPerSecond);
    }
  }
  for (const auto& [link, ends] : inside) {
    const double apart = std::abs(ends.a.x - ends.b.x);
    const bool row = std::abs(ends.a.y - ends.b.y) < 1;
    const bool sockets = link->kind == LinkKind::Socket;
    const int bar = graph_.node(link->b).kind == NodeKind::NvSwitch   ? link->b
                    : graph_.node(link->a).kind == NodeKind::NvSwitch ? link->a
                                                                      : -1;
    const char* const colour = link->kind == LinkKind::C2c                  ? "#a64ca6"
                               : sockets                                    ? "#3c78d8"
                               : bar >= 0 || link->kind == LinkKind::NvLink ? kNvColour
                                                                            : "#888";
    if (bar >= 0 && !row) {
      const double shift = (bars[bar] - (static_cast<double>(bars.size()) - 1) / 2) *
                           std::min(8.0, 48 / static_cast<double>(bars.size()));
      const bool first = bar == link->a;
      toSwitch(*link, first ? ends.b : ends.a, first ? ends.a : ends.b, shift);
    } else if (row && link->kind == LinkKind::NvLink) {
      arch(*link, ends, colour, nvArch(apart), labelled(link->kind, apart < 1.5 * kDeviceCell));
    } else if (const size_t steps = sockets && row ? cpusApart(link->a, link->b) : 1; steps > 1) {
      arch(*link, ends, colour, -socketArch(steps), labelled(link->kind, false));
    } else {
      straight(*link, ends, colour);
    }
  }
  sumUp();
}

/// In one sentence what many arches carry.
void HostDrawing::sumUp() {
  double x = frame_.left + 8 + textWidth(nameOf(part_), 13) + 16;
  for (const auto& [kind, all] : arches_) {
    if (all.count <= kMostLabels) continue;
    const std::string text =
        countText(kind, all.count) + " in arches, " + rangeText(all.least, all.most);
    canvas_.text({x, frame_.top + 16}, text, 11, "start", "#555");
    x += textWidth(text, 11) + 16;
  }
}

void HostDrawing::label(const std::vector<Point>& places, const Link& link) {
  canvas_.label(places, numberOf(link), link.claimedBytes.has_value());
}

void HostDrawing::straight(const Link& link, const Ends& ends, const char* colour) {
  canvas_.line(ends.a, ends.b, colour, widthOf(link));
  std::vector<Point> places;
  for (const double part : partsAround(0.5)) {
    places.push_back(
        {ends.a.x + (ends.b.x - ends.a.x) * part, ends.a.y + (ends.b.y - ends.a.y) * part});
  }
  label(places, link);
}

/// From one box of a row to another, below them or (a height below 0) above.
void HostDrawing::arch(const Link& link, const Ends& ends, const char* colour, double height,
                       bool labelled) {
  const double edge = height < 0 ? -kBoxHeight / 2 : kBoxHeight / 2;
  const double from = ends.a.y + edge, middle = (ends.a.x + ends.b.x) / 2;
  canvas_.curve(format("M %.1f %.1f Q %.1f %.1f %.1f %.1f", ends.a.x, from, middle,
                       from + 2 * height, ends.b.x, from),
                colour, widthOf(link));
  if (!labelled) return;
  std::vector<Point> places;
  for (const double t : partsAround(0.5)) {
    places.push_back({(1 - t) * (1 - t) * ends.a.x + 2 * t * (1 - t) * middle + t * t * ends.b.x,
                      from + 4 * t * (1 - t) * height});
  }
  label(places, link);
}

/// A switch is as wide as its host: straight down to it.
void HostDrawing::toSwitch(const Link& link, Point device, Point bar, double shift) {
  const Point from{device.x + shift, device.y}, to{device.x + shift, bar.y};
  canvas_.line(from, to, kNvColour, widthOf(link));
  std::vector<Point> places;
  for (int i = 0; i < 8; ++i) {
    places.push_back({to.x, bar.y - kBoxHeight / 2 - 9 - 8.0 * i});
  }
  label(places, link);
}

void HostDrawing::cable(int nic, Point place) {
  std::string names;
  for (const Arc arc : graph_.from(nic)) {
    if (graph_.link(arc / 2).kind != LinkKind::Network) continue;
    names += (names.empty() ? "" : ", ") + graph_.node(graph_.target(arc)).name;
  }
  if (names.empty()) return;
  const double end = frame_.bottom - 20;
  canvas_.line(place, {place.x, end}, "#d08a1d", 2);
  canvas_.text({place.x, end + 12}, shortText(names, SvgCanvas::kLabelSize, kDeviceCell - 4),
               SvgCanvas::kLabelSize, "middle", "#444");
}

std::string HostDrawing::missing(int host) const {
  std::map<LinkKind, Arches> left;
  for (const Link& link : graph_.links()) {
    const bool own = graph_.node(link.a).host == host && graph_.node(link.b).host == host;
    if (!own || link.kind == LinkKind::Memory || drawn_.count(&link) > 0) continue;
    Arches& all = left[link.kind];
    ++all.count;
    all.least = std::min(all.least, link.bytesPerSecond);
    all.most = std::max(all.most, link.bytesPerSecond);
  }
  std::string out;
  for (const auto& [kind, all] : left) {
    out += (out.empty() ? "Not drawn, between parts: " : "; ") + countText(kind, all.count) + ", " +
           rangeText(all.least, all.most);
  }
  return out;
}

void HostDrawing::drawRings() {
  const size_t count = rings();
  const double step = std::min(5.0, 50 / std::max(1.0, static_cast<double>(count) - 1));
  for (size_t r = 0; r < count; ++r) {
    const Ring& ring = channels_->rings[r];
    const double shift = (static_cast<double>(r) - static_cast<double>(count - 1) / 2) * step;
    for (size_t i = 0; i < ring.hops.size(); ++i) {
      const int from = ring.places[i], to = ring.places[(i + 1) % ring.places.size()];
      const auto a = places_.find(from), b = places_.find(to);
      const bool sameHost = graph_.node(from).host == graph_.node(to).host;
      if (a != places_.end() && b != places_.end()) {
        ringHop(a->second, b->second, shift, r);
      } else if (sameHost && a != places_.end()) {
        ringStub({a->second.x + shift, a->second.y}, true, r);
      } else if (sameHost && b != places_.end()) {
        ringStub({b->second.x + shift, b->second.y}, false, r);
      } else if (!sameHost && graph_.node(from).host == part_.host) {
        ringDoor(ring.hops[i], true, r);
      } else if (!sameHost && graph_.node(to).host == part_.host) {
        ringDoor(ring.hops[i], false, r);
      }
    }
  }
}

void HostDrawing::ringHop(Point a, Point b, double shift, size_t ring) {
  const double from = a.y + kBoxHeight / 2;
  const double low = from + ringDepth(std::abs(b.x - a.x), ring) / 0.75;
  canvas_.stroke(format("M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f", a.x + shift, from,
                        a.x + shift, low, b.x + shift, low, b.x + shift, b.y + kBoxHeight / 2),
                 ringColour(ring), 2);
  arrow({b.x + shift, b.y + kBoxHeight / 2}, false, ring);
}

/// Where a ring leaves its host, or comes in: at a card, which may be in another part than the GPU.
void HostDrawing::ringDoor(const Path& hop, bool out, size_t ring) {
  for (const Arc arc : hop.arcs) {
    for (const int node : {graph_.source(arc), graph_.target(arc)}) {
      const auto nic = places_.find(node);
      if (nic == places_.end() || graph_.node(node).kind != NodeKind::Nic) continue;
      return ringStub({nic->second.x + (out ? 12 : -12), nic->second.y}, out, ring);
    }
  }
}

void HostDrawing::ringStub(Point at, bool out, size_t ring) {
  const double from = at.y + kBoxHeight / 2;
  canvas_.stroke(format("M %.1f %.1f L %.1f %.1f", at.x, from, at.x, from + 26), ringColour(ring),
                 3);
  arrow(out ? Point{at.x, from + 30} : Point{at.x, from}, out, ring);
}

void HostDrawing::arrow(Point tip, bool down, size_t ring) {
  canvas_.filled(format("M %.1f %.1f l -4 %d l 8 0 z", tip.x, tip.y, down ? -8 : 8),
                 ringColour(ring));
}

}  // namespace rondo::topo
