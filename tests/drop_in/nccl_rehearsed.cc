// A program that knows CUDA's runtime and NCCL only, as NCCL's documentation writes them: rehearsed
// by RONDO_VIRTUAL with a stub for CUDA.
// Usage: nccl_rehearsed one RANK RANKS | all | leave | split | estimate | estimate-not; but for
// `one`, with all devices

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drop_in/nccl_calls.h"

extern "C" {
int cudaGetDeviceCount(int* count);
int cudaSetDevice(int device);
int cudaMalloc(void** memory, size_t bytes);
int cudaFree(void* memory);
int cudaStreamCreate(cudaStream_t* stream);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaStreamDestroy(cudaStream_t stream);
const char* cudaGetErrorString(int result);
}

using namespace nccl_test;

namespace {

constexpr size_t kMost = 64u << 20;

void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", call, ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::exit(1);
}
void checkCuda(int result, const char* call) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
  std::exit(1);
}
#define NCCL(call) check(call, #call)
#define CUDA(call) checkCuda(call, #call)

/// What a rank has on its device.
struct Rank {
  int device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  void *in = nullptr, *out = nullptr;

  void prepare() {
    CUDA(cudaSetDevice(device));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc(&in, kMost));
    CUDA(cudaMalloc(&out, kMost));
  }
  void finish() {
    CUDA(cudaSetDevice(device));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
    NCCL(ncclCommDestroy(comm));
  }
};

/// What the group that is open would take, in microseconds.
float estimated() {
  ncclSimInfo_t info{sizeof(ncclSimInfo_t), 0x74685283, 22809, -1.0f};
  NCCL(ncclGroupSimulateEnd(&info));
  return info.estimatedTime;
}

/// A group that is made, and before it, if asked for, groups that are not, the same one among them,
/// whose estimate is printed.
void estimate(std::vector<Rank>& mine, bool asks) {
  constexpr size_t kBytes = 65432;
  const auto collect = [&](int sums, bool sends) {
    NCCL(ncclGroupStart());
    for (Rank& r : mine) {
      int rank = 0, ranks = 0;
      NCCL(ncclCommUserRank(r.comm, &rank));
      NCCL(ncclCommCount(r.comm, &ranks));
      for (int i = 0; i < sums; ++i) {
        NCCL(ncclAllReduce(r.in, r.out, kBytes, kInt8, kSum, r.comm, r.stream));
      }
      if (!sends) continue;
      NCCL(ncclSend(r.in, kBytes, kInt8, (rank + 1) % ranks, r.comm, r.stream));
      NCCL(ncclRecv(r.out, kBytes, kInt8, (rank + ranks - 1) % ranks, r.comm, r.stream));
    }
  };
  if (asks) {
    collect(1, false);
    const float one = estimated();
    collect(2, false);
    const float two = estimated();
    collect(0, true);
    const float ring = estimated();
    collect(1, true);
    const float all = estimated();
    if (!(one > 0 && two > 1.9f * one && ring > 0 && all > one)) {
      std::fprintf(stderr, "estimates: %g, %g, %g, %g us\n", one, two, ring, all);
      std::exit(5);
    }
    std::fprintf(stderr, "estimated %.4f us\n", all);
  }
  collect(1, true);
  NCCL(ncclGroupEnd());
}

/// A step of training, and the ring of a pipeline.
void work(std::vector<Rank>& mine) {
  for (const size_t count : {size_t{256}, kMost / 4}) {
    NCCL(ncclGroupStart());
    for (Rank& r : mine) {
      NCCL(ncclAllReduce(r.in, r.out, count, kFloat32, kSum, r.comm, r.stream));
    }
    NCCL(ncclGroupEnd());
  }
  NCCL(ncclGroupStart());
  for (Rank& r : mine) {
    NCCL(ncclReduceScatter(r.in, r.out, 1024, kBfloat16, kAvg, r.comm, r.stream));
    NCCL(ncclBroadcast(r.in, r.out, 1 << 20, kInt8, 0, r.comm, r.stream));
  }
  NCCL(ncclGroupEnd());
  NCCL(ncclGroupStart());
  for (Rank& r : mine) {
    int rank = 0, ranks = 0;
    NCCL(ncclCommUserRank(r.comm, &rank));
    NCCL(ncclCommCount(r.comm, &ranks));
    NCCL(ncclSend(r.in, 1 << 20, kInt8, (rank + 1) % ranks, r.comm, r.stream));
    NCCL(ncclRecv(r.out, 1 << 20, kInt8, (rank + ranks - 1) % ranks, r.comm, r.stream));
  }
  NCCL(ncclGroupEnd());
  for (Rank& r : mine) {
    ncclResult_t state = ncclInternalError;
    NCCL(ncclCommGetAsyncError(r.comm, &state));
    check(state, "the communicator's state");
    CUDA(cudaStreamSynchronize(r.stream));
  }
}

