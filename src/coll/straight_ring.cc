#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/straight_ring.h"
#include "kernels/scale.h"

namespace rondo {

StraightRing StraightRings::about(const CallArgs& args, uint64_t count, CUstream_st* stream) {
  const auto size = static_cast<uint64_t>(args.size);
  const uint64_t bytes = args.dstSlot != 0 ? args.dstSlot * size : count * args.elementBytes;
  StraightRing ring{};
  if (bytes < from_) return ring;
  ring.asksPrev = memory_.asks(prev_) ? 1 : 0;
  ring.asksNext = memory_.asks(next_) ? 1 : 0;
  if (ring.asksNext != 0) memory_.prepare(next_);
  if (ring.asksPrev == 0) return ring;
  memory_.prepare(prev_);
  // Vectors that the writer stores would not be whole.
  if (reinterpret_cast<uint64_t>(args.dst) % 16 != 0 || args.dstSlot % 16 != 0) return ring;
  ring.there = memory_.placeFor(prev_, args.dst, bytes, streamCaptures(stream));
  calls_ += ring.there != 0 ? 1 : 0;
  return ring;
}

}  // namespace rondo

#endif  // HAVE_CUDA
