#include "api/device_uneven.h"

#include <algorithm>
#include <vector>

#include "api/comm_create.h"
#include "api/device_group.h"
#include "api/types.h"
#include "base/error.h"
#include "base/of_thread.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace {

/// Collects the sends and receives of one call. Those of nothing are left out, on both sides.
class Pieces {
 public:
  Pieces(const UnevenDeviceCall& call, std::vector<Transfer>* out)
      : call_(call), element_(typeSize(call.type)), out_(out) {
    out_->clear();
  }
  void send(int to, uint64_t displacement, uint64_t count) {
    const char* const begin = static_cast<const char*>(call_.send) + displacement * element_;
    add({to, true, const_cast<char*>(begin), count * element_});
  }
  void receive(int from, uint64_t displacement, uint64_t count) {
    add({from, false, static_cast<char*>(call_.recv) + displacement * element_, count * element_});
  }

 private:
  void add(const Transfer& transfer) {
    if (transfer.bytes > 0) out_->push_back(transfer);
  }
  const UnevenDeviceCall& call_;
  const uint64_t element_;
  std::vector<Transfer>* out_;
};

const std::vector<Transfer>& transfersOf(const UnevenDeviceCall& call, const RankPlace& place) {
  auto& transfers = ofThread<std::vector<Transfer>, struct OfUneven>();
  Pieces pieces(call, &transfers);
  const UnevenBlocks &src = call.src, &dst = call.dst;
  const auto me = static_cast<size_t>(place.rank);
  const bool everyone =
      call.collective == Collective::AllToAll || call.collective == Collective::AllGather;
  const bool gives = call.collective == Collective::Scatter && place.rank == call.root;
  const bool takes = call.collective == Collective::Gather && place.rank == call.root;
  if (call.collective == Collective::Gather) pieces.send(call.root, 0, src.counts[me]);
  if (call.collective == Collective::Scatter) pieces.receive(call.root, 0, dst.counts[me]);
  for (int r = 0; r < place.size; ++r) {
    const auto at = static_cast<size_t>(r);
    if (call.collective == Collective::AllGather) {
      pieces.send(r, 0, dst.counts[me]);
    } else if (everyone || gives) {
      pieces.send(r, src.displs[at], src.counts[at]);
    }
    if (everyone || takes) pieces.receive(r, dst.displs[at], dst.counts[at]);
  }
  return transfers;
}

/// A reduction to the owner of each block; all ranks know all lengths.
rondoResult_t reduceBlocks(rondoComm* comm, const UnevenDeviceCall& call) {
  const RankPlace& place = comm->impl->place();
  const std::vector<uint64_t>& counts = call.src.counts;
  const ScaledOp* const scaled =
      call.op >= ScaledOps::kFirst ? comm->impl->scaledOps().find(call.op) : nullptr;
  const auto run = [&](Collective collective, uint64_t displacement, uint64_t count, int root) {
    const char* const from =
        static_cast<const char*>(call.send) + displacement * typeSize(call.type);
    return runOnDevice(comm, DeviceCall{call.name, collective, from, call.recv, count, call.type,
                                        call.op, root, call.stream, scaled});
  };
  const bool even = std::all_of(counts.begin(), counts.end(),
                                [&](uint64_t count) { return count == counts.front(); });
  if (even) return run(Collective::ReduceScatter, 0, counts.front(), 0);
  for (int r = 0; r < place.size; ++r) {
    const auto at = static_cast<size_t>(r);
    if (counts[at] == 0) continue;
    const rondoResult_t bad = run(Collective::Reduce, call.src.displs[at], counts[at], r);
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

}  // namespace

rondoResult_t runOnDevice(rondoComm* comm, const UnevenDeviceCall& call) {
  if (call.collective == Collective::ReduceScatter) return reduceBlocks(comm, call);
  const bool inPlace =
      call.collective == Collective::AllToAll && call.send == call.recv && call.src.total > 0;
  return runOnDevice(
      comm, {call.name, transfersOf(call, comm->impl->place()), call.stream, true, inPlace});
}

bool namesDevice(const CollectiveArgs& args) {
  if (args.comm->rehearsal != nullptr) return false;
  // What an empty block names may be the end of somebody else's memory.
  if (args.stream != nullptr) return true;
  const void* const named = args.usesRecv && args.recv != nullptr ? args.recv
                            : args.usesSend                       ? args.send
                                                                  : nullptr;
  return named != nullptr && pointerKind(named).onDevice();
}

}  // namespace rondo
