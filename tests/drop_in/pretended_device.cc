// Stands before librondo.so and pretends that communicators can have devices: on those made with
// one it takes device memory of fake_driver.cc only, and moves it by the host. So the layer before
// MPI is tested without a GPU. Built by drop_in.sh, preloaded after librondo_mpi.so.
//
// PRETEND_FAILS=NAME: what goes wrong on rank 1 alone: "make" (making a communicator with a
// device), "call" (the 5th call on one). PRETEND_LACKS=NAME: a call that has no kernel, on all
// ranks.

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "api/rondo.h"

namespace {

std::mutex mutex;
std::set<rondoComm_t> withDevice;
int calls = 0;
std::atomic<int> kernelsBehind{0};  ///< Copies, and have not begun.
/// Sends and receives of devices in the open group.
thread_local std::vector<std::function<void()>> grouped;

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Function>
Function* ofDriver(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

bool is(const char* variable, const char* value) {
  const char* given = std::getenv(variable);
  return given != nullptr && std::strcmp(given, value) == 0;
}
bool fails(const char* what) {
  return is("OMPI_COMM_WORLD_RANK", "1") && is("PRETEND_FAILS", what);
}

bool hasDevice(rondoComm_t comm) {
  const std::lock_guard<std::mutex> lock(mutex);
  return withDevice.contains(comm);
}

/// The address for the host; bad: it is none of a device that kernels may use.
void* view(const void* buffer, bool* bad) {
  if (buffer == nullptr) return nullptr;
  void* const seen = ofDriver<void*(const void*)>("fakeKernelView")(buffer);
  *bad |= seen == nullptr;
  return seen;
}

bool isDone(rondoRequest_t* request) {
  int ended = 0;
  return rondoTest(request, &ended) != rondoSuccess || ended != 0;
}

/// `done`: looks at a kernel, once those before it are done.
void enqueue(const std::function<bool()>& done) {
  ofDriver<void(const std::function<bool()>*)>("fakeLaunch")(&done);
}

struct Kernel {
  rondoRequest_t request{};
  bool begun = false;
};

template <class Run>
rondoResult_t begin(const Run& run, rondoRequest_t* request) {
  rondoGroupStart();
  run();
  return rondoGroupEndAsync(request);
}

/// A kernel, which is done when what run() asks for is. Kernels of several communicators must not
/// wait for each other here, where there is one stream for them all; but what a copy reads is not
/// to be written before that.
template <class Run>
rondoResult_t launch(const Run& run) {
  const auto kernel = std::make_shared<Kernel>();
  kernel->begun = !ofDriver<bool()>("fakeHasCopies")() && kernelsBehind == 0;
  if (!kernel->begun) {
    ++kernelsBehind;
  } else if (const rondoResult_t result = begin(run, &kernel->request)) {
    return result;
  }
  enqueue([kernel, run] {
    if (!std::exchange(kernel->begun, true)) {
      if (begin(run, &kernel->request) != rondoSuccess) std::abort();
      --kernelsBehind;
    }
    return isDone(&kernel->request);
  });
  return rondoSuccess;
}

/// Calls run(send, recv, stream) with what the host may touch. `inGroup`: of the layer's, whose
/// end launches it.
template <class Run>
rondoResult_t collective(const char* name, const void* send, void* recv, rondoComm_t comm,
                         rondoStream_t stream, const Run& run, bool inGroup = false) {
  if (!hasDevice(comm)) return run(send, recv, stream);
  if (is("PRETEND_LACKS", name)) return rondoUnsupported;
  bool bad = stream == nullptr;
  const void* const from = view(send, &bad);
  void* const to = view(recv, &bad);
  if (bad) {
    std::fprintf(stderr, "pretended device: %s(%p, %p, ..., %p)\n", name, send, recv,
                 static_cast<void*>(stream));
    return rondoInvalidArgument;
  }
  // A kernel in a graph looks at its addresses when it runs.
  const std::function<void()> later = [=] {
    bool lost = false;
    const void* const nowFrom = view(send, &lost);
    void* const nowTo = view(recv, &lost);
    if (lost) std::abort();
    launch([=] { run(nowFrom, nowTo, nullptr); });
  };
  if (ofDriver<bool(const std::function<void()>*)>("fakeRecord")(&later)) return rondoSuccess;
  if (++calls == 5 && fails("call")) return rondoUnhandledCudaError;
  if (!inGroup) return launch([=] { run(from, to, nullptr); });
  grouped.emplace_back([=] { run(from, to, nullptr); });
  return rondoSuccess;
}

}  // namespace

extern "C" {

int pretendedCalls() { return calls; }

rondoResult_t rondoCommInitMPI(rondoComm_t* comm, void* mpiComm, const rondoConfig_t* config) {
  const auto init = real<rondoResult_t(rondoComm_t*, void*, const rondoConfig_t*)>(__func__);
  if (config->device < 0) return init(comm, mpiComm, config);
  rondoConfig_t onHost = *config;
  onHost.device = RONDO_DEVICE_NONE;
  const rondoResult_t result = init(comm, mpiComm, &onHost);
  if (result != rondoSuccess) return result;
  if (fails("make")) {
    rondoCommDestroy(*comm);
    return rondoOutOfMemory;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  withDevice.insert(*comm);
  return rondoSuccess;
}

rondoResult_t rondoAllReduce(const void* send, void* recv, size_t count, rondoDataType_t type,
                             rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoAllReduce)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, op, comm, on);
  });
}

