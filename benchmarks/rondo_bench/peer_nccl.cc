#include "peer_nccl.h"

#include <chrono>
#include <cstdlib>

#include "errors.h"
#include "shared_object.h"

namespace rondo::bench {
namespace {

struct NcclUniqueId {
  char bytes[128];
};

constexpr rondoDataType_t kFirstOwnType = 32;  // below it the handles are NCCL's

bool isPowerOfTwo(int n) { return (n & (n - 1)) == 0; }

}  // namespace

struct Nccl::Library : SharedObject {
  Library() : SharedObject("libnccl.so.2", "--peer nccl") {
    int (*ours)(int*) = nullptr;  // a library's symbols are also those of what it is linked to
    resolveIfThere("rondoGetVersion", ours);
    if (ours != nullptr) {
      throw UsageError(
          "--peer nccl: the libnccl.so.2 that the loader finds first is Rondo's own; put NVIDIA's "
          "before it in LD_LIBRARY_PATH");
    }
    resolve("ncclGetVersion", getVersion);
    resolve("ncclGetErrorString", getErrorString);
    resolve("ncclGetUniqueId", getUniqueId);
    resolve("ncclCommInitRank", commInitRank);
    resolve("ncclCommDestroy", commDestroy);
    resolve("ncclAllReduce", allReduce);
    // what no benchmark calls need not be there; the last three came with 2.28
    resolveIfThere("ncclReduce", reduce);
    resolveIfThere("ncclBroadcast", broadcast);
    resolveIfThere("ncclAllGather", allGather);
    resolveIfThere("ncclReduceScatter", reduceScatter);
    resolveIfThere("ncclSend", send);
    resolveIfThere("ncclRecv", recv);
    resolveIfThere("ncclGroupStart", groupStart);
    resolveIfThere("ncclGroupEnd", groupEnd);
    resolveIfThere("ncclAlltoAll", allToAll);
    resolveIfThere("ncclGather", gather);
    resolveIfThere("ncclScatter", scatter);
    resolveIfThere("ncclMemAlloc", memAlloc);
    resolveIfThere("ncclMemFree", memFree);
    resolveIfThere("ncclCommWindowRegister", windowRegister);
    resolveIfThere("ncclCommWindowDeregister", windowDeregister);
  }
  void check(int result, const char* call) const {
    if (result != 0) throw RunError(std::string(call) + " failed: " + getErrorString(result));
  }

  int (*getVersion)(int* version);
  const char* (*getErrorString)(int result);
  int (*getUniqueId)(NcclUniqueId* id);
  int (*commInitRank)(ncclComm** comm, int ranks, NcclUniqueId id, int rank);
  int (*commDestroy)(ncclComm* comm);
  using Stream = rondoStream_t;
  int (*allReduce)(const void*, void*, size_t count, int type, int op, ncclComm*, Stream);
  int (*reduce)(const void*, void*, size_t count, int type, int op, int root, ncclComm*, Stream);
  int (*broadcast)(const void*, void*, size_t count, int type, int root, ncclComm*, Stream);
  int (*allGather)(const void*, void*, size_t count, int type, ncclComm*, Stream);
  int (*reduceScatter)(const void*, void*, size_t count, int type, int op, ncclComm*, Stream);
  int (*send)(const void*, size_t count, int type, int peer, ncclComm*, Stream);
  int (*recv)(void*, size_t count, int type, int peer, ncclComm*, Stream);
  int (*groupStart)();
  int (*groupEnd)();
  int (*allToAll)(const void*, void*, size_t count, int type, ncclComm*, Stream);
  int (*gather)(const void*, void*, size_t count, int type, int root, ncclComm*, Stream);
  int (*scatter)(const void*, void*, size_t count, int type, int root, ncclComm*, Stream);
  int (*memAlloc)(void** memory, size_t bytes);
  int (*memFree)(void* memory);
  int (*windowRegister)(ncclComm*, void* memory, size_t bytes, ncclWindow** window, int flags);
  int (*windowDeregister)(ncclComm*, ncclWindow* window);
};

namespace {

/// One communicator's calls, by the arguments of a benchmark.
struct Calls {
  const Nccl::Library& nccl;
  ncclComm* comm;
  int rank;
  int ranks;

