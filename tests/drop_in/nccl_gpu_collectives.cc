// Results of all collectives on device memory.

#include <cstring>

#include "drop_in/nccl_machine.h"

namespace nccl_test {

void reductions(Machine& machine, Comms& comms, const Type& type, size_t count) {
  const int n = machine.ranks();
  const auto comm = [&](int r) { return comms[static_cast<size_t>(r)]; };
  for (const int op : {kSum, kProd, kMax, kMin, kAvg}) {
    if (op == kAvg && type.type < kFloat16) continue;  // truncated: another formula
    fill(machine, type, count);
    const auto want = [&](size_t i) { return reduced(op, n, i); };
    machine.group(
        [&](int r) {
          return ncclAllReduce(machine[r].in, machine[r].out, count, type.type, op, comm(r),
                               machine[r].stream);
        },
        "ncclAllReduce");
    machine.group(
        [&](int r) {  // in place
          return ncclReduce(machine[r].in, machine[r].in, count, type.type, op, n - 1, comm(r),
                            machine[r].stream);
        },
        "ncclReduce");
    machine.wait();
    for (int r = 0; r < n; ++r) compare(type, machine[r].out, count, want, "ncclAllReduce");
    compare(type, machine[n - 1].in, count, want, "ncclReduce");
  }
  const size_t all = count * static_cast<size_t>(n);
  fill(machine, type, all);
  machine.group(
      [&](int r) {
        return ncclReduceScatter(machine[r].in, machine[r].out, count, type.type, kSum, comm(r),
                                 machine[r].stream);
      },
      "ncclReduceScatter");
  machine.wait();
  for (int r = 0; r < n; ++r) {
    const size_t first = count * static_cast<size_t>(r);
    compare(
        type, machine[r].out, count, [&](size_t i) { return reduced(kSum, n, first + i); },
        "ncclReduceScatter");
  }
}

void movements(Machine& machine, Comms& comms, const Type& type, size_t count) {
  const int n = machine.ranks();
  const auto comm = [&](int r) { return comms[static_cast<size_t>(r)]; };
  const size_t all = count * static_cast<size_t>(n);
  const auto run = [&](const char* what, const std::function<ncclResult_t(int)>& call) {
    fill(machine, type, all);
    machine.group(call, what);
    machine.wait();
  };
  run("ncclBroadcast", [&](int r) {
    return ncclBroadcast(machine[r].in, machine[r].out, count, type.type, 1, comm(r),
                         machine[r].stream);
  });
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, count, [](size_t i) { return valueOf(1, i); }, "ncclBroadcast");
  }
  run("ncclAllGather", [&](int r) {
    return ncclAllGather(machine[r].in, machine[r].out, count, type.type, comm(r),
                         machine[r].stream);
  });
  const auto gathered = [&](size_t i) { return valueOf(static_cast<int>(i / count), i % count); };
  for (int r = 0; r < n; ++r) compare(type, machine[r].out, all, gathered, "ncclAllGather");
  run("ncclGather", [&](int r) {
    return ncclGather(machine[r].in, machine[r].out, count, type.type, 0, comm(r),
                      machine[r].stream);
  });
  compare(type, machine[0].out, all, gathered, "ncclGather");
  run("ncclScatter", [&](int r) {
    return ncclScatter(machine[r].in, machine[r].out, count, type.type, 0, comm(r),
                       machine[r].stream);
  });
  for (int r = 0; r < n; ++r) {
    const size_t first = count * static_cast<size_t>(r);
    compare(
        type, machine[r].out, count, [&](size_t i) { return valueOf(0, first + i); },
        "ncclScatter");
  }
  run("ncclAlltoAll", [&](int r) {
    return ncclAlltoAll(machine[r].in, machine[r].out, count, type.type, comm(r),
                        machine[r].stream);
  });
  for (int r = 0; r < n; ++r) {
    const size_t first = count * static_cast<size_t>(r);
    compare(
        type, machine[r].out, all,
        [&](size_t i) { return valueOf(static_cast<int>(i / count), first + i % count); },
        "ncclAlltoAll");
  }
  run("ncclSend and ncclRecv", [&](int r) {
    nccl(ncclRecv(machine[r].out, count, type.type, (r + n - 1) % n, comm(r), machine[r].stream),
         "ncclRecv");
    return ncclSend(machine[r].in, count, type.type, (r + 1) % n, comm(r), machine[r].stream);
  });
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, count, [&](size_t i) { return valueOf((r + n - 1) % n, i); },
        "ncclRecv");
  }
}

