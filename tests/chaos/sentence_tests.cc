// Sentences of docs/when-things-go-wrong.md that take a process of one's own to produce: limits,
// environments, ranks that do not come.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "chaos/job.h"

namespace rondo::chaos {
namespace {

void expectSaid(const Me& me, rondoResult_t result, rondoResult_t wanted, const std::string& part) {
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == wanted && sentence.find(part) != std::string::npos,
           format("gave %d: \"%s\", not \"%s\"", result, sentence.c_str(), part.c_str()));
}

void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

void awaitAll(const Me& me) {
  ++me.shared->done;
  while (me.shared->done < me.size) usleep(1000);
}

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  getrlimit(resource, &now);
  now.rlim_cur = std::min(value, now.rlim_max);
  setrlimit(resource, &now);
}

rlim_t mappedBytes() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * 4096;
}

TEST(Sentences, ABoundForTests) {
  setenv("RONDO_SPIN_BOUND_MS", "50", 1);
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    if (me.rank == 0) {
      expectSaid(me, rondoBarrier(comm, nullptr), rondoRemoteError,
                 "communicator \"comm\" waited longer than RONDO_SPIN_BOUND_MS for a peer");
    }
    awaitAll(me);
    rondoCommDestroy(comm);
  }));
  unsetenv("RONDO_SPIN_BOUND_MS");
}

TEST(Sentences, ASendAndItsReceiveDiffer) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    int32_t values[4] = {};
    if (me.rank == 1) {
      rondoSend(values, 2, rondoInt32, 0, comm, nullptr);
    } else {
      expectSaid(me, rondoRecv(values, 4, rondoInt32, 1, comm, nullptr), rondoMismatch,
                 "is in another call");
    }
    awaitAll(me);
    rondoCommDestroy(comm);
  }));
}

TEST(Sentences, CallsOnACommunicatorWithAGroupUnderWay) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    rondoComm_t child = nullptr;
    rondoRequest_t request = nullptr;
    int32_t value = 0;
    expectSaid(me, rondoCommDup(comm, nullptr, nullptr), rondoInvalidArgument,
               "argument newcomm is NULL; allowed: where to write the new communicator");
    const int far = 9;
    expectSaid(me, rondoCommShrink(comm, &far, 1, &child, nullptr, 0), rondoInvalidArgument,
               "excludeRanks[0] is 9; allowed: 0 to 1, but not the calling rank");
    rondoGroupStart();
    rondoRecv(&value, 1, rondoInt32, 1 - me.rank, comm, nullptr);  // which never comes
    me.ok(rondoGroupEndAsync(&request), comm, "rondoGroupEndAsync");
    expectSaid(me, rondoCommDup(comm, &child, nullptr), rondoInvalidUsage,
               "has a group under way (rondoGroupEndAsync); allowed: after rondoWait");
    awaitAll(me);
    me.ok(rondoCommAbort(comm), nullptr, "rondoCommAbort");
  }));
}

TEST(Sentences, ThePoolIsUsedUp) {
  setenv("RONDO_POOL_BYTES", "256K", 1);
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    rondoResult_t result = rondoSuccess;
    std::vector<rondoComm_t> all;
    while (result == rondoSuccess && all.size() < 500) {
      all.push_back(nullptr);
      result = rondoCommDup(comm, &all.back(), nullptr);
    }
    expectSaid(me, result, rondoOutOfMemory, "the pool of shared memory is used up (");
    me.ok(rondoBarrier(comm, nullptr), comm, "the parent goes on");
  }));
  unsetenv("RONDO_POOL_BYTES");
}

TEST(Sentences, TooLittleAddressSpace) {
  expectGood(run(2, [](const Me& me) {
    if (me.rank == 1) limit(RLIMIT_AS, mappedBytes() + (1 << 20));
    rondoComm_t comm = nullptr;
    expectSaid(me, rondoCommInitRank(&comm, me.size, me.id, me.rank), rondoSystemError,
               "bytes of shared memory (mmap; see ulimit -v)");
    expectSaid(me, rondoSystemError, rondoSystemError, "rank 1: cannot map ");
  }));
}

/// With each number of descriptors that is left something else does not fit; with one of them it is
/// the peer's.
TEST(Sentences, TooFewDescriptors) {
  bool said = false;
  for (const int room : {3, 4, 5, 6, 7, 8, 2, 9, 10, 11, 12}) {
    if (said) break;
    const Outcome outcome = run(2, [room](const Me& me) {
      if (me.rank == 1) {
        limit(RLIMIT_NOFILE, static_cast<rlim_t>(openDescriptors() - 3 + room));
      }
      setenv("RONDO_BOOT_TIMEOUT_MS", std::to_string(1000 * slack()).c_str(), 1);
      rondoComm_t comm = nullptr;
      const rondoResult_t result = rondoCommInitRank(&comm, me.size, me.id, me.rank);
      if (result == rondoSuccess) return;
      const std::string sentence = rondoGetLastError(nullptr);
      sentence.copy(me.note().sentence, sizeof me.note().sentence - 1);
    });
    expectGood(outcome);
    for (int r = 0; r < 2; ++r) {
      const std::string sentence = outcome.notes[static_cast<size_t>(r)].sentence;
      said = said || sentence.find(
                         "the descriptor of rank 0 did not fit: this process has too many "
                         "open files (see RLIMIT_NOFILE)") != std::string::npos;
      EXPECT_EQ(sentence.find("rank 0 of 2 joined"), std::string::npos) << sentence;
    }
  }
  EXPECT_TRUE(said);
}

/// Whoever cannot be watched is not taken in without a word: its end would not be noticed.
TEST(Sentences, NoDescriptorByWhichToBeWatched) {
  bool said = false;
  for (int room = 2; room <= 14; ++room) {
    const Outcome outcome = run(2, [room](const Me& me) {
      if (me.rank == 1) {
        limit(RLIMIT_NOFILE, static_cast<rlim_t>(openDescriptors() - 3 + room));
      }
      setenv("RONDO_BOOT_TIMEOUT_MS", std::to_string(1000 * slack()).c_str(), 1);
      rondoComm_t comm = nullptr;
      if (rondoCommInitRank(&comm, me.size, me.id, me.rank) == rondoSuccess) return;
      const std::string sentence = rondoGetLastError(nullptr);
      sentence.copy(me.note().sentence, sizeof me.note().sentence - 1);
    });
    expectGood(outcome);
    EXPECT_EQ(outcome.errors.find("are not noticed"), std::string::npos) << outcome.errors;
    for (const Note& note : outcome.notes) {
      said =
          said || std::string(note.sentence)
                          .find(
                              "the descriptor by which peers notice this process's end did "
                              "not fit: this process has too many open files") != std::string::npos;
    }
  }
  EXPECT_TRUE(said);
}

TEST(Sentences, ADeviceThatIsNotThere) {
  expectGood(run(2, [](const Me& me) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.device = 1000;
    rondoComm_t comm = nullptr;
    expectSaid(me, rondoCommInitRankConfig(&comm, me.size, me.id, me.rank, &config),
               rondoUnsupported,
               "config.device is 1000, but the communicator can have no device: ");
  }));
}

}  // namespace
}  // namespace rondo::chaos
