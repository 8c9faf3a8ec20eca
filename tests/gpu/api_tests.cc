// The C API on device memory: send and receive, registered memory, many communicators. The ranks
// are threads of this process on one GPU.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo_register.h"
#include "gpu/api_ranks.h"
#include "p2p/cuda_device.h"

namespace rondo::test {
namespace {

TEST(DeviceApi, SendReceiveGatherScatter) {
  for (const int ranks : {1, 2, 3}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kCount = 70001;
      Buffers b(me, 4 * kCount);
      good(rondoSendRecv(b.src.at(0), kCount, me.after(1), b.dst.at(0), kCount, me.before(1),
                         rondoInt32, comm, b.stream));
      me.launched();
      EXPECT_EQ(
          b.dst.wrong(b.stream, 0, kCount, [&](size_t i) { return element(me.before(1), i); }), 0u);
      me.loaded();
      // one after the other, as far as the library holds what is sent
      if (ranks > 1 && me.rank < 2) {
        if (me.rank == 0) {
          good(rondoSend(b.src.at(7), 100, rondoInt32, 1, comm, b.stream));
          good(rondoRecv(b.dst.at(0), 100, rondoInt32, 1, comm, b.stream));
        } else {
          good(rondoRecv(b.dst.at(0), 100, rondoInt32, 0, comm, b.stream));
          good(rondoSend(b.src.at(7), 100, rondoInt32, 0, comm, b.stream));
        }
        EXPECT_EQ(
            b.dst.wrong(b.stream, 0, 100, [&](size_t i) { return element(1 - me.rank, i + 7); }),
            0u);
      }
      me.loaded();
      const int root = ranks - 1;
      good(rondoGather(b.src.at(0), b.dst.at(0), 5000, rondoInt32, root, comm, b.stream));
      me.launched();
      if (me.rank == root) {
        EXPECT_EQ(
            b.dst.wrong(b.stream, 0, 5000 * static_cast<size_t>(ranks),
                        [&](size_t i) { return element(static_cast<int>(i / 5000), i % 5000); }),
            0u);
      }
      me.loaded();
      good(rondoScatter(b.src.at(0), b.dst.at(0), 5000, rondoInt32, root, comm, b.stream));
      me.launched();
      EXPECT_EQ(b.dst.wrong(b.stream, 0, 5000,
                            [&](size_t i) {
                              return element(root, i + 5000 * static_cast<size_t>(me.rank));
                            }),
                0u);
      me.loaded();
      // in place
      good(rondoGather(b.src.at(5000 * static_cast<size_t>(me.rank)), b.src.at(0), 5000, rondoInt32,
                       root, comm, b.stream));
      // nothing is sent, and nobody waits
      if (me.rank == 0) good(rondoSend(b.src.at(0), 0, rondoInt32, root, comm, b.stream));
      me.launched();
      check(waitFor(b.stream));
      me.meet();
      good(rondoCommDestroy(comm));
    });
  }
}

TEST(DeviceApi, RegisteredMemory) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kHalf = 9u << 19;
    rondoRegistration_t number = 0;
    Buffers b(me, 2 * kHalf);
    good(rondoCommRegister(comm, b.dst.at(0), 2 * kHalf * sizeof(int), RONDO_REGISTER_COPY_ENGINES,
                           &number));
    good(rondoAllGather(b.src.at(0), b.dst.at(0), kHalf, rondoInt32, comm, b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, 0, kHalf, [&](size_t i) { return element(0, i); }), 0u);
    EXPECT_EQ(b.dst.wrong(b.stream, kHalf, kHalf, [&](size_t i) { return element(1, i); }), 0u);
    good(rondoSendRecv(b.src.at(5), kHalf, me.after(1), b.dst.at(7), kHalf, me.before(1),
                       rondoInt32, comm, b.stream));
    EXPECT_EQ(
        b.dst.wrong(b.stream, 7, kHalf, [&](size_t i) { return element(me.before(1), i + 5); }),
        0u);
    EXPECT_EQ(rondoCommRegister(comm, b.src.at(0), 4, 3, &number), rondoInvalidArgument);
    rondoRegistration_t window = 0;
    EXPECT_EQ(rondoCommRegister(comm, nullptr, 0, RONDO_REGISTER_WINDOW, &window),
              rondoInvalidArgument);
    good(rondoCommRegister(comm, b.src.at(0), 4, RONDO_REGISTER_WINDOW, &window));
    if (me.rank == 0) good(rondoCommDeregister(comm, window));  // alone
    me.meet();
    if (me.rank == 1) good(rondoCommDeregister(comm, window));
    EXPECT_EQ(rondoCommDeregister(comm, window), rondoInvalidArgument);
    good(rondoGroupStart());
    EXPECT_EQ(rondoCommDeregister(comm, number), rondoInvalidUsage);
    good(rondoGroupEnd());
    good(rondoCommDeregister(comm, number));
    EXPECT_EQ(rondoCommDeregister(comm, number), rondoInvalidArgument);
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

