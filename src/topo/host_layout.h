#pragma once
// Where in a picture the nodes of a host stand.

#include <map>
#include <vector>

#include "topo/search.h"
#include "topo/svg_canvas.h"

namespace rondo::topo {

/// A host whose GPUs and cards, or CPUs, stand side by side, or so many of them as do.
struct HostPart {
  int host = 0;
  size_t number = 0, parts = 1;
  std::vector<int> devices;  ///< GPUs and NICs from left to right, as they hang below others.
  std::vector<int> idle;     ///< CPUs that have none of these, in any part.
};

/// Those of one switch or CPU stay together where they have room.
std::vector<HostPart> partsOf(const Graph& graph, int host);

/// Places from the part's own corner on.
struct HostLayout {
  std::map<int, Point> places;  ///< Middles of boxes.
  double cpuWidth = 0;
  double cpuY = 0, deviceY = 0;
  double width = 0, height = 0;
};

/// `rings`: how many are drawn below the devices.
HostLayout layoutOf(const Graph& graph, const HostPart& part, size_t rings);

/// "32 cores, memory 200", with a star where that was measured.
std::string cpuText(const Graph& graph, int cpu);
std::string gigabytes(uint64_t bytes);

constexpr double kDeviceCell = 78, kDeviceBox = 62, kBoxHeight = 30, kInset = 12;
/// How far an arch between two boxes of a row goes, by how far these are apart.
double nvArch(double apart);
double socketArch(size_t apart);
/// How far below a box the curve of the ring of that number goes.
double ringDepth(double apart, size_t ring);

}  // namespace rondo::topo
