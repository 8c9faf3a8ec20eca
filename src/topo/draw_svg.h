#pragma once
// A machine as a picture.

#include <string>

#include "topo/search.h"

namespace rondo::topo {

/// GPUs, NICs, CPUs and switches of up to four hosts, large ones in parts, their links with
/// bandwidths, and up to eight of the found rings in colour; below it what each of them carries.
/// `channels` may be nullptr.
std::string drawSvg(const Graph& graph, const Channels* channels, const std::string& title);

}  // namespace rondo::topo