// What only the kernels see: who asks hears of it without another call, and every call afterwards,
// on the host, too.
TEST(DeviceApi, WhatKernelsFindIsAnAsyncError) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id, RONDO_SM_BUDGET_NONE);
    constexpr size_t kSome = 1000;
    Buffers b(me, 3 * kSome);
    rondoRegistration_t number = 0;
    good(rondoCommRegister(comm, b.dst.at(0), 3 * kSome * sizeof(int), RONDO_REGISTER_COPY_ENGINES,
                           &number));
    const auto state = [&](size_t offset) {
      me.meet();
      good(rondoAllGather(b.src.at(0), b.dst.at(offset), kSome, rondoInt32, comm, b.stream));
      me.meet();
      check(waitFor(b.stream));
      me.meet();
      rondoResult_t now = rondoSuccess;
      good(rondoCommGetAsyncError(comm, &now));
      return now;
    };
    EXPECT_EQ(state(0), rondoSuccess);
    EXPECT_EQ(state(me.rank == 1 ? 8 : 0), rondoMismatch);
    const std::string why = rondoGetLastError(comm);
    EXPECT_NE(why.find("different places"), std::string::npos) << why;
    int one = 1, sum = 0;
    EXPECT_EQ(rondoAllReduce(&one, &sum, 1, rondoInt32, rondoSum, comm, nullptr), rondoMismatch);
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

// Each takes memory for the time of the call and gives it back on its stream, behind a kernel that
// waits: of a pool that both had, the second might get it with the order to wait for the first.
TEST(DeviceApi, ScaledSumsOfTwoCommunicatorsInOppositeOrders) {
  rondoUniqueId ids[2];
  onRanks(2, [&](const Rank& me) {
    constexpr size_t kCount = 50'000;
    rondoComm_t comms[2];
    rondoRedOp_t ops[2];
    const int by = me.rank + 2;
    for (size_t k : {0, 1}) {
      comms[k] = makeComm(me, &ids[k]);
      good(rondoRedOpCreatePreMulSum(&ops[k], &by, rondoInt32, rondoScalarHostImmediate, comms[k]));
    }
    Buffers b(me, 2 * kCount);
    const cudaStream_t streams[2] = {b.stream, newStream()};
    me.meet();
    for (int round = 0; round < 20; ++round) {
      for (size_t i : {0, 1}) {
        const size_t k = me.rank == 0 ? i : 1 - i;
        good(rondoAllReduce(b.src.at(k * kCount), b.dst.at(k * kCount), kCount, rondoInt32, ops[k],
                            comms[k], streams[k]));
      }
      for (const cudaStream_t each : streams) check(waitFor(each));
      EXPECT_EQ(b.dst.wrong(b.stream, 0, 2 * kCount,
                            [](size_t i) { return 2 * element(0, i) + 3 * element(1, i); }),
                0u);
      me.meet();
    }
    for (size_t k : {0, 1}) good(rondoRedOpDestroy(ops[k], comms[k]));
    me.meet();
    for (const rondoComm_t each : comms) good(rondoCommDestroy(each));
    check(cudaStreamDestroy(streams[1]));
  });
}

