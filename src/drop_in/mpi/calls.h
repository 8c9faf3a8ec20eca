#pragma once
// The names of things that the layer counts: MPI's calls, and why one was passed on.

#include <cstddef>
#include <cstdint>

namespace rondo::drop_in {

enum class Call : uint8_t {
  Allgather,
  Allgatherv,
  Allreduce,
  Alltoall,
  Alltoallv,
  Alltoallw,
  Barrier,
  Bcast,
  Exscan,
  Gather,
  Gatherv,
  Iallgather,
  Iallgatherv,
  Iallreduce,
  Ialltoall,
  Ialltoallv,
  Ialltoallw,
  Ibarrier,
  Ibcast,
  Iexscan,
  Igather,
  Igatherv,
  Ireduce,
  IreduceScatter,
  IreduceScatterBlock,
  Iscan,
  Iscatter,
  Iscatterv,
  Reduce,
  ReduceScatter,
  ReduceScatterBlock,
  Scan,
  Scatter,
  Scatterv,
  Test,
  Testall,
  Testany,
  Testsome,
  Wait,
  Waitall,
  Waitany,
  Waitsome,
};
constexpr size_t kCalls = static_cast<size_t>(Call::Waitsome) + 1;

/// A collective at which MPI lets a rank wait for the others.
constexpr bool isBlocking(Call call) {
  return call < Call::Iallgather || (call >= Call::Reduce && call <= Call::Scatterv);
}

/// Ranks know only their own part of its size.
constexpr bool isUneven(Call call) {
  return call == Call::Alltoallv || call == Call::Gatherv || call == Call::Scatterv ||
         call == Call::Ialltoallv || call == Call::Igatherv || call == Call::Iscatterv;
}

/// Why a call went to MPI, or which way it was taken. All but Arguments and ByHost follow from what
/// MPI makes equal on all ranks.
enum class Why : uint8_t {
  Taken,         ///< It did not.
  Off,           ///< RONDO_MPI says so.
  ThreadLevel,   ///< MPI_THREAD_SERIALIZED on some rank.
  OneRank,       ///< A communicator of one rank.
  NotConverted,  ///< Inter-communicator, or made by a call at which the layer does not convert.
  NoRondo,       ///< Rondo could not make its communicator; the sentence is kept.
  Many,          ///< One of many communicators of one parent, and hardly used.
  Type,          ///< Rondo has no such element type.
  Operator,      ///< Rondo has no such operator, or MPI does not define it on the type.
  BlockTypes,    ///< Every block has a type of its own.
  Large,         ///< A block beyond what MPI_Pack can address.
  Small,         ///< A call of small blocks, which MPI does in less time.
  Quicker,       ///< MPI was quicker at it when the ranks tried both.
  Arguments,     ///< Wrong, and MPI is to say so.
  HostMemory,    ///< RONDO_MPI=device, and no rank's buffers are on a device.
  OnDevice,      ///< It did not: it ran between the devices.
  ByHost,        ///< It did not, and this rank's device memory went by way of the host.
  Inside,        ///< A call of Rondo's own, while it makes a communicator. Not counted.
};
constexpr size_t kWhys = static_cast<size_t>(Why::Inside);

constexpr bool isTaken(Why why) {
  return why == Why::Taken || why == Why::OnDevice || why == Why::ByHost;
}

const char* name(Call call);
const char* text(Why why);

}  // namespace rondo::drop_in
