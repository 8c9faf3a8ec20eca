// The collective calls of the C API with a count of its own for every rank.

#include <algorithm>
#include <bit>
#include <memory>

#include "api/comm_create.h"
#include "api/device_uneven.h"
#include "api/group.h"
#include "api/quick_rooted.h"
#include "api/run_collective.h"
#include "api/types.h"
#include "api/uneven_checks.h"
#include "base/of_thread.h"

namespace rondo {
namespace {

size_t ranksOf(rondoComm_t comm) { return static_cast<size_t>(comm->impl->place().size); }
int rankOf(rondoComm_t comm) { return comm->impl->place().rank; }

/// A call's blocks and what becomes of them. Each thread has one, whose vectors keep their memory
/// from call to call, and one more for a call that begins while another waits (its hook runs what
/// MPI has to progress).
struct Workplace {
  UnevenBlocks src, dst;
  UnevenSlots slots;
  RootedSlots gathers, scatters;
  bool taken = false;  ///< A call runs with it.
  std::unique_ptr<Workplace> inner;
};
/// While a call runs with a workplace.
class Taken {
 public:
  explicit Taken(Workplace& at) : at_(at) { at_.taken = true; }
  ~Taken() { at_.taken = false; }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  Workplace& at_;
};
Workplace& workplace() {
  Workplace* at = &ofThread<Workplace, struct OfCalls>();
  while (at->taken) {
    if (!at->inner) at->inner = std::make_unique<Workplace>();
    at = at->inner.get();
  }
  return *at;
}

/// One slot only: this rank's `count` elements at the buffer's begin.
void own(rondoComm_t comm, size_t slot, size_t count, UnevenBlocks* blocks) {
  const size_t ranks = ranksOf(comm);
  blocks->counts.resize(ranks);
  blocks->displs.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) blocks->counts[r] = blocks->displs[r] = 0;
  blocks->counts[slot] = blocks->total = blocks->extent = count;
}

/// The same lengths, side by side at the buffer's begin for whoever has but one of them.
void likeAtBegin(const UnevenBlocks& blocks, size_t extent, UnevenBlocks* like) {
  like->counts = blocks.counts;
  like->displs.assign(blocks.displs.size(), 0);
  like->total = blocks.total;
  like->extent = extent;
}

/// `typical`: elements of a slot, for the choice of an algorithm; the same on all ranks.
struct UnevenCall {
  Collective collective;
  rondoRedOp_t op;
  int root;
  uint64_t typical;
};

/// Slots that nobody but the two ranks concerned knows the length of: a fixed guess, in bytes.
constexpr uint64_t kTypicalBytes = 16384;

/// From an agreed total; a power of two, so that few plans serve many calls.
uint64_t typicalOf(const UnevenBlocks& agreed) {
  return std::bit_ceil(agreed.total / agreed.counts.size() + 1);
}

/// Runs the call on the blocks in `at`. Not inlined: each use of a thread's variable would look for
/// it again.
[[gnu::noinline, gnu::noclone]] rondoResult_t run(const CollectiveArgs& args,
                                                  const UnevenCall& call, Workplace& at) {
  const Taken taken(at);
  const UnevenBlocks &src = at.src, &dst = at.dst;
  const size_t element = typeSize(args.type);
  const bool plain = plainlyPlaced(args, src.extent * element, dst.extent * element);
  if (!plain) {
    if (const rondoResult_t bad = checkSpans(args, src.extent, dst.extent)) return bad;
  }
  const bool idle = src.total == 0 && dst.total == 0;
  // Then all ranks are idle, or none.
  const bool agreed =
      call.collective == Collective::AllGather || call.collective == Collective::ReduceScatter;
  if (!plain) {
    CollectiveArgs used = args;
    used.usesSend = args.usesSend && src.extent > 0;
    used.usesRecv = args.usesRecv && dst.extent > 0;
    bool onDevice = false;
    if (used.usesSend || used.usesRecv) {
      if (const rondoResult_t bad = checkMemory(used, &onDevice)) return bad;
    } else if (!agreed && args.comm->impl->deviceRunner() != nullptr && namesDevice(args)) {
      return runOnDevice(args.comm, {args.call, {}, args.stream, true});
    }
    if (onDevice) {
      return runOnDevice(args.comm, {args.call, call.collective, args.send, args.recv, args.type,
                                     call.op, call.root, args.stream, src, dst});
    }
  }
  if (!idle) {
    if (const rondoResult_t bad = checkScalar(args, call.op)) return bad;
  }
  UnevenSlots& slots = at.slots;
  slots.srcCounts.swap(at.src.counts);
  slots.srcDispls.swap(at.src.displs);
  slots.dstCounts.swap(at.dst.counts);
  slots.dstDispls.swap(at.dst.displs);
  slots.most = 0;
  for (const auto* counts : {&slots.srcCounts, &slots.dstCounts}) {
    for (const uint64_t count : *counts) slots.most = std::max(slots.most, count);
  }
  PlanKey key{call.typical, args.type, call.op, call.root, call.collective};
  key.uneven = true;
  return runHost(args, {key, args.send, args.recv, &slots});
}

uint64_t guess(rondoDataType_t type) { return kTypicalBytes / typeSize(type); }

rondoResult_t runRooted(const CollectiveArgs& args, Collective collective, int root,
                        const UnevenSlots& slots, Workplace& at) {
  const Taken taken(at);
  PlanKey key{guess(args.type), args.type, rondoSum, root, collective};
  key.uneven = true;
  return runHost(args, {key, args.send, args.recv, &slots});
}

}  // namespace
}  // namespace rondo