// A thread that has no context has none after any call, or its next communicator would be on what
// device CUDA's runtime takes by itself.
TEST(DeviceApi, TheCallersThreadStaysWithoutAContext) {
  rondoUniqueId id;
  Meeting meeting(2);
  const auto body = [&](int rank, int* memory, cudaStream_t stream) {
    const Rank me{rank, 2, meeting};
    for (int turn = 0; turn < 2; ++turn) {
      const rondoComm_t comm = makeComm(me, &id);
      EXPECT_EQ(currentCudaContext(), nullptr) << "made, turn " << turn;
      good(rondoAllReduce(memory, memory, 1000, rondoInt32, rondoSum, comm, stream));
      good(rondoSendRecv(memory, 500, me.after(1), memory + 500, 500, me.before(1), rondoInt32,
                         comm, stream));
      EXPECT_EQ(currentCudaContext(), nullptr) << "called, turn " << turn;
      good(rondoCommDestroy(comm));
      EXPECT_EQ(currentCudaContext(), nullptr) << "destroyed, turn " << turn;
    }
  };
  int devices = 1;
  check(cudaGetDeviceCount(&devices));
  std::vector<int*> memory(2);
  std::vector<cudaStream_t> streams(2);
  for (const int r : {1, 0}) {  // where a rank without a context is
    check(cudaSetDevice(r % devices));
    check(cudaMalloc(&memory[static_cast<size_t>(r)], 4096));
    streams[static_cast<size_t>(r)] = newStream();
  }
  std::vector<std::thread> threads;
  for (size_t r : {0, 1}) {
    threads.emplace_back(body, static_cast<int>(r), memory[r], streams[r]);
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t r : {0, 1}) {
    check(cudaStreamDestroy(streams[r]));
    check(cudaFree(memory[r]));
  }
}

// Refused by its rank, whose right stream serves then; the other rank notices nothing.
TEST(DeviceApi, AStreamOfAnotherContext) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  const auto call = [&](const char* name, auto... arguments) {
    void* const found = dlsym(driver, name);
    ASSERT_NE(found, nullptr) << name;
    ASSERT_EQ(reinterpret_cast<int (*)(decltype(arguments)...)>(found)(arguments...), 0) << name;
  };
  void* other = nullptr;
  cudaStream_t wrong = nullptr;
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));
  call("cuCtxCreate_v2", &other, 0u, 0);
  call("cuStreamCreate", &wrong, 1u);
  void* popped = nullptr;
  call("cuCtxPopCurrent_v2", &popped);
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 1000);
    const auto sum = [&](cudaStream_t stream) {
      return rondoAllReduce(b.src.at(0), b.dst.at(0), 1000, rondoInt32, rondoSum, comm, stream);
    };
    const auto pass = [&](cudaStream_t stream) {
      return rondoSendRecv(b.src.at(0), 1000, me.after(1), b.dst.at(0), 1000, me.before(1),
                           rondoInt32, comm, stream);
    };
    const auto refused = [](rondoResult_t result) {
      const std::string sentence = rondoGetLastError(nullptr);
      EXPECT_EQ(result, rondoInvalidArgument) << sentence;
      for (const char* part : {"launching", "argument stream is 0x", "in another context",
                               "allowed: one of device 0"}) {
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
      }
    };
    if (me.rank == 0) refused(sum(wrong));
    good(sum(b.stream));
    EXPECT_EQ(
        b.dst.wrong(b.stream, 0, 1000, [](size_t i) { return element(0, i) + element(1, i); }), 0u);
    me.loaded();
    if (me.rank == 1) refused(pass(wrong));
    good(pass(b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 1000, [&](size_t i) { return element(me.before(1), i); }),
              0u);
    me.meet();
    good(rondoCommDestroy(comm));
  });
  call("cuCtxDestroy_v2", other);
}

