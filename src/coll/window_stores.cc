#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/window_stores.h"

#include <algorithm>

#include "api/types.h"
#include "coll/device_predict.h"
#include "coll/symmetric_call.h"

namespace rondo {
namespace {

/// In all, what a rank receives. Below, LL128 is quicker, whose ranks need not meet.
constexpr uint64_t kFrom = 512u << 10;
/// Stores over NVLink need about as many lanes to fill it.
constexpr int kMostLanes = 64;
/// What a lane stores for each rank, at least.
constexpr uint64_t kLeastOfLane = 8u << 10;
/// Of a block, whose length has 32 bits.
constexpr uint64_t kMostOfBlock = 1u << 30;

}  // namespace

WindowStores::WindowStores(const WindowView& window, const HelloView& hello, int lanes,
                           CloseLaunch* close)
    : window_(window),
      hello_(hello),
      lanes_(std::min(lanes, kMostLanes)),
      close_(*close),
      from_(kFrom) {}

int WindowStores::prepare(int ranks) {
  if (prepared_ || lanes_ == 0) return 0;
  const int error = loadStores(ranks);
  prepared_ = error == 0;
  return error;
}

const UserMemory::Entry* WindowStores::serve(const DeviceCall& call, const UserMemory& memory,
                                             int rank, int ranks) const {
  const bool exchanges = call.collective == Collective::AllToAll;
  if (!prepared_ || (!exchanges && call.collective != Collective::AllGather)) return nullptr;
  const uint64_t bytes = call.count * typeSize(call.type) * static_cast<uint64_t>(ranks);
  if (ranks < 2 || ranks > kMaxWindowRanks || bytes < from_) return nullptr;
  if (exchanges && call.send == call.recv) return nullptr;
  const UserMemory::Entry* const into = symmetricResult(call, bytes, memory, rank);
  return into != nullptr && into->use == MemoryUse::kWindow ? into : nullptr;
}

uint64_t WindowStores::time(const DeviceCall& call, int ranks, const DeviceCosts& costs) const {
  if (always_) return 0;
  const uint64_t slot = call.count * typeSize(call.type);
  return storesTime(lanesFor(slot), static_cast<uint64_t>(ranks - 1) * slot, costs);
}

int WindowStores::lanesFor(uint64_t bytes) const {
  return static_cast<int>(
      std::clamp<uint64_t>(bytes / kLeastOfLane, 1, static_cast<uint64_t>(lanes_)));
}

algo::Geometry WindowStores::geometry(const DeviceCall& call) const {
  constexpr uint64_t kLine = 128;
  const uint64_t element = typeSize(call.type), align = kLine / element;
  const auto lanes = static_cast<uint64_t>(lanesFor(call.count * element));
  const uint64_t even = (call.count + lanes * align - 1) / (lanes * align) * align;
  return {call.count, static_cast<int>(lanes), 1, std::min(even, kMostOfBlock / element), align};
}

int WindowStores::run(const DeviceCall& call, const CallArgs& args, const UserMemory::Entry& into) {
  ++calls_;
  const int lanes = lanesFor(call.count * typeSize(call.type));
  const CloseLaunch::Manner manner = close_.next(lanes, call.stream);
  StoresCall stores{{{window_, args}, hello_}, {}, symmetricTag(call, into)};
  stores.args.close = manner.ofCall();
  const auto offset = static_cast<uint64_t>(args.dst - into.memory);
  for (int r = 0; r < args.size; ++r) {
    const uint64_t base = r == args.rank ? reinterpret_cast<uint64_t>(into.memory)
                                         : into.here[static_cast<size_t>(r)];
    stores.to[r] = reinterpret_cast<unsigned char*>(base + offset);
  }
  const int error = launchStores(call.collective == Collective::AllToAll, stores, lanes,
                                 call.stream, close_.launching(manner));
  if (error == 0) close_.launched(manner, call.stream, stores, stores.args.close);
  return error;
}

}  // namespace rondo

#endif  // HAVE_CUDA