using rondo::Collective;
using rondo::CollectiveArgs;
using rondo::publicCall;
using rondo::UnevenBlocks;

rondoResult_t rondoAllGatherV(const void* sendbuff, size_t sendcount, void* recvbuff,
                              const size_t* recvcounts, const size_t* displs,
                              rondoDataType_t datatype, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoAllGatherV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoAllGatherV", sendbuff, recvbuff, sendcount, datatype, comm, stream};
    args.countName = "sendcount";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    rondo::Workplace& at = rondo::workplace();
    UnevenBlocks &src = at.src, &dst = at.dst;
    if (const rondoResult_t bad =
            rondo::checkUneven(args, {"recvcounts", recvcounts, "displs", displs, true}, &dst)) {
      return bad;
    }
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    if (const rondoResult_t bad =
            rondo::checkMine(args, "sendcount", sendcount, "recvcounts", dst.counts[me])) {
      return bad;
    }
    args.alias = static_cast<ptrdiff_t>(dst.displs[me]);
    rondo::likeAtBegin(dst, sendcount, &src);  // what others publish has the same lengths
    const uint64_t typical = rondo::typicalOf(dst);
    return rondo::run(args, {Collective::AllGather, rondoSum, 0, typical}, at);
  });
}

rondoResult_t rondoReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                  rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                  rondoStream_t stream) {
  return publicCall(comm, "rondoReduceScatterV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoReduceScatterV", sendbuff, recvbuff, 0, datatype, comm, stream};
    args.countName = "recvcounts";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    if (const rondoResult_t bad = rondo::checkOp(args, op)) return bad;
    rondo::Workplace& at = rondo::workplace();
    UnevenBlocks &src = at.src, &dst = at.dst;
    if (const rondoResult_t bad =
            rondo::checkUneven(args, {"recvcounts", recvcounts, "displs", nullptr, false}, &src)) {
      return bad;
    }
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.count = src.counts[me];
    args.alias = -static_cast<ptrdiff_t>(src.displs[me]);
    rondo::likeAtBegin(src, src.counts[me], &dst);
    const uint64_t typical = rondo::typicalOf(src);
    return rondo::run(args, {Collective::ReduceScatter, op, 0, typical}, at);
  });
}