  template <class Function, class... Arguments>
  void run(const char* name, Function function, Arguments... arguments) const {
    if (function == nullptr) throw UsageError(std::string("libnccl.so.2 has no function ") + name);
    nccl.check(function(arguments...), name);
  }
  template <class Body>
  void grouped(const Body& body) const {
    run("ncclGroupStart", nccl.groupStart);
    body();
    run("ncclGroupEnd", nccl.groupEnd);
  }
  void send(const CallArgs& a, const void* from, size_t count, int peer) const {
    run("ncclSend", nccl.send, from, count, a.type, peer, comm, a.stream);
  }
  void receive(const CallArgs& a, void* to, size_t count, int peer) const {
    run("ncclRecv", nccl.recv, to, count, a.type, peer, comm, a.stream);
  }
};
using Call = void (*)(const Calls& c, const CallArgs& a);

void allReduce(const Calls& c, const CallArgs& a) {
  c.run("ncclAllReduce", c.nccl.allReduce, a.send, a.recv, a.count(), a.type, a.op, c.comm,
        a.stream);
}
void reduce(const Calls& c, const CallArgs& a) {
  c.run("ncclReduce", c.nccl.reduce, a.send, a.recv, a.count(), a.type, a.op, a.root, c.comm,
        a.stream);
}
void broadcast(const Calls& c, const CallArgs& a) {
  c.run("ncclBroadcast", c.nccl.broadcast, a.send, a.recv, a.count(), a.type, a.root, c.comm,
        a.stream);
}
void allGather(const Calls& c, const CallArgs& a) {
  c.run("ncclAllGather", c.nccl.allGather, a.send, a.recv, a.count(), a.type, c.comm, a.stream);
}
void reduceScatter(const Calls& c, const CallArgs& a) {
  c.run("ncclReduceScatter", c.nccl.reduceScatter, a.send, a.recv, a.count(), a.type, a.op, c.comm,
        a.stream);
}

void allToAll(const Calls& c, const CallArgs& a) {
  if (c.nccl.allToAll != nullptr) {
    return c.run("ncclAlltoAll", c.nccl.allToAll, a.send, a.recv, a.count(), a.type, c.comm,
                 a.stream);
  }
  c.grouped([&] {
    for (int r = 0; r < c.ranks; ++r) {
      c.send(a, a.message(static_cast<size_t>(r)), a.count(), r);
      c.receive(a, a.place(static_cast<size_t>(r)), a.count(), r);
    }
  });
}

void gather(const Calls& c, const CallArgs& a) {
  if (c.nccl.gather != nullptr) {
    return c.run("ncclGather", c.nccl.gather, a.send, a.recv, a.count(), a.type, a.root, c.comm,
                 a.stream);
  }
  c.grouped([&] {
    c.send(a, a.send, a.count(), a.root);
    for (int r = 0; r < c.ranks && c.rank == a.root; ++r) {
      c.receive(a, a.place(static_cast<size_t>(r)), a.count(), r);
    }
  });
}

void scatter(const Calls& c, const CallArgs& a) {
  if (c.nccl.scatter != nullptr) {
    return c.run("ncclScatter", c.nccl.scatter, a.send, a.recv, a.count(), a.type, a.root, c.comm,
                 a.stream);
  }
  c.grouped([&] {
    for (int r = 0; r < c.ranks && c.rank == a.root; ++r) {
      c.send(a, a.message(static_cast<size_t>(r)), a.count(), r);
    }
    c.receive(a, a.recv, a.count(), a.root);
  });
}

void sendReceive(const Calls& c, const CallArgs& a) {
  c.grouped([&] {
    c.send(a, a.send, a.count(), a.layout->next);
    c.receive(a, a.recv, a.count(), a.layout->before);
  });
}

void pingPong(const Calls& c, const CallArgs& a) {
  if (a.layout->peer < 0) return;
  if (a.layout->leads) c.send(a, a.send, a.count(), a.layout->peer);
  c.receive(a, a.recv, a.count(), a.layout->peer);
  if (!a.layout->leads) c.send(a, a.send, a.count(), a.layout->peer);
}

void messages(const Calls& c, const CallArgs& a, bool sends, bool receives) {
  c.grouped([&] {
    for (size_t i = 0; i < static_cast<size_t>(a.window); ++i) {
      if (receives) c.receive(a, a.place(i), a.count(), a.layout->peer);
      if (sends) c.send(a, a.message(i), a.count(), a.layout->peer);
    }
  });
}

void window(const Calls& c, const CallArgs& a) {
  if (a.layout->peer < 0) return;
  messages(c, a, a.layout->leads, !a.layout->leads);
  if (a.layout->leads) {
    c.receive(a, a.recv, 1, a.layout->peer);
  } else {
    c.send(a, a.send, 1, a.layout->peer);
  }
}

void bothWays(const Calls& c, const CallArgs& a) {
  if (a.layout->peer >= 0) messages(c, a, true, true);
}

constexpr struct {
  const char* benchmark;
  Call call;
} kCalls[] = {
    {"allreduce", allReduce}, {"reduce", reduce},     {"bcast", broadcast},
    {"allgather", allGather}, {"alltoall", allToAll}, {"reduce_scatter", reduceScatter},
    {"gather", gather},       {"scatter", scatter},   {"sendrecv", sendReceive},
    {"latency", pingPong},    {"bw", window},         {"bibw", bothWays},
    {"mbw_mr", window},
};

Call callOf(const Benchmark& benchmark) {
  for (const auto& row : kCalls) {
    if (benchmark.name == std::string_view(row.benchmark)) return row.call;
  }
  return nullptr;
}

}  // namespace

bool ncclHas(const Benchmark& benchmark) { return callOf(benchmark) != nullptr; }

void requireNcclCan(const Benchmark& benchmark, const Options& options, int ranks) {
  if (callOf(benchmark) == nullptr) {
    std::string names;
    for (const auto& row : kCalls)
      names += (names.empty() ? "" : ", ") + std::string(row.benchmark);
    throw UsageError("--peer nccl: allowed only with " + names + ", not " +
                     std::string(benchmark.name));
  }
  for (const ElementType* type : options.types) {
    if (type->id >= kFirstOwnType) {
      throw UsageError(std::string("--peer nccl: NCCL has no type ") + type->name +
                       "; choose other types with --type, or leave out --peer");
    }
    for (const Operator* op : options.ops) {
      if (op->id < 0 || op->id >= kFirstOwnType) {
        throw UsageError(std::string("--peer nccl: NCCL has no operator ") + op->name +
                         " that ranks share; choose another with --op, or leave out --peer");
      }
      // NCCL multiplies floats by 1/ranks before it adds them up, which rounds.
      if (!options.noCheck && op->id == rondoAvg && type->kind == NumberKind::kFloat &&
          !isPowerOfTwo(ranks)) {
        throw UsageError("--peer nccl: NCCL's avg of " + std::string(type->name) + " over " +
                         std::to_string(ranks) +
                         " ranks is not exact and cannot be checked; use --no-check, or a number "
                         "of ranks that is a power of two");
      }
    }
  }
}

namespace {

/// NCCL's communicator of the ranks of `comm`. Collective.
ncclComm* joined(const Nccl::Library& nccl, MPI_Comm comm) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  NcclUniqueId id{};
  if (rank == 0) nccl.check(nccl.getUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm);
  ncclComm* made = nullptr;
  nccl.check(nccl.commInitRank(&made, ranks, id, rank), "ncclCommInitRank");
  return made;
}

}  // namespace

