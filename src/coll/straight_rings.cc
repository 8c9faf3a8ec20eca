#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <algorithm>

#include "coll/straight_rings.h"

namespace rondo {
namespace {

/// Of one hop of a lane: all of 1 GiB between four ranks. (Each hop costs about a microsecond.)
constexpr uint64_t kMostOfHop = 3u << 20;
/// Announced together, in bytes of a lane: each announcement costs 0.8 us, 0.4 % of what
/// these take (all-reduces of 1 GiB in 4.40 ms, with 256 KiB in 4.47 and with 64 in
/// 4.62; 4 x H200, 2026-11).
constexpr uint64_t kMostTogether = 700u << 10;
/// In place of an address.
constexpr uint64_t kNobodyWrites = 1;

}  // namespace

StraightRings::StraightRings(const UserMemory& memory, int rank, int size)
    : memory_(memory), prev_((rank + size - 1) % size), next_((rank + 1) % size) {}

/// Where the previous rank has this one's dst; 0: nowhere, or it may not write there. Whom nobody
/// writes to is in nobody's way.
uint64_t StraightRings::placeOf(const DeviceCall& call, const CallArgs& args,
                                uint64_t bytes) const {
  const auto src = reinterpret_cast<uint64_t>(args.src), dst = reinterpret_cast<uint64_t>(args.dst);
  if ((src | dst | args.srcSlot | args.dstSlot) % 16 != 0) return 0;
  if (call.collective == Collective::Broadcast && args.rank == args.root) return kNobodyWrites;
  // Partial results would overwrite what is yet to be reduced.
  if (isReduction(call.collective) && src < dst + bytes && dst < src + bytes) return 0;
  const auto use = streamCaptures(call.stream) ? UserMemory::Use::kGraph : UserMemory::Use::kLaunch;
  return memory_.placeFor(prev_, args.dst, bytes, use);
}

StraightRing StraightRings::about(const DeviceCall& call, const CallArgs& args,
                                  const DeviceChoice& choice) {
  StraightRing ring{};
  const algo::Geometry& g = choice.geometry;
  const uint64_t bytes = g.count * args.elementBytes;
  const bool asked = from_ != 0 ? bytes / static_cast<uint64_t>(g.blocks) >= from_ &&
                                      args.size <= kMaxWindowRanks && memory_.asks(prev_)
                                : choice.straightRing;
  if (!asked || !choice.kernel->straight) return ring;
  const uint64_t full = args.cut.fullPeriods;
  const uint64_t block = blockBytes(args);
  const uint64_t most = std::max<uint64_t>(1, kMostOfHop / block);
  const uint64_t periods = std::clamp<uint64_t>(full, 1, most);
  // Half of a hop at most, so that the next rank begins meanwhile; the last period, a shorter one,
  // goes with the others. Single blocks where ranks wait in a row: of three and four a broadcast of
  // 1 GiB took 3.00 and 3.03 ms so, 3.02 and 3.06 by two blocks (4 x H200, 2026-11).
  const bool waitsInRow = call.collective == Collective::Broadcast && args.size > 2;
  const uint64_t parts =
      std::max<uint64_t>(2, (periods * block + kMostTogether - 1) / kMostTogether);
  ring.periods = static_cast<uint32_t>(periods);
  ring.announced = waitsInRow ? 1 : static_cast<uint32_t>((periods + parts) / parts);
  ring.places = memory_.graphPlaces();
  // The one's thread maps, the other's offers.
  for (const int neighbour : {prev_, next_}) memory_.prepare(neighbour);
  const auto slots = static_cast<uint64_t>(args.dstSlot != 0 ? args.size : 1);
  ring.there = placeOf(call, args, slots * bytes);
  calls_ += ring.there > kNobodyWrites && (ring.there & kGraphPlace) == 0 ? 1 : 0;
  return ring;
}

}  // namespace rondo

#endif  // HAVE_CUDA