rondoResult_t rondoAllToAllV(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                             void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                             rondoDataType_t datatype, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoAllToAllV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoAllToAllV", sendbuff, recvbuff, 0, datatype, comm, stream};
    args.countName = "sendcounts";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    rondo::Workplace& at = rondo::workplace();
    UnevenBlocks &src = at.src, &dst = at.dst;
    if (const rondoResult_t bad =
            rondo::checkUneven(args, {"sendcounts", sendcounts, "sdispls", sdispls, false}, &src)) {
      return bad;
    }
    if (const rondoResult_t bad =
            rondo::checkUneven(args, {"recvcounts", recvcounts, "rdispls", rdispls, true}, &dst)) {
      return bad;
    }
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    if (const rondoResult_t bad = rondo::checkMine(args, "sendcounts[own rank]", src.counts[me],
                                                   "recvcounts", dst.counts[me])) {
      return bad;
    }
    args.mayAlias = src.counts == dst.counts && src.displs == dst.displs;
    return rondo::run(args, {Collective::AllToAll, rondoSum, 0, rondo::guess(datatype)}, at);
  });
}

rondoResult_t rondoGatherV(const void* sendbuff, size_t sendcount, void* recvbuff,
                           const size_t* recvcounts, const size_t* displs, rondoDataType_t datatype,
                           int root, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoGatherV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoGatherV", sendbuff, recvbuff, sendcount, datatype, comm, stream};
    args.countName = "sendcount";
    rondo::Workplace& at = rondo::workplace();
    if (plainlyGathers(args, root, {recvcounts, displs, sendcount}, &at.gathers)) [[likely]]
      return rondo::runRooted(args, Collective::Gather, root, at.gathers.slots, at);
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    if (const rondoResult_t bad = rondo::checkRank(args, "root", root)) return bad;
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.usesRecv = root == rondo::rankOf(comm);
    UnevenBlocks &src = at.src, &dst = at.dst;
    rondo::own(comm, me, sendcount, &src);
    if (sendcount > PTRDIFF_MAX / rondo::typeSize(datatype)) return rondo::checkBuffers(args);
    if (args.usesRecv) {
      if (const rondoResult_t bad =
              rondo::checkUneven(args, {"recvcounts", recvcounts, "displs", displs, true}, &dst)) {
        return bad;
      }
      if (const rondoResult_t bad =
              rondo::checkMine(args, "sendcount", sendcount, "recvcounts", dst.counts[me])) {
        return bad;
      }
      args.alias = static_cast<ptrdiff_t>(dst.displs[me]);
    } else {
      rondo::own(comm, me, 0, &dst);
    }
    return rondo::run(args, {Collective::Gather, rondoSum, root, rondo::guess(datatype)}, at);
  });
}

rondoResult_t rondoScatterV(const void* sendbuff, const size_t* sendcounts, const size_t* displs,
                            void* recvbuff, size_t recvcount, rondoDataType_t datatype, int root,
                            rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoScatterV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoScatterV", sendbuff, recvbuff, recvcount, datatype, comm, stream};
    args.countName = "recvcount";
    rondo::Workplace& at = rondo::workplace();
    if (plainlyScatters(args, root, {sendcounts, displs, recvcount}, &at.scatters)) [[likely]]
      return rondo::runRooted(args, Collective::Scatter, root, at.scatters.slots, at);
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    if (const rondoResult_t bad = rondo::checkRank(args, "root", root)) return bad;
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.usesSend = root == rondo::rankOf(comm);
    if (recvcount > PTRDIFF_MAX / rondo::typeSize(datatype)) return rondo::checkBuffers(args);
    UnevenBlocks &src = at.src, &dst = at.dst;
    rondo::own(comm, me, recvcount, &dst);
    if (args.usesSend) {
      if (const rondoResult_t bad =
              rondo::checkUneven(args, {"sendcounts", sendcounts, "displs", displs, false}, &src)) {
        return bad;
      }
      if (const rondoResult_t bad =
              rondo::checkMine(args, "recvcount", recvcount, "sendcounts", src.counts[me])) {
        return bad;
      }
      args.alias = -static_cast<ptrdiff_t>(src.displs[me]);
    } else {
      rondo::own(comm, me, 0, &src);
    }
    return rondo::run(args, {Collective::Scatter, rondoSum, root, rondo::guess(datatype)}, at);
  });
}