Nccl::Nccl(const Session& session, const char* name)
    : name_(name), rank_(session.rank()), ranks_(session.ranks()) {
  // NVLink multicast is left out of the comparison; what the user sets counts for the rest.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  library_ = std::make_unique<Library>();
  comm_ = joined(*library_, session.mpi());
}

Nccl::~Nccl() { library_->commDestroy(comm_); }

std::string Nccl::version() const {
  int code = 0;
  library_->check(library_->getVersion(&code), "ncclGetVersion");
  return formatVersion(code);
}

void* Nccl::allocateSymmetric(size_t bytes) {
  const Library& nccl = *library_;
  if (nccl.memAlloc == nullptr || nccl.windowRegister == nullptr) {
    throw UsageError("--peer nccl-sym: libnccl.so.2 has no windows, which came with 2.27; it is " +
                     version());
  }
  constexpr int kSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  void* memory = nullptr;
  nccl.check(nccl.memAlloc(&memory, bytes), "ncclMemAlloc");
  ncclWindow* window = nullptr;
  nccl.check(nccl.windowRegister(comm_, memory, bytes, &window, kSymmetric),
             "ncclCommWindowRegister");
  // So it says that it will use other kernels all the same.
  if (window == nullptr) {
    nccl.memFree(memory);
    throw UsageError("--peer nccl-sym: NCCL makes no symmetric windows here; allowed: --peer nccl");
  }
  windows_[memory] = window;
  return memory;
}

void Nccl::releaseSymmetric(void* memory) {
  library_->windowDeregister(comm_, windows_.at(memory));
  windows_.erase(memory);
  library_->memFree(memory);
}

double Nccl::makeOne(MPI_Comm comm) const {
  const auto start = std::chrono::steady_clock::now();
  ncclComm* const made = joined(*library_, comm);
  const auto end = std::chrono::steady_clock::now();
  library_->check(library_->commDestroy(made), "ncclCommDestroy");
  return std::chrono::duration<double, std::micro>(end - start).count();
}

Contender Nccl::contender(const Benchmark& benchmark) const {
  const Calls calls{*library_, comm_, rank_, ranks_};
  return {name_, [calls, call = callOf(benchmark)](const CallArgs& args) { call(calls, args); }};
}

}  // namespace rondo::bench
