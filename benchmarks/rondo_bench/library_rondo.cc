#include "library_rondo.h"

#include "errors.h"
#include "session.h"

namespace rondo::bench {
namespace {

using Call = void (*)(const CallArgs& args, rondoComm_t comm);

struct RondoCall {
  const char* benchmark;
  Call call;
};

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

void sendReceive(const CallArgs& a, rondoComm_t comm) {
  checkRondo(rondoSendRecv(a.send, a.count(), a.layout->next, a.recv, a.count(), a.layout->before,
                           a.type, comm, a.stream),
             "rondoSendRecv", comm);
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
    {"allreduce", allReduce},
    {"reduce", reduce},
    {"bcast", broadcast},
    {"allgather", allGather},
    {"allgatherv", allGatherV},
    {"reduce_scatter", reduceScatter},
    {"reduce_scatterv", reduceScatterV},
    {"alltoall", allToAll},
    {"alltoallv", allToAllV},
    {"gather", gather},
    {"gatherv", gatherV},
    {"scatter", scatter},
    {"scatterv", scatterV},
    {"scan", scan},
    {"exscan", exscan},
    {"sendrecv", sendReceive},
    {"barrier", barrier},
    {"latency", pingPong},
    {"bw", window},
    {"bibw", bothWays},
    {"mbw_mr", window},
};

const RondoCall& callOf(const Benchmark& benchmark) {
  for (const RondoCall& call : kCalls) {
    if (benchmark.name == std::string_view(call.benchmark)) return call;
  }
  throw RunError(std::string(benchmark.name) + " has no call in library_rondo.cc");
}

}  // namespace

Contender rondoContender(const Benchmark& benchmark, rondoComm_t comm) {
  const RondoCall& call = callOf(benchmark);
  return {kRondoName, [run = call.call, comm](const CallArgs& args) {
            if (args.group == 1) return run(args, comm);
            checkRondo(rondoGroupStart(), "rondoGroupStart", comm);
            for (size_t i = 0; i < static_cast<size_t>(args.group); ++i) run(args.member(i), comm);
            checkRondo(rondoGroupEnd(), "rondoGroupEnd", comm);
          }};
}

Contender rondoOverlapped(const Benchmark& benchmark, rondoComm_t comm, const Between& between) {
  const RondoCall& call = callOf(benchmark);
  return {kRondoName, [run = call.call, comm, between](const CallArgs& args) {
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