rondoResult_t rondoScan(const void* send, void* recv, size_t count, rondoDataType_t type,
                        rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoScan)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, op, comm, on);
  });
}

rondoResult_t rondoExscan(const void* send, void* recv, size_t count, rondoDataType_t type,
                          rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoExscan)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, op, comm, on);
  });
}

rondoResult_t rondoReduce(const void* send, void* recv, size_t count, rondoDataType_t type,
                          rondoRedOp_t op, int root, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoReduce)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, op, root, comm, on);
  });
}

rondoResult_t rondoReduceScatter(const void* send, void* recv, size_t count, rondoDataType_t type,
                                 rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoReduceScatter)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, op, comm, on);
  });
}

rondoResult_t rondoAllGather(const void* send, void* recv, size_t count, rondoDataType_t type,
                             rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoAllGather)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, comm, on);
  });
}

rondoResult_t rondoAllToAll(const void* send, void* recv, size_t count, rondoDataType_t type,
                            rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoAllToAll)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, comm, on);
  });
}

rondoResult_t rondoBroadcast(const void* send, void* recv, size_t count, rondoDataType_t type,
                             int root, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoBroadcast)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, root, comm, on);
  });
}

rondoResult_t rondoGather(const void* send, void* recv, size_t count, rondoDataType_t type,
                          int root, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoGather)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, root, comm, on);
  });
}

rondoResult_t rondoScatter(const void* send, void* recv, size_t count, rondoDataType_t type,
                           int root, rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoScatter)>(__func__);
  return collective(__func__, send, recv, comm, stream, [=](auto from, auto to, auto on) {
    return next(from, to, count, type, root, comm, on);
  });
}

// Sends and receives come in groups only, whose end launches them.
rondoResult_t rondoGroupEnd() {
  static const auto next = real<decltype(rondoGroupEnd)>(__func__);
  const auto all = std::exchange(grouped, {});
  const rondoResult_t result = next();
  if (all.empty() || result != rondoSuccess) return result;
  return launch([all] {
    for (const auto& one : all) one();
  });
}

rondoResult_t rondoSend(const void* send, size_t count, rondoDataType_t type, int peer,
                        rondoComm_t comm, rondoStream_t stream) {
  static const auto next = real<decltype(rondoSend)>(__func__);
  return collective(
      __func__, send, nullptr, comm, stream,
      [=](auto from, auto, auto on) { return next(from, count, type, peer, comm, on); }, true);
}

rondoResult_t rondoRecv(void* recv, size_t count, rondoDataType_t type, int peer, rondoComm_t comm,
                        rondoStream_t stream) {
  static const auto next = real<decltype(rondoRecv)>(__func__);
  return collective(
      __func__, nullptr, recv, comm, stream,
      [=](auto, auto to, auto on) { return next(to, count, type, peer, comm, on); }, true);
}
}
