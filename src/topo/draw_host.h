#pragma once
// One host of a picture, or a part of it: boxes, links and rings.

#include <set>
#include <string>

#include "topo/host_layout.h"

namespace rondo::topo {

/// That are drawn: more are a ball of wool, and have colours that cannot be told apart.
constexpr size_t kMostRings = 8;

std::string ringColour(size_t index);
const char* fillOf(NodeKind kind);

class HostDrawing {
 public:
  /// `channels` may be nullptr.
  HostDrawing(const Graph& graph, const Channels* channels, SvgCanvas* canvas)
      : graph_(graph), channels_(channels), canvas_(*canvas) {}

  /// All but what is between hosts. Links between two parts are not drawn.
  void draw(const HostPart& part, const HostLayout& layout, Point corner);
  /// What of the host's links none of its parts had, "" if there is nothing.
  std::string missing(int host) const;
  size_t rings() const;
  std::string nameOf(const HostPart& part) const;

 private:
  struct Ends {
    Point a, b;
  };
  void boxes();
  void links();
  void straight(const Link& link, const Ends& ends, const char* colour);
  void arch(const Link& link, const Ends& ends, const char* colour, double height, bool labelled);
  void toSwitch(const Link& link, Point device, Point bar, double shift);
  void cable(int nic, Point place);
  void label(const std::vector<Point>& places, const Link& link);
  bool labelled(LinkKind kind, bool neighbours) const;
  void sumUp();
  size_t cpusApart(int a, int b) const;
  void drawRings();
  void ringHop(Point a, Point b, double shift, size_t ring);
  void ringDoor(const Path& hop, bool out, size_t ring);
  void ringStub(Point at, bool out, size_t ring);
  void arrow(Point tip, bool down, size_t ring);

  const Graph& graph_;
  const Channels* channels_;
  SvgCanvas& canvas_;
  std::set<const Link*> drawn_;
  // Of the part that is drawn.
  std::map<int, Point> places_;
  HostPart part_;
  Area frame_{};
  double cpuWidth_ = 0, deviceY_ = 0;
  /// Links that are arches, by kind: how many, and from what to what they carry.
  struct Arches {
    size_t count = 0;
    uint64_t least = ~uint64_t{0}, most = 0;
  };
  std::map<LinkKind, Arches> arches_;
};

}  // namespace rondo::topo
