#include "library_mpi.h"

#include <climits>
#include <string>
#include <vector>

#include "errors.h"
#include "mpi_names.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

constexpr int kTag = 1;

/// How a collective is called: to its end, or started, where `request` is set.
struct Way {
  MPI_Comm comm;
  MPI_Request* request;
};

template <class Blocking, class Starting, class... Args>
int call(const Way& way, Blocking blocking, Starting starting, Args... args) {
  return way.request == nullptr ? blocking(args..., way.comm)
                                : starting(args..., way.comm, way.request);
}

int number(size_t value) { return static_cast<int>(value); }
const void* sendOrInPlace(const CallArgs& a) { return a.inPlace ? MPI_IN_PLACE : a.send; }

/// In place counts at the root only, the one rank that has both buffers.
const void* rootedSend(const CallArgs& a) {
  return a.inPlace && !a.layout->recv.empty() ? MPI_IN_PLACE : a.send;
}
void* rootedRecv(const CallArgs& a) {
  return a.inPlace && !a.layout->send.empty() ? MPI_IN_PLACE : a.recv;
}

int allReduce(const CallArgs& a, const Way& way) {
  return call(way, MPI_Allreduce, MPI_Iallreduce, sendOrInPlace(a), a.recv, number(a.count()),
              mpiType(a.type), mpiOperator(a.op));
}

int reduce(const CallArgs& a, const Way& way) {
  return call(way, MPI_Reduce, MPI_Ireduce, rootedSend(a), a.recv, number(a.count()),
              mpiType(a.type), mpiOperator(a.op), a.root);
}

int broadcast(const CallArgs& a, const Way& way) {
  return call(way, MPI_Bcast, MPI_Ibcast, a.recv, number(a.count()), mpiType(a.type), a.root);
}

int allGather(const CallArgs& a, const Way& way) {
  const int count = number(a.count());
  return call(way, MPI_Allgather, MPI_Iallgather, sendOrInPlace(a), count, mpiType(a.type), a.recv,
              count, mpiType(a.type));
}

int allGatherV(const CallArgs& a, const Way& way) {
  const Counts& from = a.layout->recvFrom;
  return call(way, MPI_Allgatherv, MPI_Iallgatherv, sendOrInPlace(a), number(a.count()),
              mpiType(a.type), a.recv, from.mpiCounts.data(), from.mpiDispls.data(),
              mpiType(a.type));
}

int reduceScatter(const CallArgs& a, const Way& way) {
  return call(way, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, a.send, a.recv,
              number(a.count()), mpiType(a.type), mpiOperator(a.op));
}

int reduceScatterV(const CallArgs& a, const Way& way) {
  return call(way, MPI_Reduce_scatter, MPI_Ireduce_scatter, a.send, a.recv,
              a.layout->recvFrom.mpiCounts.data(), mpiType(a.type), mpiOperator(a.op));
}

int allToAll(const CallArgs& a, const Way& way) {
  const int count = number(a.count());
  return call(way, MPI_Alltoall, MPI_Ialltoall, sendOrInPlace(a), count, mpiType(a.type), a.recv,
              count, mpiType(a.type));
}

int allToAllV(const CallArgs& a, const Way& way) {
  const Counts& to = a.layout->sendTo;
  const Counts& from = a.layout->recvFrom;
  return call(way, MPI_Alltoallv, MPI_Ialltoallv, sendOrInPlace(a), to.mpiCounts.data(),
              to.mpiDispls.data(), mpiType(a.type), a.recv, from.mpiCounts.data(),
              from.mpiDispls.data(), mpiType(a.type));
}

int gather(const CallArgs& a, const Way& way) {
  const int count = number(a.count());
  return call(way, MPI_Gather, MPI_Igather, rootedSend(a), count, mpiType(a.type), a.recv, count,
              mpiType(a.type), a.root);
}

int gatherV(const CallArgs& a, const Way& way) {
  const Counts& from = a.layout->recvFrom;
  return call(way, MPI_Gatherv, MPI_Igatherv, rootedSend(a), number(a.count()), mpiType(a.type),
              a.recv, from.mpiCounts.data(), from.mpiDispls.data(), mpiType(a.type), a.root);
}

int scatter(const CallArgs& a, const Way& way) {
  const int count = number(a.count());
  return call(way, MPI_Scatter, MPI_Iscatter, a.send, count, mpiType(a.type), rootedRecv(a), count,
              mpiType(a.type), a.root);
}

