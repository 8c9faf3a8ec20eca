// Real deaths, stops and departures of processes; seeds are printed. RONDO_CHAOS_RUNS says how many
// ordeals, RONDO_CHAOS_SEED the first one's seed.

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "api/handle.h"
#include "chaos/ordeal.h"
#include "p2p/segment.h"

namespace rondo::chaos {
namespace {

uint64_t number(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

/// No rank failed a check.
void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

int sumOfRanks(rondoComm_t comm, const Me& me, rondoResult_t* result) {
  int in = me.rank, out = -1;
  *result = rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, comm, nullptr);
  return out;
}

/// The call must end in rondoRemoteError with `part` in its sentence.
void checkRemote(const Me& me, rondoResult_t result, const std::string& part) {
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == rondoRemoteError && sentence.find(part) != std::string::npos,
           format("gave %d: %s", result, sentence.c_str()));
}

TEST(Chaos, Kills) {
  const uint64_t runs = number("RONDO_CHAOS_RUNS", 2 * kPhases);
  const uint64_t first = number("RONDO_CHAOS_SEED", 1);
  std::vector<int64_t> errors, shrinks;
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    const Plan plan = planOf(seed);
    Outcome outcome;
    const std::string wrong = runOrdeal(plan, &outcome);
    EXPECT_EQ(wrong, "");
    EXPECT_EQ(outcome.errors, "") << planText(plan);
    for (int r = 0; r < plan.size && wrong.empty(); ++r) {
      const Note& note = outcome.notes[static_cast<size_t>(r)];
      if (r == plan.victim || r == plan.second) continue;
      errors.push_back(note.errorMs);
      shrinks.push_back(note.shrinkMs);
    }
    if (wrong.empty()) std::printf("%s: good\n", planText(plan).c_str());
  }
  std::sort(errors.begin(), errors.end());
  std::sort(shrinks.begin(), shrinks.end());
  ASSERT_FALSE(errors.empty());
  std::printf("kill to error: median %d ms, most %d ms; last shrink: median %d ms, most %d ms\n",
              static_cast<int>(errors[errors.size() / 2]), static_cast<int>(errors.back()),
              static_cast<int>(shrinks[shrinks.size() / 2]), static_cast<int>(shrinks.back()));
}

TEST(Chaos, TheSentenceSaysWhatTheDeadWasAt) {
  const Outcome outcome = run(
      3,
      [](const Me& me) {
        rondoComm_t comm = me.join();
        rondoResult_t result = rondoSuccess;
        sumOfRanks(comm, me, &result);
        rondoBarrier(comm, nullptr);
        if (me.rank == 1) _exit(3);
        sumOfRanks(comm, me, &result);
        checkRemote(me, result, "ended with exit status 3; it was after collective 2, barrier");
        rondoCommDestroy(comm);
      },
      {}, 1);
  expectGood(outcome);
}

/// As a rank with a device writes it down; there is none here.
void noteLaunch(rondoComm_t comm, bool transfer) {
  OpFacts facts;
  facts.collective = transfer ? OpFacts::kTransfers : static_cast<uint8_t>(Collective::Barrier);
  facts.transfers = transfer ? 1 : 0;
  facts.count = 64;
  facts.sequence = 7;
  comm->impl->recorder().launch(facts);
  comm->impl->recorder().launched(facts);
}

/// As on kernels before 5.3, and in containers that do not know the call; false: not possible here.
bool refuseProcessDescriptors() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(steps)), steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return false;
  return syscall(SYS_pidfd_open, getpid(), 0) < 0;
}

TEST(Chaos, ADeathIsNoticedWithoutProcessDescriptors) {
  for (const bool byExit : {false, true}) {
    const Outcome outcome = run(
        3,
        [byExit](const Me& me) {
          if (me.rank != 1 && !refuseProcessDescriptors()) {
            me.check(false, "no seccomp");
          }
          rondoComm_t comm = me.join();
          rondoResult_t result = rondoSuccess;
          me.check(sumOfRanks(comm, me, &result) == 3, "the first sum");
          if (me.rank == 2) {
            // A child has what its parent watches by and is watched by, and lives on.
            if (fork() == 0) {
              usleep(3000000);
              _exit(0);
            }
            me.die(byExit);
          }
          const int64_t start = nowMs();
          checkRemote(me, rondoBarrier(comm, nullptr), "ended; it was after collective 1");
          me.check(nowMs() - start < 2000 * slack(), "it took long");
          me.ok(rondoCommDestroy(comm), nullptr, "destroy");
        },
        {}, 2);
    if (outcome.failure.find("no seccomp") != std::string::npos) GTEST_SKIP() << "no seccomp";
    expectGood(outcome);
    EXPECT_EQ(outcome.errors, "");
  }
}