/// Where a scalar is.
enum class Scalar { kHost, kDevice, kPinned };

/// For a stream, to put a scalar where its call, enqueued behind, is to read it.
struct LateScalar {
  unsigned char* at;
  unsigned char value[8];
  static void put(void* late) {
    const auto& self = *static_cast<LateScalar*>(late);
    std::memcpy(self.at, self.value, sizeof self.value);
  }
};

/// Rank r multiplies by r + 2; from page-locked memory it is written by the stream just before.
void operators(Machine& machine, Comms& comms, const Type& type, size_t count) {
  const int n = machine.ranks();
  const auto comm = [&](int r) { return comms[static_cast<size_t>(r)]; };
  std::vector<unsigned char*> scalars(static_cast<size_t>(n)), pinned(static_cast<size_t>(n));
  std::vector<LateScalar> late(static_cast<size_t>(n));
  for (const Scalar where : {Scalar::kHost, Scalar::kDevice, Scalar::kPinned}) {
    fill(machine, type, count * static_cast<size_t>(n));
    std::vector<ncclRedOp_t> ops(static_cast<size_t>(n));
    for (int r = 0; r < n; ++r) {
      unsigned char element[8];
      type.put(r + 2, element);
      void* scalar = element;
      cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
      if (where == Scalar::kPinned) {
        unsigned char*& at = pinned[static_cast<size_t>(r)];
        cuda(cudaMallocHost(reinterpret_cast<void**>(&at), sizeof element), "page-locked memory");
        type.put(1, at);
        LateScalar& later = late[static_cast<size_t>(r)];
        later.at = at;
        std::memcpy(later.value, element, sizeof element);
        cuda(cudaLaunchHostFunc(machine[r].stream, &LateScalar::put, &later), "a host function");
        scalar = at;
      }
      if (where == Scalar::kDevice) {
        unsigned char*& at = scalars[static_cast<size_t>(r)];
        cuda(cudaMalloc(&at, 8), "memory");
        cuda(cudaMemcpy(at, element, type.bytes, cudaMemcpyHostToDevice), "the scalar");
        cuda(cudaDeviceSynchronize(), "the scalar");
        scalar = at;
      }
      nccl(ncclRedOpCreatePreMulSum(&ops[static_cast<size_t>(r)], scalar, type.type,
                                    where == Scalar::kHost ? kScalarHost : kScalarDevice, comm(r)),
           "ncclRedOpCreatePreMulSum");
    }
    const auto want = [&](size_t i) {
      double sum = 0;
      for (int r = 0; r < n; ++r) sum += (r + 2) * valueOf(r, i);
      return sum;
    };
    machine.group(
        [&](int r) {
          const ncclRedOp_t op = ops[static_cast<size_t>(r)];
          return ncclReduceScatter(machine[r].in, machine[r].out, count, type.type, op, comm(r),
                                   machine[r].stream);
        },
        "a scaled ncclReduceScatter");
    machine.wait();
    for (int r = 0; r < n; ++r) {
      const size_t first = count * static_cast<size_t>(r);
      compare(
          type, machine[r].out, count, [&](size_t i) { return want(first + i); },
          "a scaled ncclReduceScatter");
    }
    // Two groups: calls of one may not need each other's results.
    machine.group(
        [&](int r) {
          return ncclReduce(machine[r].in, machine[r].out, count, type.type,
                            ops[static_cast<size_t>(r)], 0, comm(r), machine[r].stream);
        },
        "a scaled ncclReduce");
    machine.group(
        [&](int r) {
          return ncclAllReduce(machine[r].in, machine[r].in, count, type.type,
                               ops[static_cast<size_t>(r)], comm(r), machine[r].stream);
        },
        "a scaled ncclAllReduce");
    machine.wait();
    compare(type, machine[0].out, count, want, "a scaled ncclReduce");
    for (int r = 0; r < n; ++r) {
      compare(type, machine[r].in, count, want, "a scaled ncclAllReduce");
      nccl(ncclRedOpDestroy(ops[static_cast<size_t>(r)], comm(r)), "ncclRedOpDestroy");
    }
  }
  for (unsigned char* scalar : scalars) cuda(cudaFree(scalar), "cudaFree");
  for (unsigned char* scalar : pinned) cuda(cudaFreeHost(scalar), "cudaFreeHost");
}

}  // namespace nccl_test