int scatterV(const CallArgs& a, const Way& way) {
  const Counts& to = a.layout->sendTo;
  return call(way, MPI_Scatterv, MPI_Iscatterv, a.send, to.mpiCounts.data(), to.mpiDispls.data(),
              mpiType(a.type), rootedRecv(a), number(a.count()), mpiType(a.type), a.root);
}

int scan(const CallArgs& a, const Way& way) {
  return call(way, MPI_Scan, MPI_Iscan, sendOrInPlace(a), a.recv, number(a.count()),
              mpiType(a.type), mpiOperator(a.op));
}

int exscan(const CallArgs& a, const Way& way) {
  return call(way, MPI_Exscan, MPI_Iexscan, sendOrInPlace(a), a.recv, number(a.count()),
              mpiType(a.type), mpiOperator(a.op));
}

int sendReceive(const CallArgs& a, const Way& way) {
  const int count = number(a.count());
  return MPI_Sendrecv(a.send, count, mpiType(a.type), a.layout->next, kTag, a.recv, count,
                      mpiType(a.type), a.layout->before, kTag, way.comm, MPI_STATUS_IGNORE);
}

int barrier(const CallArgs&, const Way& way) { return call(way, MPI_Barrier, MPI_Ibarrier); }

int send(const CallArgs& a, const void* from, size_t count, MPI_Comm comm) {
  return MPI_Send(from, number(count), mpiType(a.type), a.layout->peer, kTag, comm);
}

int receive(const CallArgs& a, void* to, size_t count, MPI_Comm comm) {
  return MPI_Recv(to, number(count), mpiType(a.type), a.layout->peer, kTag, comm,
                  MPI_STATUS_IGNORE);
}

int pingPong(const CallArgs& a, const Way& way) {
  if (a.layout->peer < 0) return MPI_SUCCESS;
  if (a.layout->leads) send(a, a.send, a.count(), way.comm);
  receive(a, a.recv, a.count(), way.comm);
  if (!a.layout->leads) send(a, a.send, a.count(), way.comm);
  return MPI_SUCCESS;
}

