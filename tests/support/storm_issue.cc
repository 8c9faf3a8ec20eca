// How a rank of a storm issues its calls.

#include "api/device_uneven.h"
#include "support/storm_rank.h"

namespace rondo::testing {
namespace {

Collective collectiveOf(Call call) {
  constexpr Collective kOf[kCalls] = {
      Collective::AllReduce,     Collective::Broadcast, Collective::Reduce,
      Collective::AllGather,     Collective::AllGather, Collective::ReduceScatter,
      Collective::ReduceScatter, Collective::AllToAll,  Collective::AllToAll,
      Collective::Gather,        Collective::Gather,    Collective::Scatter,
      Collective::Scatter,       Collective::Scan,      Collective::Exscan};
  return kOf[static_cast<int>(call)];
}

bool isUneven(Call call) {
  return call == Call::AllGatherV || call == Call::ReduceScatterV || call == Call::AllToAllV ||
         call == Call::GatherV || call == Call::ScatterV;
}

UnevenBlocks blocksOf(const Counts& counts, const Counts& displs, size_t extent) {
  UnevenBlocks blocks;
  blocks.counts.assign(counts.begin(), counts.end());
  blocks.displs.assign(displs.begin(), displs.end());
  blocks.extent = extent;
  for (const size_t count : counts) blocks.total += count;
  return blocks;
}
/// One slot only: at the buffer's begin.
UnevenBlocks ownBlock(size_t slot, size_t ranks, size_t count) {
  UnevenBlocks blocks;
  blocks.counts.assign(ranks, 0);
  blocks.displs.assign(ranks, 0);
  blocks.counts[slot] = blocks.total = blocks.extent = count;
  return blocks;
}

}  // namespace

rondoResult_t StormRank::issue(StormHeld& held, StormStep::How how) {
  const StormCall& call = held.call;
  const Comm& comm = commOf(call);
  const bool grouped = how == StormStep::kGroup || how == StormStep::kGroupInGraph;
  if (call.barrier) return rondoBarrier(comm.comm, nullptr);
  if (call.transfers) {
    if (call.onHost) return issueMessagesOnHost(held);
    return issueMessages(held, grouped, how == StormStep::kGroup);
  }
  if (call.scaled) held.args.op = comm.scaled;
  if (call.onHost) {
    return invoke(held.args, held.side, held.from, held.to, comm.rank, comm.comm);
  }
  const rondoStream_t on = stream(call.stream).handle();
  return isUneven(call.call) ? issueUneven(held, on) : issueCollective(held, on);
}

/// One by one, which may be on several streams in a group; alone also as one call.
rondoResult_t StormRank::issueMessages(StormHeld& held, bool grouped, bool severalStreams) {
  const Comm& comm = commOf(held.call);
  std::vector<Transfer> now;
  const bool together = !grouped && held.call.draw % 3 != 0;
  for (const StormMessage& each : held.messages) {
    if (each.from == comm.rank) now.push_back({each.to, true, held.from + each.out, each.bytes});
    if (each.to == comm.rank) now.push_back({each.from, false, held.to + each.in, each.bytes});
    if (together || now.empty()) continue;
    const bool chosen = severalStreams && plan_.streams == StormStreams::kBoth;
    const rondoStream_t on = stream(chosen ? each.stream : held.call.stream).handle();
    const rondoResult_t result = runOnDevice(comm.comm, TransferCall{"rondoStorm", now, on});
    if (result != rondoSuccess) return result;
    now.clear();
  }
  if (now.empty()) return rondoSuccess;
  return runOnDevice(comm.comm, TransferCall{"rondoStorm", now, stream(held.call.stream).handle()});
}

rondoResult_t StormRank::issueMessagesOnHost(StormHeld& held) {
  const Comm& comm = commOf(held.call);
  rondoResult_t result = rondoGroupStart();
  for (const StormMessage& each : held.messages) {
    if (each.from == comm.rank && result == rondoSuccess) {
      result = rondoSend(held.from + each.out, each.bytes, rondoInt8, each.to, comm.comm, nullptr);
    }
    if (each.to == comm.rank && result == rondoSuccess) {
      result = rondoRecv(held.to + each.in, each.bytes, rondoInt8, each.from, comm.comm, nullptr);
    }
  }
  const rondoResult_t end = rondoGroupEnd();
  return result != rondoSuccess ? result : end;
}

rondoResult_t StormRank::issueCollective(StormHeld& held, rondoStream_t on) {
  const Comm& comm = commOf(held.call);
  const Case& args = held.args;
  const ScaledOp* const scaled =
      held.call.scaled ? comm.comm->impl->scaledOps().find(comm.scaled) : nullptr;
  const bool reduced = reduces(args.call);
  // Of no meaning where the rank does not use them.
  const bool named = own_() % 2 == 0;
  return runOnDevice(
      comm.comm, DeviceCall{"rondoStorm", collectiveOf(args.call),
                            held.side.usesSend || named ? held.from : nullptr,
                            held.side.usesRecv || named ? held.to : nullptr, args.count, args.type,
                            reduced ? args.op : static_cast<rondoRedOp_t>(rondoSum), args.root, on,
                            reduced ? scaled : nullptr});
}

/// Blocks as the C API hands them on (api/collectives_v.cc).
rondoResult_t StormRank::issueUneven(StormHeld& held, rondoStream_t on) {
  const Comm& comm = commOf(held.call);
  const Case& args = held.args;
  const Side& side = held.side;
  const auto me = static_cast<size_t>(comm.rank), n = static_cast<size_t>(comm.size);
  UnevenBlocks src, dst;
  const auto likeAtBegin = [&](const UnevenBlocks& blocks, size_t extent) {
    UnevenBlocks like = blocks;
    like.displs.assign(n, 0);
    like.extent = extent;
    return like;
  };
  const bool root = comm.rank == args.root;
  const UnevenBlocks gives = blocksOf(side.sendCounts, side.sendDispls, side.sendCount);
  const UnevenBlocks takes = blocksOf(side.recvCounts, side.recvDispls, side.recvCount);
  switch (args.call) {
    case Call::AllGatherV:
      dst = takes;
      src = likeAtBegin(dst, side.sendCount);
      break;
    case Call::ReduceScatterV:
      src = gives;
      dst = likeAtBegin(src, side.recvCount);
      break;
    case Call::AllToAllV:
      src = gives;
      dst = takes;
      break;
    case Call::GatherV:
      src = ownBlock(me, n, side.sendCount);
      dst = root ? takes : ownBlock(me, n, 0);
      break;
    default:
      src = root ? gives : ownBlock(me, n, 0);
      dst = ownBlock(me, n, side.recvCount);
  }
  return runOnDevice(
      comm.comm,
      UnevenDeviceCall{"rondoStorm", collectiveOf(args.call), held.from, held.to, args.type,
                       reduces(args.call) ? args.op : static_cast<rondoRedOp_t>(rondoSum),
                       args.root, on, src, dst});
}

}  // namespace rondo::testing