TEST(Chaos, TheSentenceCountsCallsOnDeviceMemory) {
  for (const bool transfer : {false, true}) {
    for (const bool called : {false, true}) {
      expectGood(run(
          2,
          [&](const Me& me) {
            rondoComm_t comm = me.join();
            if (called) rondoBarrier(comm, nullptr);
            if (me.rank == 1) {
              noteLaunch(comm, transfer);
              _exit(3);
            }
            const std::string before = called ? "collective 1, barrier, and after " : "";
            checkRemote(me, rondoBarrier(comm, nullptr),
                        "ended with exit status 3; it was after " + before + "its launch of " +
                            (transfer ? "a receive of 64 bytes from rank 0 on device memory"
                                      : "collective 7 on device memory, barrier"));
            rondoCommDestroy(comm);
          },
          {}, 1));
    }
  }
}

TEST(Chaos, AStoppedProcessIsNotDeadButAStall) {
  setenv("RONDO_STALL_SECONDS", "1", 1);
  const Outcome outcome = run(
      3,
      [](const Me& me) {
        rondoComm_t comm = me.join();
        int going = 1;
        for (int calls = 0; going != 0; ++calls) {
          if (calls == 100) ++me.shared->ready;
          const int mine = me.shared->moreMade == 0 ? 1 : 0;
          me.ok(rondoAllReduce(&mine, &going, 1, rondoInt32, rondoMax, comm, nullptr), comm,
                "an all-reduce beside a stopped process");
        }
        rondoCommDestroy(comm);
      },
      [](Shared& shared) {
        while (shared.ready < 3) usleep(1000);
        kill(shared.pids[1], SIGSTOP);
        somethingIsSaid();
        kill(shared.pids[1], SIGCONT);
        shared.moreMade = 1;
      });
  unsetenv("RONDO_STALL_SECONDS");
  expectGood(outcome);
  const std::string& said = outcome.errors;
  EXPECT_NE(said.find("rondo: stall: communicator \"comm\""), std::string::npos) << said;
  EXPECT_NE(said.find("allreduce with count 1, datatype int32, op max"), std::string::npos) << said;
  EXPECT_NE(said.find("rank 1 (host"), std::string::npos) << said;
  const size_t where = said.find(". Where: rank 1 ");
  EXPECT_NE(where, std::string::npos) << said;
  EXPECT_NE(said.find(", its process is stopped (SIGSTOP, or a terminal's)", where),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(". More: rondo-status "), std::string::npos) << said;
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

TEST(Chaos, ARankThatLeavesIsAnErrorForThoseWhoNeedIt) {
  const Outcome outcome = run(3, [](const Me& me) {
    rondoComm_t comm = me.join();
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    if (me.rank == 2) {
      rondoCommDestroy(comm);
      while (me.shared->done < 2) usleep(1000);
      return;
    }
    checkRemote(me, rondoBarrier(comm, nullptr), "has let go of it");
    ++me.shared->done;
    rondoCommDestroy(comm);
  });
  expectGood(outcome);
}

TEST(Chaos, ARankThatLeavesAndEndsIsNoErrorForOthers) {
  const Outcome outcome = run(3, [](const Me& me) {
    rondoComm_t comm = me.join();
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    if (me.rank == 2) {
      rondoCommDestroy(comm);
      return;
    }
    usleep(300000);
    int in = me.rank, out = -1;
    for (int i = 0; i < 3; ++i) {
      rondoGroupStart();
      rondoSend(&in, 1, rondoInt32, 1 - me.rank, comm, nullptr);
      rondoRecv(&out, 1, rondoInt32, 1 - me.rank, comm, nullptr);
      me.ok(rondoGroupEnd(), comm, "an exchange of those who stay");
      me.check(out == 1 - me.rank, "a wrong message");
    }
    rondoCommDestroy(comm);
  });
  expectGood(outcome);
}

TEST(Chaos, WhoDiesAfterOthersHaveLeftHoldsNoneOfTheirMemory) {
  const Outcome outcome = run(3, [](const Me& me) {
    rondoComm_t comm = me.join();
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    if (me.rank == 2) {
      while (me.shared->done < 2) usleep(1000);
      me.die();
    }
    const int before = openDescriptors();
    me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
    me.check(Segment::own().poolUsed() != 0, "the memory is free while a peer may read it");
    ++me.shared->done;
    for (int i = 0; i < 10000 && Segment::own().poolUsed() != 0; ++i) usleep(1000);
    me.check(Segment::own().poolUsed() == 0, "the memory is still in use");
    me.check(openDescriptors() == before - 2, "the dead one is still watched");
  });
  expectGood(outcome);
}

/// This process, all threads, while it makes no call; in microseconds of CPU time.
int64_t idleCost(const Me& me) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  usleep(400000);
  getrusage(RUSAGE_SELF, &after);
  const auto us = [](const rusage& u) {
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
  };
  const int64_t cost = us(after) - us(before);
  me.check(cost < 10000, format("%d us of CPU in 400 ms", static_cast<int>(cost)));
  return cost;
}