std::vector<Rank> one(int rank, int ranks) {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  std::vector<Rank> mine(1);
  mine[0].device = rank % devices;
  mine[0].prepare();
  ncclUniqueId id;  // as if rank 0 had sent it
  NCCL(ncclGetUniqueId(&id));
  NCCL(ncclCommInitRank(&mine[0].comm, ranks, id, rank));
  int device = -1;
  NCCL(ncclCommCuDevice(mine[0].comm, &device));
  if (device != mine[0].device) std::exit(2);
  ncclRedOp_t scaled = 0;
  float factor = 0.5f;
  NCCL(ncclRedOpCreatePreMulSum(&scaled, &factor, kFloat32, kScalarHost, mine[0].comm));
  NCCL(ncclAllReduce(mine[0].in, mine[0].in, 4096, kFloat32, scaled, mine[0].comm, nullptr));
  NCCL(ncclRedOpDestroy(scaled, mine[0].comm));
  // In a rehearsal nobody sends ids, and this one may be what the memory held before.
  ncclComm_t second = nullptr;
  NCCL(ncclCommInitRank(&second, ranks, id, rank));
  NCCL(ncclBroadcast(mine[0].in, mine[0].in, 64, kInt8, 0, second, mine[0].stream));
  NCCL(ncclCommDestroy(second));
  void* own = nullptr;
  NCCL(ncclMemAlloc(&own, 4096));
  NCCL(ncclMemFree(own));
  return mine;
}

/// Every rank's own call, in a group, which runs them on threads.
void initByRank(std::vector<ncclComm_t>& comms) {
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  NCCL(ncclGroupStart());
  for (size_t i = 0; i < comms.size(); ++i) {
    CUDA(cudaSetDevice(static_cast<int>(i)));
    NCCL(ncclCommInitRank(&comms[i], static_cast<int>(comms.size()), id, static_cast<int>(i)));
  }
  NCCL(ncclGroupEnd());
}

std::vector<Rank> all(bool byRank) {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  std::vector<Rank> mine(static_cast<size_t>(devices));
  std::vector<ncclComm_t> comms(mine.size());
  if (byRank) {
    initByRank(comms);
  } else {
    NCCL(ncclCommInitAll(comms.data(), devices, nullptr));
  }
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i].device = static_cast<int>(i);
    mine[i].comm = comms[i];
    mine[i].prepare();
  }
  return mine;
}

/// Halves of the ranks, in the opposite order, and then all but rank 2.
void parts(std::vector<Rank>& mine) {
  std::vector<ncclComm_t> halves(mine.size()), rest(mine.size());
  const int ranks = static_cast<int>(mine.size());
  NCCL(ncclGroupStart());
  for (int i = 0; i < ranks; ++i) {
    const auto at = static_cast<size_t>(i);
    NCCL(ncclCommSplit(mine[at].comm, i / (ranks / 2), ranks - i, &halves[at], nullptr));
  }
  NCCL(ncclGroupEnd());
  int without[] = {2};
  for (int i = 0; i < ranks; ++i) {
    const auto at = static_cast<size_t>(i);
    int rank = -1, count = 0;
    NCCL(ncclCommUserRank(halves[at], &rank));
    NCCL(ncclCommCount(halves[at], &count));
    if (count != ranks / 2 || rank != ranks / 2 - 1 - i % (ranks / 2)) std::exit(3);
    NCCL(ncclAllReduce(mine[at].in, mine[at].out, 4096, kInt8, kSum, halves[at], mine[at].stream));
    if (i == without[0]) continue;
    NCCL(ncclCommShrink(mine[at].comm, without, 1, &rest[at], nullptr, 0));
    NCCL(ncclCommCount(rest[at], &count));
    if (count != ranks - 1) std::exit(4);
    NCCL(ncclAllReduce(mine[at].in, mine[at].out, 8192, kInt8, kSum, rest[at], mine[at].stream));
  }
  for (ncclComm_t comm : halves) NCCL(ncclCommDestroy(comm));
  for (ncclComm_t comm : rest) NCCL(ncclCommDestroy(comm));
}

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "all";
  const bool alone = std::strcmp(how, "one") == 0 && argc == 4;
  const bool leaves = std::strcmp(how, "leave") == 0;
  std::vector<Rank> mine = alone ? one(std::atoi(argv[2]), std::atoi(argv[3])) : all(leaves);
  const bool estimates = std::strcmp(how, "estimate") == 0;
  if (estimates || std::strcmp(how, "estimate-not") == 0) {
    estimate(mine, estimates);
  } else {
    work(mine);
  }
  if (leaves) return 0;  // as programs that end without cleaning up
  if (std::strcmp(how, "split") == 0) parts(mine);
  for (Rank& r : mine) r.finish();
}