/// All messages of a window at once, in the directions that are asked for.
int exchange(const CallArgs& a, bool sends, bool receives, MPI_Comm comm) {
  thread_local std::vector<MPI_Request> requests;  // outside the time after the first call
  requests.clear();
  const MPI_Datatype type = mpiType(a.type);
  const int count = number(a.count());
  for (size_t i = 0; receives && i < static_cast<size_t>(a.window); ++i) {
    MPI_Irecv(a.place(i), count, type, a.layout->peer, kTag, comm, &requests.emplace_back());
  }
  for (size_t i = 0; sends && i < static_cast<size_t>(a.window); ++i) {
    MPI_Isend(a.message(i), count, type, a.layout->peer, kTag, comm, &requests.emplace_back());
  }
  return MPI_Waitall(number(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int window(const CallArgs& a, const Way& way) {
  if (a.layout->peer < 0) return MPI_SUCCESS;
  exchange(a, a.layout->leads, !a.layout->leads, way.comm);
  return a.layout->leads ? receive(a, a.recv, 1, way.comm) : send(a, a.send, 1, way.comm);
}

int bothWays(const CallArgs& a, const Way& way) {
  return a.layout->peer < 0 ? MPI_SUCCESS : exchange(a, true, true, way.comm);
}

struct MpiCall {
  const char* benchmark;
  const char* name;
  int (*run)(const CallArgs& args, const Way& way);
};

constexpr MpiCall kCalls[] = {
    {"allreduce", "MPI_Allreduce", allReduce},
    {"reduce", "MPI_Reduce", reduce},
    {"bcast", "MPI_Bcast", broadcast},
    {"allgather", "MPI_Allgather", allGather},
    {"allgatherv", "MPI_Allgatherv", allGatherV},
    {"reduce_scatter", "MPI_Reduce_scatter_block", reduceScatter},
    {"reduce_scatterv", "MPI_Reduce_scatter", reduceScatterV},
    {"alltoall", "MPI_Alltoall", allToAll},
    {"alltoallv", "MPI_Alltoallv", allToAllV},
    {"gather", "MPI_Gather", gather},
    {"gatherv", "MPI_Gatherv", gatherV},
    {"scatter", "MPI_Scatter", scatter},
    {"scatterv", "MPI_Scatterv", scatterV},
    {"scan", "MPI_Scan", scan},
    {"exscan", "MPI_Exscan", exscan},
    {"sendrecv", "MPI_Sendrecv", sendReceive},
    {"barrier", "MPI_Barrier", barrier},
    {"latency", "MPI_Send or MPI_Recv", pingPong},
    {"bw", "MPI_Isend or MPI_Irecv", window},
    {"bibw", "MPI_Isend or MPI_Irecv", bothWays},
    {"mbw_mr", "MPI_Isend or MPI_Irecv", window},
};

const MpiCall& callOf(const Benchmark& benchmark) {
  for (const MpiCall& call : kCalls) {
    if (benchmark.name == std::string_view(call.benchmark)) return call;
  }
  throw RunError(std::string(benchmark.name) + " has no call in library_mpi.cc");
}

void check(int result, const char* name) {
  if (result != MPI_SUCCESS) throw RunError(std::string(name) + " failed");
}

[[noreturn]] void refuse(const Options& options, const std::string& why) {
  const bool alone = options.library == Library::kMpi;
  throw UsageError((alone ? "--library mpi: " : "--peer mpi: ") + why);
}

/// Whether a call takes where each rank's block lies, and not its length alone.
bool hasDisplacements(const Benchmark& benchmark) {
  return benchmark.has(kUneven) && !benchmark.has(kReduces);
}

/// The most elements that a count or a displacement has to hold.
size_t mostElements(const Benchmark& benchmark, const Options& options, const ElementType& type,
                    int ranks) {
  const size_t count = options.maxBytes / type.size;
  if (!hasDisplacements(benchmark)) return count;
  return (count + count / 4 + 1) * static_cast<size_t>(ranks);
}

}  // namespace

bool mpiInPlaceDiffers(const Benchmark& benchmark) {
  return benchmark.has(kReduces) && (benchmark.has(kWholeVector) || benchmark.has(kUneven));
}

void requireMpiCan(const Benchmark& benchmark, const Options& options, int ranks) {
  if (options.inPlace && mpiInPlaceDiffers(benchmark)) {
    refuse(options, "MPI leaves the block of an in-place " + std::string(benchmark.name) +
                        " in another place than Rondo; leave out --in-place, or time Rondo alone");
  }
  if (benchmark.has(kNoData)) return;
  if (options.memory == MemoryKind::kDevice && benchmark.has(kPairs)) {
    refuse(options,
           "on device memory, which goes by way of the host, only collectives are timed, not " +
               std::string(benchmark.name));
  }
  for (const ElementType* type : options.types) {
    if (mostElements(benchmark, options, *type, ranks) <= INT_MAX) continue;
    const std::string most = std::to_string(INT_MAX);
    refuse(options, (hasDisplacements(benchmark)
                         ? "MPI's displacements are at most " + most + " elements, and blocks of "
                         : "MPI counts at most " + most + " elements, and ") +
                        "--max " + formatSize(options.maxBytes) + " of " + type->name +
                        (hasDisplacements(benchmark) ? " for all ranks" : "") +
                        " are more; lower --max, or time Rondo alone");
  }
}

Contender mpiContender(const Benchmark& benchmark, MPI_Comm comm) {
  const MpiCall& call = callOf(benchmark);
  return {kMpiName, [call, comm](const CallArgs& args) {
            if (args.group == 1) return check(call.run(args, {comm, nullptr}), call.name);
            thread_local std::vector<MPI_Request> requests;
            requests.assign(static_cast<size_t>(args.group), MPI_REQUEST_NULL);
            for (size_t i = 0; i < requests.size(); ++i) {
              check(call.run(args.member(i), {comm, &requests[i]}), call.name);
            }
            check(MPI_Waitall(args.group, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
          }};
}

Contender mpiOverlapped(const Benchmark& benchmark, MPI_Comm comm, const Between& between) {
  const MpiCall& call = callOf(benchmark);
  return {kMpiName, [call, comm, between](const CallArgs& args) {
            MPI_Request request = MPI_REQUEST_NULL;
            check(call.run(args, {comm, &request}), call.name);
            between([&] {
              int done = 0;
              check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            });
            check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
          }};
}

}  // namespace rondo::bench
