// A stand-in for Rondo, made of MPI calls: lets the benchmark's own tests run, and fail, without
// the library. FAKE_RONDO_FAULT chooses a fault: "wrong" (rank 0 gets one wrong element in every
// result), "late" (only from the 20th call on), "stale" (results are not written from the 20th call
// on), "init", "call" (all ranks' calls fail), "one-call" (rank 1's do), "awaited" (rank 0 gets one
// wrong element of calls that are awaited), "early" (those are said to have ended before they run),
// "before", "behind", "input" (rank 0 writes a byte before or behind its result, or in its input).
// With FAKE_RONDO_DEVICE it works on the device of fake_cuda.cc. FAKE_RONDO_ALIGN: of what its
// buffers' places have to be multiples.

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../../benchmarks/rondo_bench/element_type.h"
#include "api/rondo.h"
#include "api/rondo_mpi.h"
#include "fake_cuda.h"
#include "fake_rondo.h"

namespace {

using rondo::bench::ElementType;
using rondo::bench::loadElement;
using rondo::bench::storeElement;

constexpr int kLateCall = 20;
std::string lastError;

rondoResult_t failWith(rondoResult_t result, const char* sentence) {
  lastError = sentence;
  return result;
}

/// Any type and operator: every rank gathers all inputs and reduces them by itself.
void gatherAndReduce(const void* send, void* recv, size_t count, const ElementType& type,
                     rondoRedOp_t op, const rondoComm& comm) {
  const size_t bytes = count * type.size;
  std::vector<char> all(bytes * comm.ranks);
  MPI_Allgather(send, static_cast<int>(bytes), MPI_BYTE, all.data(), static_cast<int>(bytes),
                MPI_BYTE, comm.mpi);
  for (size_t i = 0; i < count; ++i) {
    double value = loadElement(type, &all[i * type.size]);
    for (int rank = 1; rank < comm.ranks; ++rank) {
      value = fakeCombine(op, value, loadElement(type, &all[rank * bytes + i * type.size]));
    }
    if (op == rondoAvg) value /= comm.ranks;
    storeElement(type, value, static_cast<char*>(recv) + i * type.size);
  }
}

// Set by rondoCommAwaitNext for the next call.
bool awaited = false;

void allReduce(const void* send, void* recv, size_t count, rondoDataType_t datatype,
               rondoRedOp_t op, rondoComm& comm, bool isAwaited) {
  const bool late = ++comm.calls >= kLateCall;
  std::vector<char> elsewhere(fakeFault("stale") && late ? count * 8 : 0);
  void* to = elsewhere.empty() ? recv : elsewhere.data();
  if (datatype == rondoFloat32 && op == rondoSum) {
    MPI_Allreduce(send == to ? MPI_IN_PLACE : send, to, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  comm.mpi);
  } else {
    gatherAndReduce(send, to, count, *rondo::bench::findElementType(datatype), op, comm);
  }
  const bool wrong =
      fakeFault("wrong") || (fakeFault("late") && late) || (fakeFault("awaited") && isAwaited);
  if (wrong && comm.rank == 0) static_cast<char*>(recv)[0] ^= 1;
  if (fakeFault("before") && comm.rank == 0) static_cast<char*>(recv)[-1] ^= 1;
  if (fakeFault("behind") && comm.rank == 0) {
    static_cast<char*>(recv)[count * rondo::bench::findElementType(datatype)->size] ^= 1;
  }
  if (fakeFault("input") && comm.rank == 0) static_cast<char*>(const_cast<void*>(send))[0] ^= 1;
}

/// A function of the stand-in for the CUDA driver that the benchmark has loaded.
template <class Function>
Function* ofDevice(Function*, const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

/// Puts a call on the device's stream.
void enqueue(rondoStream_t stream, void* result, bool isAwaited, const std::function<void()>& run) {
  const auto note = ofDevice(&fakeCudaNote, "fakeCudaNote");
  const std::function<void()> work = [=] {
    note("rondo", result);
    run();
  };
  if (isAwaited && fakeFault("early")) {
    ofDevice(&fakeCudaDefer, "fakeCudaDefer")(stream, &work);
  } else {
    ofDevice(&fakeCudaEnqueue, "fakeCudaEnqueue")(stream, &work);
  }
}

}  // namespace

bool fakeFault(const char* name) {
  static const char* text = std::getenv("FAKE_RONDO_FAULT");
  static const std::string chosen = text != nullptr ? text : "";
  return chosen == name;
}

double fakeCombine(rondoRedOp_t op, double a, double b) {
  switch (op) {
    case rondoProd:
      return a * b;
    case rondoMin:
      return std::min(a, b);
    case rondoMax:
      return std::max(a, b);
    default:
      return a + b;
  }
}

rondoResult_t rondoGetVersion(int* version) {
  *version = RONDO_VERSION_CODE;
  return rondoSuccess;
}

const char* rondoGetErrorString(rondoResult_t result) {
  return result == rondoSuccess ? "rondoSuccess" : "rondoInternalError";
}

const char* rondoGetLastError(rondoComm_t) { return lastError.c_str(); }

rondoResult_t rondoCommInitMPI(rondoComm_t* comm, MPI_Comm mpiComm, const rondoConfig_t*) {
  if (fakeFault("init")) return failWith(rondoInternalError, "the fake refuses to begin");
  auto* made = new rondoComm{};
  MPI_Comm_dup(mpiComm, &made->mpi);
  MPI_Comm_rank(made->mpi, &made->rank);
  MPI_Comm_size(made->mpi, &made->ranks);
  *comm = made;
  return rondoSuccess;
}

/// Kept with the MPI communicator, whose messages it uses.
rondoResult_t rondoCommFromMPI(MPI_Comm mpiComm, rondoComm_t* comm) {
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) {
    const auto forget = [](MPI_Comm, int, void* value, void*) {
      delete static_cast<rondoComm_t>(value);
      return MPI_SUCCESS;
    };
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr);
  }
  int found = 0;
  MPI_Comm_get_attr(mpiComm, key, comm, &found);
  if (found != 0) return rondoSuccess;
  *comm = new rondoComm{mpiComm, 0, 0, 0};
  MPI_Comm_rank(mpiComm, &(*comm)->rank);
  MPI_Comm_size(mpiComm, &(*comm)->ranks);
  MPI_Comm_set_attr(mpiComm, key, *comm);
  return rondoSuccess;
}

