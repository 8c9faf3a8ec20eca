// The collective calls of the C API with a count of its own for every rank.

#include <algorithm>
#include <bit>

#include "api/comm_create.h"
#include "api/group.h"
#include "api/run_collective.h"
#include "api/types.h"
#include "api/uneven_checks.h"

namespace rondo {
namespace {

size_t ranksOf(rondoComm_t comm) { return static_cast<size_t>(comm->impl->place().size); }
int rankOf(rondoComm_t comm) { return comm->impl->place().rank; }

/// One slot only: this rank's `count` elements at the buffer's begin.
UnevenBlocks own(rondoComm_t comm, size_t slot, size_t count) {
  UnevenBlocks blocks;
  blocks.counts.resize(ranksOf(comm));
  blocks.displs.resize(ranksOf(comm));
  blocks.counts[slot] = blocks.total = blocks.extent = count;
  return blocks;
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

rondoResult_t run(const CollectiveArgs& args, const UnevenCall& call, UnevenBlocks src,
                  UnevenBlocks dst) {
  if (const rondoResult_t bad = checkSpans(args, src.extent, dst.extent)) return bad;
  const bool idle = src.total == 0 && dst.total == 0;
  if (!idle) {
    CollectiveArgs used = args;
    used.usesSend = args.usesSend && src.total > 0;
    used.usesRecv = args.usesRecv && dst.total > 0;
    if (used.usesSend || used.usesRecv) {
      bool onDevice = false;
      if (const rondoResult_t bad = checkMemory(used, &onDevice)) return bad;
      if (onDevice) return refuseDevice(args);
    }
  }
  auto slots = std::make_shared<UnevenSlots>();
  *slots = {std::move(src.counts), std::move(src.displs), std::move(dst.counts),
            std::move(dst.displs), 0};
  for (const auto* counts : {&slots->srcCounts, &slots->dstCounts}) {
    for (const uint64_t count : *counts) slots->most = std::max(slots->most, count);
  }
  PlanKey key{call.typical, args.type, call.op, call.root, call.collective};
  key.uneven = true;
  const HostRequest request{key, args.send, args.recv, slots.get()};
  return runHost(args, request, slots);
}

uint64_t guess(rondoDataType_t type) { return kTypicalBytes / typeSize(type); }

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
    UnevenBlocks dst;
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
    UnevenBlocks src = dst;  // what others publish has the same lengths
    src.extent = sendcount;
    std::fill(src.displs.begin(), src.displs.end(), 0);
    const uint64_t typical = rondo::typicalOf(dst);
    return rondo::run(args, {Collective::AllGather, rondoSum, 0, typical}, std::move(src),
                      std::move(dst));
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
    UnevenBlocks src;
    if (const rondoResult_t bad =
            rondo::checkUneven(args, {"recvcounts", recvcounts, "displs", nullptr, false}, &src)) {
      return bad;
    }
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.count = src.counts[me];
    args.alias = -static_cast<ptrdiff_t>(src.displs[me]);
    UnevenBlocks dst = src;
    dst.extent = src.counts[me];
    std::fill(dst.displs.begin(), dst.displs.end(), 0);
    const uint64_t typical = rondo::typicalOf(src);
    return rondo::run(args, {Collective::ReduceScatter, op, 0, typical}, std::move(src),
                      std::move(dst));
  });
}

rondoResult_t rondoAllToAllV(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                             void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                             rondoDataType_t datatype, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoAllToAllV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoAllToAllV", sendbuff, recvbuff, 0, datatype, comm, stream};
    args.countName = "sendcounts";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    UnevenBlocks src, dst;
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
    return rondo::run(args, {Collective::AllToAll, rondoSum, 0, rondo::guess(datatype)},
                      std::move(src), std::move(dst));
  });
}

rondoResult_t rondoGatherV(const void* sendbuff, size_t sendcount, void* recvbuff,
                           const size_t* recvcounts, const size_t* displs, rondoDataType_t datatype,
                           int root, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoGatherV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoGatherV", sendbuff, recvbuff, sendcount, datatype, comm, stream};
    args.countName = "sendcount";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    if (const rondoResult_t bad = rondo::checkRank(args, "root", root)) return bad;
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.usesRecv = root == rondo::rankOf(comm);
    UnevenBlocks src = rondo::own(comm, me, sendcount), dst = rondo::own(comm, me, 0);
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
    }
    return rondo::run(args, {Collective::Gather, rondoSum, root, rondo::guess(datatype)},
                      std::move(src), std::move(dst));
  });
}

rondoResult_t rondoScatterV(const void* sendbuff, const size_t* sendcounts, const size_t* displs,
                            void* recvbuff, size_t recvcount, rondoDataType_t datatype, int root,
                            rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoScatterV", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoScatterV", sendbuff, recvbuff, recvcount, datatype, comm, stream};
    args.countName = "recvcount";
    if (const rondoResult_t bad = rondo::checkType(args)) return bad;
    if (const rondoResult_t bad = rondo::checkRank(args, "root", root)) return bad;
    const auto me = static_cast<size_t>(rondo::rankOf(comm));
    args.usesSend = root == rondo::rankOf(comm);
    if (recvcount > PTRDIFF_MAX / rondo::typeSize(datatype)) return rondo::checkBuffers(args);
    UnevenBlocks src = rondo::own(comm, me, 0), dst = rondo::own(comm, me, recvcount);
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
    }
    return rondo::run(args, {Collective::Scatter, rondoSum, root, rondo::guess(datatype)},
                      std::move(src), std::move(dst));
  });
}