TEST(Chaos, WaitingForNothingCostsNothing) {
  const Outcome outcome = run(2, [](const Me& me) {
    rondoComm_t comm = me.join();
    idleCost(me);
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    rondoCommDestroy(comm);
  });
  expectGood(outcome);
}

TEST(Chaos, AfterADeathSurvivorsAreIdle) {
  const Outcome outcome = run(
      4,
      [](const Me& me) {
        rondoComm_t comm = me.join(), rest = nullptr;
        rondoResult_t result = rondoSuccess;
        sumOfRanks(comm, me, &result);
        if (me.rank == 1) me.die();
        sumOfRanks(comm, me, &result);
        checkRemote(me, result, "rank 1 (host");
        const int64_t broken = idleCost(me);
        me.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT), comm,
              "rondoCommShrink");
        me.check(sumOfRanks(rest, me, &result) == 0 + 2 + 3, "a wrong sum of the survivors");
        const int64_t shrunk = idleCost(me);
        std::printf("rank %d: %d us of CPU in 400 ms after the error, %d after the shrink\n",
                    me.rank, static_cast<int>(broken), static_cast<int>(shrunk));
        std::fflush(stdout);
        me.ok(rondoBarrier(rest, nullptr), rest, "a barrier");
        rondoCommDestroy(rest);
        rondoCommDestroy(comm);
      },
      {}, 1);
  expectGood(outcome);
}

TEST(Chaos, RevokedOrSoundCommunicatorsShrinkToo) {
  const Outcome outcome = run(4, [](const Me& me) {
    rondoComm_t comm = me.join(), rest = nullptr;
    if (me.rank == 3) me.ok(rondoCommRevoke(comm), comm, "rondoCommRevoke");
    if (me.rank != 3) {
      rondoResult_t result = rondoSuccess;
      sumOfRanks(comm, me, &result);
      checkRemote(me, result, "rank 3 aborted communicator \"comm\"");
    }
    // Nobody is dead: all four go on.
    me.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT), comm, "shrink");
    rondoResult_t result = rondoSuccess;
    me.check(sumOfRanks(rest, me, &result) == 6, "a wrong sum of four");
    // Without ranks 0 and 2, which are alive, on a sound communicator.
    const int without[] = {0, 2};
    if (me.rank % 2 == 1) {
      rondoComm_t two = nullptr;
      me.ok(rondoCommShrink(rest, without, 2, &two, nullptr, RONDO_SHRINK_DEFAULT), rest, "shrink");
      me.check(sumOfRanks(two, me, &result) == 4, "a wrong sum of two");
      rondoCommDestroy(two);
    }
    me.check(sumOfRanks(rest, me, &result) == 6, "the parent does not go on");
    rondoCommDestroy(rest);
    rondoCommDestroy(comm);
  });
  expectGood(outcome);
}

TEST(Chaos, ListsThatDifferAreAnErrorOnAll) {
  const Outcome outcome = run(4, [](const Me& me) {
    rondoComm_t comm = me.join(), rest = nullptr;
    const int without = me.rank == 0 ? 2 : 3;
    if (me.rank < 2) {
      const rondoResult_t result =
          rondoCommShrink(comm, &without, 1, &rest, nullptr, RONDO_SHRINK_DEFAULT);
      const std::string sentence = rondoGetLastError(nullptr);
      me.check(result == rondoInvalidUsage &&
                   (sentence.find("different excludeRanks") != std::string::npos ||
                    sentence.find("gave rondoCommShrink up") != std::string::npos),
               format("gave %d: %s", result, sentence.c_str()));
      ++me.shared->done;
    }
    while (me.shared->done < 2) usleep(1000);
    rondoCommDestroy(comm);
  });
  expectGood(outcome);
}

}  // namespace
}  // namespace rondo::chaos