rondoResult_t rondoCommDestroy(rondoComm_t comm) {
  delete comm;  // the duplicate goes with MPI_Finalize: destroying is local
  return rondoSuccess;
}

rondoResult_t rondoCommCuDevice(rondoComm_t, int* device) {
  *device = std::getenv("FAKE_RONDO_DEVICE") != nullptr ? 0 : RONDO_DEVICE_NONE;
  return rondoSuccess;
}

rondoResult_t rondoMemAlloc(void** ptr, size_t bytes) {
  *ptr = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *ptr != nullptr ? rondoSuccess : failWith(rondoOutOfMemory, "no memory for the fake");
}

rondoResult_t rondoMemAllocDevice(void** ptr, size_t bytes, int) {
  return rondoMemAlloc(ptr, bytes);
}

rondoResult_t rondoMemFree(void* ptr) {
  std::free(ptr);
  return rondoSuccess;
}

// The fake's device memory is anybody's: registering is counted, so that what is given back was
// taken.
namespace {
rondoRegistration_t registered = 0;
}  // namespace

rondoResult_t rondoCommRegister(rondoComm_t, void*, size_t, int, rondoRegistration_t* number) {
  *number = ++registered;
  return rondoSuccess;
}

rondoResult_t rondoCommDeregister(rondoComm_t, rondoRegistration_t number) {
  if (number < 1 || number > registered) return failWith(rondoInvalidArgument, "no such number");
  return rondoSuccess;
}

// Asked for the third time every second call has ended, the others are left to their stream.
namespace {
int asked = 0;
}  // namespace

rondoResult_t rondoCommAwaitNext(rondoComm_t, unsigned, int* willing) {
  *willing = 1;
  awaited = true;
  asked = 0;
  return rondoSuccess;
}

rondoResult_t rondoCommAwaited(rondoComm_t comm, int* state) {
  const bool ended = fakeFault("early") || comm->calls % 2 == 0;
  *state = ++asked < 3 ? RONDO_AWAITED_RUNS : ended ? RONDO_AWAITED_DONE : RONDO_AWAITED_ON_STREAM;
  return rondoSuccess;
}

rondoResult_t rondoAllReduce(const void* send, void* recv, size_t count, rondoDataType_t datatype,
                             rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
  if (fakeFault("call")) return failWith(rondoInternalError, "the fake's calls fail");
  static const char* align = std::getenv("FAKE_RONDO_ALIGN");
  if (align != nullptr && reinterpret_cast<uintptr_t>(send) % std::stoul(align) != 0) {
    return failWith(rondoInvalidArgument, "the fake's buffers begin elsewhere");
  }
  if (fakeFault("one-call") && comm->rank == 1) {
    return failWith(rondoInternalError, "the fake's call fails here");
  }
  const bool isAwaited = std::exchange(awaited, false);
  const std::function<void()> work = [=] {
    allReduce(send, recv, count, datatype, op, *comm, isAwaited);
  };
  if (stream == nullptr) {
    fakeRunOrCollect(work);
  } else {
    enqueue(stream, recv, isAwaited, work);
  }
  return rondoSuccess;
}
