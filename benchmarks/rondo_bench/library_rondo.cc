#include "library_rondo.h"

#include "errors.h"
#include "session.h"
#include "weak_calls.h"

namespace rondo::bench {
namespace {

using Call = void (*)(const CallArgs& args, rondoComm_t comm);

struct Needed {
  const char* name;
  bool present;
};

/// The calls that a benchmark makes; those of a window are the same for all of them.
struct RondoCall {
  const char* benchmark;
  Needed needs;
  Call call;
};

#define RONDO_BENCH_NEED(call) \
  Needed { #call, call != nullptr }

void allReduce(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoAllReduce(a.send, a.recv, a.count(), a.type, a.op, comm, a.stream),
             "rondoAllReduce", comm);
}

void reduce(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoReduce(a.send, a.recv, a.count(), a.type, a.op, a.root, comm, a.stream),
             "rondoReduce", comm);
}

void broadcast(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoBroadcast(a.send, a.recv, a.count(), a.type, a.root, comm, a.stream),
             "rondoBroadcast", comm);
}

void allGather(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoAllGather(a.send, a.recv, a.count(), a.type, comm, a.stream), "rondoAllGather",
             comm);
}

void allGatherV(const CallArgs& a, rondoComm_t comm) {
  const Counts& from = a.layout->recvFrom;
  checkRondo(rondoAllGatherV(a.send, a.count(), a.recv, from.counts.data(), from.displs.data(),
                             a.type, comm, a.stream),
             "rondoAllGatherV", comm);
}

void reduceScatter(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoReduceScatter(a.send, a.recv, a.count(), a.type, a.op, comm, a.stream),
             "rondoReduceScatter", comm);
}

void reduceScatterV(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoReduceScatterV(a.send, a.recv, a.layout->recvFrom.counts.data(), a.type, a.op,
                                 comm, a.stream),
             "rondoReduceScatterV", comm);
}

void allToAll(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoAllToAll(a.send, a.recv, a.count(), a.type, comm, a.stream), "rondoAllToAll",
             comm);
}

void allToAllV(const CallArgs& a, rondoComm_t comm) {
  const Counts& to = a.layout->sendTo;
  const Counts& from = a.layout->recvFrom;
  checkRondo(rondoAllToAllV(a.send, to.counts.data(), to.displs.data(), a.recv, from.counts.data(),
                            from.displs.data(), a.type, comm, a.stream),
             "rondoAllToAllV", comm);
}

void gather(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoGather(a.send, a.recv, a.count(), a.type, a.root, comm, a.stream), "rondoGather",
             comm);
}

void gatherV(const CallArgs& a, rondoComm_t comm) {
  const Counts& from = a.layout->recvFrom;
  checkRondo(rondoGatherV(a.send, a.count(), a.recv, from.counts.data(), from.displs.data(), a.type,
                          a.root, comm, a.stream),
             "rondoGatherV", comm);
}

void scatter(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoScatter(a.send, a.recv, a.count(), a.type, a.root, comm, a.stream),
             "rondoScatter", comm);
}

void scatterV(const CallArgs& a, rondoComm_t comm) {
  const Counts& to = a.layout->sendTo;
  checkRondo(rondoScatterV(a.send, to.counts.data(), to.displs.data(), a.recv, a.count(), a.type,
                           a.root, comm, a.stream),
             "rondoScatterV", comm);
}

void scan(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoScan(a.send, a.recv, a.count(), a.type, a.op, comm, a.stream), "rondoScan", comm);
}

void exscan(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoExscan(a.send, a.recv, a.count(), a.type, a.op, comm, a.stream), "rondoExscan",
             comm);
}

void barrier(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoBarrier(comm, a.stream), "rondoBarrier", comm);
}

void send(const CallArgs& a, const void* from, size_t count, rondoComm_t comm) {
  checkRondo(rondoSend(from, count, a.type, a.layout->peer, comm, a.stream), "rondoSend", comm);
}

void receive(const CallArgs& a, void* to, size_t count, rondoComm_t comm) {
  checkRondo(rondoRecv(to, count, a.type, a.layout->peer, comm, a.stream), "rondoRecv", comm);
}

void pingPong(const CallArgs& a, rondoComm_t comm) {
  if (a.layout->peer < 0) return;
  if (a.layout->leads) send(a, a.send, a.count(), comm);
  receive(a, a.recv, a.count(), comm);
  if (!a.layout->leads) send(a, a.send, a.count(), comm);
}

