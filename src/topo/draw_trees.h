#pragma once
// Who hangs below whom in the first two trees of a machine, as pictures.

#include "topo/search.h"
#include "topo/svg_canvas.h"

namespace rondo::topo {

/// By hosts, or by places where there is one host, from `y` on and `width` wide; returns where they
/// end. Nothing where there is no room, or no tree.
double drawTrees(const Graph& graph, const Channels& channels, double y, double width,
                 SvgCanvas* canvas);

}  // namespace rondo::topo