// Fifty communicators, used in turn and at once, on streams of their own and in opposite orders. In
// step one pair of kernels after the other, in both parts: under the tools a rank that launches
// more than the other one has makes each pair wait until its bound.
TEST(DeviceApi, FiftyCommunicators) {
  constexpr int kComms = 50;
  std::vector<rondoUniqueId> ids(kComms);
  std::atomic<uint64_t> first{0}, further{0};
  onRanks(2, [&](const Rank& me) {
    const auto begin = std::chrono::steady_clock::now();
    const auto used = [&] {
      me.meet();
      size_t free = 0, total = 0;
      check(cudaMemGetInfo(&free, &total));
      me.meet();
      return total - free;
    };
    Buffers b(me, 200 * kComms);
    std::vector<rondoComm_t> comms;
    std::vector<cudaStream_t> streams;
    const size_t before = used();
    comms.push_back(makeComm(me, &ids[0], 8));
    const size_t one = used();
    for (int c = 1; c < kComms; ++c) comms.push_back(makeComm(me, &ids[static_cast<size_t>(c)], 1));
    const size_t all = used();
    first = (one - before) / 2;
    further = (all - one) / (2 * (kComms - 1));
    for (int c = 0; c < kComms; ++c) streams.push_back(newStream());
    me.meet();
    const auto shown = [&](const char* what) {
      if (!inStep() || me.rank != 0) return;
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      std::printf("%d communicators %s, %.1f s\n", kComms, what, time.count());
      std::fflush(stdout);
    };
    shown("are made");
    // In step ranks meet before they wait for a call, and before the next; the first that nobody
    // met is the last.
    bool stood = false;
    const auto use = [&](int c, cudaStream_t stream) {
      const size_t at = 200 * static_cast<size_t>(c);
      const rondoComm_t comm = comms[static_cast<size_t>(c)];
      if (!stood) {
        good(rondoAllReduce(b.src.at(at), b.dst.at(at), 200, rondoInt32, rondoSum, comm, stream));
      }
      if (!inStep()) return;
      me.launched();
      if (!stood) {
        check(waitFor(stream));
        rondoResult_t state = rondoSuccess;
        good(rondoCommGetAsyncError(comm, &state));
        EXPECT_EQ(state, rondoSuccess) << "communicator " << c << ": " << rondoGetLastError(comm);
        stood = state != rondoSuccess;
      }
      me.meet();
    };
    const auto wrong = [&] {
      for (const cudaStream_t stream : streams) check(waitFor(stream));
      const size_t bad = b.dst.wrong(b.stream, 0, 200 * kComms,
                                     [](size_t i) { return element(0, i) + element(1, i); });
      b.dst.fill(b.stream, [](size_t) { return -1; });
      me.meet();
      return bad;
    };
    for (int c = 0; c < kComms; ++c) use(c, b.stream);
    check(waitFor(b.stream));
    shown("have had their turn");
    EXPECT_EQ(wrong(), 0u) << "in turn";
    for (int round = 0; round < 3; ++round) {
      for (int k = 0; k < kComms; ++k) {
        const int c = me.rank == 0 || inStep() ? k : kComms - 1 - k;
        use(c, streams[static_cast<size_t>(c)]);
      }
      EXPECT_EQ(wrong(), 0u) << "at once";
      shown("were used at once");
    }
    me.meet();
    for (const cudaStream_t stream : streams) check(cudaStreamDestroy(stream));
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
  });
  std::printf("GPU memory of a rank: %.1f MiB for a communicator of 16 blocks, %.1f for one of 2\n",
              static_cast<double>(first) / (1 << 20), static_cast<double>(further) / (1 << 20));
  if (inStep()) return;  // a tool takes memory of its own
  EXPECT_LE(further, uint64_t{4} << 20);
}

// When all of the device is promised, a further communicator says so.
TEST(DeviceApi, BudgetsEnd) {
  std::vector<rondoUniqueId> ids(400);
  onRanks(1, [&](const Rank& me) {
    Buffers b(me, 10);
    std::vector<rondoComm_t> comms;
    rondoResult_t result = rondoSuccess;
    while (result == rondoSuccess && comms.size() < ids.size()) {
      comms.push_back(makeComm(me, &ids[comms.size()]));
      result = rondoAllReduce(b.src.at(0), b.dst.at(0), 10, rondoInt32, rondoSum, comms.back(),
                              b.stream);
    }
    EXPECT_EQ(result, rondoUnsupported);
    const std::string why = rondoGetLastError(nullptr);
    EXPECT_NE(why.find("config.smBudget"), std::string::npos) << why;
    EXPECT_GT(comms.size(), 50u);
    check(waitFor(b.stream));
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
    // and then there is room again
    comms.assign(1, makeComm(me, &ids[0]));
    good(rondoAllReduce(b.src.at(0), b.dst.at(0), 10, rondoInt32, rondoSum, comms[0], b.stream));
    check(waitFor(b.stream));
    good(rondoCommDestroy(comms[0]));
  });
}

}  // namespace
}  // namespace rondo::test