/// All messages of a window in one group, in the directions that are asked for.
void group(const CallArgs& a, bool sends, bool receives, rondoComm_t comm) {
  checkRondo(rondoGroupStart(), "rondoGroupStart", comm);
  for (size_t i = 0; i < static_cast<size_t>(a.window); ++i) {
    if (receives) receive(a, a.place(i), a.count(), comm);
    if (sends) send(a, a.message(i), a.count(), comm);
  }
  checkRondo(rondoGroupEnd(), "rondoGroupEnd", comm);
}

void window(const CallArgs& a, rondoComm_t comm) {
  if (a.layout->peer < 0) return;
  group(a, a.layout->leads, !a.layout->leads, comm);
  if (a.layout->leads) {
    receive(a, a.recv, 1, comm);
  } else {
    send(a, a.send, 1, comm);
  }
}

void bothWays(const CallArgs& a, rondoComm_t comm) {
  if (a.layout->peer >= 0) group(a, true, true, comm);
}

const RondoCall kCalls[] = {
    {"allreduce", {"rondoAllReduce", true}, allReduce},
    {"reduce", RONDO_BENCH_NEED(rondoReduce), reduce},
    {"bcast", {"rondoBroadcast", true}, broadcast},
    {"allgather", RONDO_BENCH_NEED(rondoAllGather), allGather},
    {"allgatherv", RONDO_BENCH_NEED(rondoAllGatherV), allGatherV},
    {"reduce_scatter", RONDO_BENCH_NEED(rondoReduceScatter), reduceScatter},
    {"reduce_scatterv", RONDO_BENCH_NEED(rondoReduceScatterV), reduceScatterV},
    {"alltoall", RONDO_BENCH_NEED(rondoAllToAll), allToAll},
    {"alltoallv", RONDO_BENCH_NEED(rondoAllToAllV), allToAllV},
    {"gather", RONDO_BENCH_NEED(rondoGather), gather},
    {"gatherv", RONDO_BENCH_NEED(rondoGatherV), gatherV},
    {"scatter", RONDO_BENCH_NEED(rondoScatter), scatter},
    {"scatterv", RONDO_BENCH_NEED(rondoScatterV), scatterV},
    {"scan", RONDO_BENCH_NEED(rondoScan), scan},
    {"exscan", RONDO_BENCH_NEED(rondoExscan), exscan},
    {"barrier", {"rondoBarrier", true}, barrier},
    {"latency", RONDO_BENCH_NEED(rondoSend), pingPong},
    {"bw", RONDO_BENCH_NEED(rondoSend), window},
    {"bibw", RONDO_BENCH_NEED(rondoSend), bothWays},
    {"mbw_mr", RONDO_BENCH_NEED(rondoSend), window},
};

const RondoCall& callOf(const Benchmark& benchmark) {
  for (const RondoCall& call : kCalls) {
    if (benchmark.name == std::string_view(call.benchmark)) return call;
  }
  throw RunError(std::string(benchmark.name) + " has no call in library_rondo.cc");
}

void require(const std::string& missing, const Benchmark& benchmark) {
  if (missing.empty()) return;
  throw UsageError(std::string(benchmark.name) + ": this librondo has no " + missing +
                   "; use a later one, or --library mpi for MPI alone");
}

}  // namespace

std::string missingRondoCall(const Benchmark& benchmark) {
  const Needed& needs = callOf(benchmark).needs;
  if (!needs.present) return needs.name;
  return benchmark.has(kWindow) && rondoGroupStart == nullptr ? "rondoGroupStart" : "";
}

std::string missingOverlapCall() {
  return rondoGroupEndAsync != nullptr ? "" : "rondoGroupEndAsync";
}

Contender rondoContender(const Benchmark& benchmark, rondoComm_t comm) {
  const RondoCall& call = callOf(benchmark);
  require(missingRondoCall(benchmark), benchmark);
  return {"rondo", [run = call.call, comm](const CallArgs& args) { run(args, comm); }};
}

Contender rondoOverlapped(const Benchmark& benchmark, rondoComm_t comm, const Between& between) {
  const RondoCall& call = callOf(benchmark);
  require(missingRondoCall(benchmark), benchmark);
  require(missingOverlapCall(), benchmark);
  return {"rondo", [run = call.call, comm, between](const CallArgs& args) {
            rondoRequest_t request = nullptr;
            checkRondo(rondoGroupStart(), "rondoGroupStart", comm);
            run(args, comm);
            checkRondo(rondoGroupEndAsync(&request), "rondoGroupEndAsync", comm);
            between([&] {
              int done = 0;
              if (request != nullptr) checkRondo(rondoTest(&request, &done), "rondoTest", comm);
            });
            if (request != nullptr) checkRondo(rondoWait(&request), "rondoWait", comm);
          }};
}

}  // namespace rondo::bench
