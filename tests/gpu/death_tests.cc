// What becomes of kernels that wait for a rank which does not come: killed, revoked, late, in
// another call, gone. Ranks are processes, on as many GPUs as there are; this process has no CUDA.
// In each: the streams end, within a second where it is a death; the sentence names who it was;
// CUDA works as before; those who are left go on with a communicator of their own.

#include <gtest/gtest.h>

#include "gpu/death_rank.h"

namespace rondo::chaos {
namespace {

void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

/// Kills rank 1 once all are ready.
void killOne(Shared& shared, int ranks) {
  while (shared.ready < ranks) usleep(1000);
  usleep(200000);
  shared.killedAt = nowMs();
  kill(shared.pids[1], SIGKILL);
}

Outcome killInSums(int ranks) {
  return run(
      ranks,
      [](const Me& me) {
        Gpu gpu(me);
        gpu.begin();
        gpu.sumUntilBroken();
        me.note().errorMs = nowMs() - me.shared->killedAt;
        me.check(me.note().errorMs < 1000 * slack(),
                 "it took " + std::to_string(me.note().errorMs));
        gpu.checkBroken(rondoRemoteError, {"rank 1 (host", "was killed by signal 9 (Killed)"});
        gpu.checkCuda();
        gpu.goOn(me.size - 1);
      },
      [ranks](Shared& shared) { killOne(shared, ranks); }, 1);
}

TEST(DeviceDeath, KilledInTheMiddleOfSums) {
  const Outcome outcome = killInSums(2);
  expectGood(outcome);
  std::printf("kill to error: %d ms\n", static_cast<int>(outcome.notes[0].errorMs));
}

/// Ranks that share a GPU take turns on it.
TEST(DeviceDeath, KilledWhereRanksShareAGpu) {
  const Outcome outcome = killInSums(3);
  expectGood(outcome);
  std::printf("kill to error: %d and %d ms\n", static_cast<int>(outcome.notes[0].errorMs),
              static_cast<int>(outcome.notes[2].errorMs));
}

TEST(DeviceDeath, KilledWhileAMessageIsAwaited) {
  expectGood(run(
      2,
      [](const Me& me) {
        Gpu gpu(me);
        gpu.begin();
        me.ok(rondoRecv(gpu.out, kCount, rondoInt32, 1 - me.rank, gpu.comm, gpu.stream), gpu.comm,
              "rondoRecv");
        gpu.end();
        me.check(nowMs() - me.shared->killedAt < 1000 * slack(), "it took too long");
        gpu.checkBroken(rondoRemoteError, {"rank 1 (host", "was killed by signal 9 (Killed)"});
        gpu.checkCuda();
        gpu.goOn(1);
      },
      [](Shared& shared) { killOne(shared, 2); }, 1));
}

/// What a rank does that does not come to the second sum, and what the others then hear.
Outcome absent(const std::function<void(const Me&, Gpu&)>& instead, rondoResult_t wanted,
               const std::vector<std::string>& parts, int timeout = 0, bool goesOn = true) {
  return run(2, [&](const Me& me) {
    Gpu gpu(me, timeout);
    gpu.begin();
    const int64_t before = nowMs();
    if (me.rank == 1) {
      instead(me, gpu);
    } else {
      me.ok(gpu.sum(gpu.comm), gpu.comm, "a sum that rank 1 does not make");
    }
    gpu.end();
    me.note().errorMs = nowMs() - before;
    me.check(me.note().errorMs < 3000 * slack(), "it took " + std::to_string(me.note().errorMs));
    ++me.shared->done;
    while (me.shared->done < 2) usleep(1000);
    if (gpu.comm == nullptr) return;
    gpu.checkBroken(wanted, parts);
    gpu.checkCuda();
    if (goesOn) gpu.goOn(2);
  });
}

TEST(DeviceDeath, ARevocationEndsTheKernelsOfOthers) {
  expectGood(absent(
      [](const Me& me, Gpu& gpu) {
        usleep(300000);
        me.ok(rondoCommRevoke(gpu.comm), gpu.comm, "rondoCommRevoke");
      },
      rondoRemoteError, {"rank 1 aborted communicator \"comm\""}));
}

TEST(DeviceDeath, ATimeoutNamesWhoHasNotCalled) {
  expectGood(absent(
      [](const Me&, Gpu& gpu) {
        while (gpu.state() == rondoSuccess) usleep(10000);
      },
      rondoRemoteError,
      {"config.timeout of 500 ms (or RONDO_TIMEOUT_MS) has passed: communicator",
       "a kernel of rank 0 (host", "collective 2 there, allreduce with count 262144",
       ". Not in that call yet: rank 1 (host", "last called collective 1 there"},
      500));
}

TEST(DeviceDeath, CallsThatDifferAreNamed) {
  expectGood(
      absent([](const Me& me, Gpu& gpu) { me.ok(gpu.sum(gpu.comm, 100), gpu.comm, "another sum"); },
             rondoMismatch,
             {"rank 0 calls allreduce with count 262144, datatype int32, op sum where rank 1 calls "
              "allreduce with count 100, datatype int32, op sum: both are collective 2 on device "
              "memory of "
              "communicator \"comm\""}));
}

TEST(DeviceDeath, ARankThatLeavesIsNamed) {
  expectGood(absent(
      [](const Me& me, Gpu& gpu) {
        me.ok(rondoCommDestroy(gpu.comm), nullptr, "rondoCommDestroy");
        gpu.comm = nullptr;
      },
      rondoRemoteError, {"rank 1 (host", "has let go of it and takes no part in this call"}, 0,
      false));
}

TEST(DeviceDeath, AStallIsReported) {
  setenv("RONDO_STALL_SECONDS", "1", 1);
  const Outcome outcome = run(2, [](const Me& me) {
    Gpu gpu(me);
    gpu.begin();
    if (me.rank == 1) me.check(somethingIsSaid(), "no report came");
    me.ok(gpu.sum(gpu.comm), gpu.comm, "a sum");
    gpu.end();
    gpu.checkSum(2);
    rondoCommDestroy(gpu.comm);
  });
  unsetenv("RONDO_STALL_SECONDS");
  expectGood(outcome);
  const std::string& said = outcome.errors;
  EXPECT_NE(said.find("rondo: stall: communicator \"comm\": a kernel of rank 0 (host"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(". Not in that call yet: rank 1 (host"), std::string::npos) << said;
}

/// A rank's context, and with it all its memory, goes away under it: what it says then reaches the
/// others, and it can destroy what it has.
TEST(DeviceDeath, AContextThatIsReset) {
  expectGood(run(2, [](const Me& me) {
    Gpu gpu(me);
    gpu.begin();
    if (me.rank == 0) {
      me.ok(gpu.sum(gpu.comm), gpu.comm, "a sum that rank 1 does not make");
      gpu.end();
      gpu.checkBroken(rondoRemoteError, {"rank 1 aborted communicator \"comm\""});
      gpu.checkCuda();
      me.ok(rondoCommDestroy(gpu.comm), nullptr, "rondoCommDestroy");
      return;
    }
    gpu.ok(cudaDeviceReset(), "cudaDeviceReset");
    usleep(200000);  // the progress thread looks meanwhile
    me.ok(rondoCommRevoke(gpu.comm), gpu.comm, "rondoCommRevoke");
    me.ok(rondoCommDestroy(gpu.comm), nullptr, "rondoCommDestroy");
  }));
}

/// Both ranks are threads of one process, on one GPU.
TEST(DeviceDeath, AnAbortByAnotherThread) {
  expectGood(run(1, [](const Me& me) {
    rondoComm_t comms[2] = {};
    const int devices[2] = {0, 0};
    me.ok(rondoCommInitAll(comms, 2, devices, nullptr), nullptr, "rondoCommInitAll");
    int* memory = nullptr;
    cudaStream_t stream = nullptr;
    me.check(cudaSetDevice(0) == cudaSuccess && cudaMalloc(&memory, 4096) == cudaSuccess &&
                 cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess,
             "CUDA");
    me.ok(rondoAllReduce(memory, memory, 100, rondoInt32, rondoSum, comms[0], stream), comms[0],
          "a sum that rank 1 does not make");
    std::thread other([&] {
      usleep(300000);
      me.ok(rondoCommAbort(comms[1]), nullptr, "rondoCommAbort");
    });
    const int64_t before = nowMs();
    me.check(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
    me.check(nowMs() - before < 2000 * slack(), "it took too long");
    other.join();
    rondoResult_t state = rondoSuccess;
    me.ok(rondoCommGetAsyncError(comms[0], &state), comms[0], "rondoCommGetAsyncError");
    me.check(state == rondoRemoteError &&
                 std::string(rondoGetLastError(comms[0])).find("rank 1 aborted communicator") !=
                     std::string::npos,
             rondoGetLastError(comms[0]));
    me.check(cudaMemset(memory, 0, 4096) == cudaSuccess, "a kernel afterwards");
    me.ok(rondoCommDestroy(comms[0]), nullptr, "rondoCommDestroy");
  }));
}

}  // namespace
}  // namespace rondo::chaos

int main(int argc, char** argv) {
  rondo::chaos::prepareCuda();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
