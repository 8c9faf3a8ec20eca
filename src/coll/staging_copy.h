#pragma once
// How a copy into a port's space is made.

#include "coll/reduce/reduce.h"
#include "p2p/transport.h"

namespace rondo {

inline CopyTo toStaging(const SendPort& port) {
  return port.past() ? CopyTo::kPast : CopyTo::kStaging;
}

}  // namespace rondo
