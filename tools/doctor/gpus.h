#pragma once
// Copies between this process's GPUs, held against what was sent.

#include <vector>

#include "doctor/facts.h"

namespace rondo::doctor {

/// Every ordered pair of visible devices; empty without a driver or with fewer than two devices.
std::vector<PeerPair> tryPeerCopies();

}  // namespace rondo::doctor
