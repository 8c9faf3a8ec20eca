// The unique-id door: joining, gathering, agreeing, and everything that can go wrong in between.

#include "p2p/bootstrap.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "p2p/boot_id.h"
#include "p2p/id_service.h"
#include "p2p/tcp_socket.h"
#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

/// Ids that other tests in this program made, counted when a test first asks. Those that nobody
/// joined are answered for to the end, those that failed for half a minute.
size_t strangers() {
  static std::string counted;
  static size_t count = 0;
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test.test_suite_name()) + "." + test.name();
  if (counted != name) {
    counted = name;
    count = IdService::instance().state().groups;
  }
  return count;
}

rondoUniqueId newId() {
  strangers();
  rondoUniqueId id;
  makeUniqueId(kHost, &id);
  return id;
}

/// Nothing of this file's groups is left; without strangers, not even the thread.
bool serviceEnds() {
  return soon([] {
    const IdService::State state = IdService::instance().state();
    return state.groups <= strangers() && (state.groups > 0 || !state.running);
  });
}

/// The id with its secret changed, and as if it had been made so.
rondoUniqueId withWrongSecret(const rondoUniqueId& id) {
  IdBytes bytes = readId(id);
  bytes.secret[15] ^= 1;
  return packId(bytes.secret, bytes.endpoints, bytes.hostName);
}

UniqueFd rawConnection(const rondoUniqueId& id) {
  ConnectFailure failure;
  UniqueFd fd = connectAny(readId(id).endpoints, {}, Deadline(1000), &failure);
  EXPECT_EQ(failure.sentence, "");
  return fd;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A door whose ranks are simulated: allGather hands out what the test prepared.
class ScriptedDoor : public Bootstrap {
 public:
  explicit ScriptedDoor(int ranks) : ranks_(ranks) {}
  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override {
    ++calls;
    for (int r = 0; r < ranks_; ++r) {
      std::memcpy(static_cast<char*>(all) + static_cast<size_t>(r) * bytes, mine, bytes);
    }
  }
  int calls = 0;

 private:
  int ranks_;
  Secret secret_{};
};

TEST(Agree, CostsOneRoundWhenAllIsWell) {
  ScriptedDoor door(4);
  door.agree(rondoSuccess, "");
  EXPECT_EQ(door.calls, 1);
}

TEST(Agree, AFailureWithoutSentenceStillFails) {
  ScriptedDoor door(1);
  const Outcome outcome = outcomeOf([&] { door.agree(rondoOutOfMemory, ""); });
  EXPECT_EQ(outcome.code, rondoOutOfMemory);
  EXPECT_FALSE(outcome.sentence.empty());
}

TEST(Agree, AllRanksThrowTheFirstCause) {
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(5, [&](int rank) {
    IdBootstrap boot(id, 5, rank, kHost);
    boot.agree(rondoSuccess, "");
    // Rank 1 only noticed that another one went; ranks 2 and 4 have causes.
    if (rank == 1) boot.agree(rondoRemoteError, "somebody went");
    if (rank == 2) boot.agree(rondoSystemError, "no memory left on device");
    if (rank == 4) boot.agree(rondoInvalidUsage, "other");
    boot.agree(rondoSuccess, "");
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoSystemError);
    EXPECT_EQ(outcome.sentence, "rank 2: no memory left on device");
  }
  EXPECT_TRUE(serviceEnds());
}

class Groups : public ::testing::TestWithParam<int> {};

TEST_P(Groups, GatherInRankOrder) {
  const int n = GetParam();
  const rondoUniqueId id = newId();
  std::atomic<int> right{0};
  const auto outcomes = onThreads(n, [&](int rank) {
    IdBootstrap boot(id, n, rank, kHost);
    EXPECT_EQ(boot.rank(), rank);
    EXPECT_EQ(boot.size(), n);
    EXPECT_NE(boot.secret(), readId(id).secret) << "names of local sockets would tell it";
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{7}, size_t{1024}, size_t{10000}}) {
      const std::vector<char> mine(bytes, static_cast<char>(rank + 1));
      std::vector<char> all(bytes * static_cast<size_t>(n) + 1, 99);
      boot.allGather(mine.data(), bytes, all.data());
      bool good = all.back() == 99;
      for (size_t i = 0; i + 1 < all.size(); ++i) {
        good = good && all[i] == static_cast<char>(i / bytes + 1);
      }
      right += good;
    }
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
  EXPECT_EQ(right, 5 * n);
  EXPECT_TRUE(serviceEnds());
}
INSTANTIATE_TEST_SUITE_P(Sizes, Groups, ::testing::Values(1, 2, 3, 17, 64));

TEST(IdBootstrap, SeventeenRanksTakeAboutAMillisecondARound) {
  constexpr int kRounds = 50;
  const rondoUniqueId id = newId();
  std::atomic<int64_t> slowest{0};
  onThreads(17, [&](int rank) {
    IdBootstrap boot(id, 17, rank, kHost);
    std::vector<int> all(17);
    const auto start = Clock::now();
    for (int i = 0; i < kRounds; ++i) boot.allGather(&rank, sizeof rank, all.data());
    const int64_t took = millisSince(start);
    for (int64_t seen = slowest; took > seen && !slowest.compare_exchange_weak(seen, took);) {
    }
  });
  RecordProperty("milliseconds", static_cast<int>(slowest));
  EXPECT_LT(slowest, kRounds * 20);  // generous: the machine may be busy
}

TEST(IdBootstrap, AThousandGroupsLeaveNothing) {
  ASSERT_TRUE(serviceEnds());
  const int descriptors = openDescriptors();
  const int threads = runningThreads();
  for (int i = 0; i < 1000; ++i) {
    const rondoUniqueId id = newId();
    const auto outcomes = onThreads(2, [&](int rank) {
      IdBootstrap boot(id, 2, rank, kHost);
      int all[2];
      boot.allGather(&rank, sizeof rank, all);
    });
    for (const Outcome& outcome : outcomes) ASSERT_EQ(outcome.sentence, "");
  }
  EXPECT_TRUE(serviceEnds());
  EXPECT_LE(IdService::instance().state().groups, strangers());
  // Less is fine: what other tests left behind ends meanwhile.
  EXPECT_TRUE(soon([&] { return openDescriptors() <= descriptors; }));
  EXPECT_TRUE(soon([&] { return runningThreads() <= threads; }));
}

TEST(IdBootstrap, ManyIdsAtOnceShareOneThread) {
  ASSERT_TRUE(serviceEnds());
  const int threads = runningThreads();
  std::vector<rondoUniqueId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(newId());
  EXPECT_LE(runningThreads(), threads + 1);
  for (const rondoUniqueId& id : ids) IdBootstrap boot(id, 1, 0, kHost);
  EXPECT_TRUE(serviceEnds());
}

TEST(IdBootstrap, BadArgumentsAreRefusedAtOnce) {
  const rondoUniqueId id = newId();
  const auto join = [&](const rondoUniqueId& which, int nranks, int rank) {
    return outcomeOf([&] { IdBootstrap boot(which, nranks, rank, kHost); });
  };
  EXPECT_EQ(join(id, 0, 0).code, rondoInvalidArgument);
  EXPECT_EQ(join(id, 4, 4).sentence, "rank is 4; allowed: 0 to 3");
  EXPECT_EQ(join(id, 4, -1).code, rondoInvalidArgument);
  EXPECT_EQ(join(rondoUniqueId{}, 1, 0).code, rondoInvalidArgument);
  for (size_t at = 0; at < sizeof id; ++at) {  // no byte of it can change unnoticed
    rondoUniqueId damaged = id;
    damaged.internal[at] ^= 0x10;
    EXPECT_NE(join(damaged, 1, 0).code, rondoSuccess) << "byte " << at;
  }
  const Outcome forged = join(withWrongSecret(id), 1, 0);
  EXPECT_EQ(forged.code, rondoInvalidArgument);
  EXPECT_EQ(forged.sentence, "the unique id's secret is wrong");
  EXPECT_EQ(join(id, 1, 0).sentence, "");  // none of them spoiled it
  EXPECT_TRUE(serviceEnds());
  // An id serves one group. Where a stranger left meanwhile, this one's service may be about to.
  Outcome again;
  EXPECT_TRUE(soon([&] {
    again = join(id, 1, 0);
    EXPECT_NE(again.code, rondoSuccess);
    return mentions(again.sentence, "nobody answers for the id on host \"here\"");
  })) << again.sentence;
  EXPECT_EQ(again.code, rondoSystemError);
}

TEST(IdBootstrap, LiarsAreRefusedAndTheGroupGoesOn) {
  const rondoUniqueId id = newId();
  std::optional<Outcome> duplicate, liar, late;
  const auto outcomes = onThreads(3, [&](int rank) {
    if (rank == 2) {
      usleep(500000);  // after the others, also on a busy machine
      duplicate = outcomeOf([&] { IdBootstrap boot(id, 3, 0, kHost); });
      liar = outcomeOf([&] { IdBootstrap boot(id, 4, 2, kHost); });
    }
    IdBootstrap boot(id, 3, rank, kHost);
    int all[3];
    boot.allGather(&rank, sizeof rank, all);
    if (rank == 2) late = outcomeOf([&] { IdBootstrap again(id, 3, 1, kHost); });
    boot.allGather(&rank, sizeof rank, all);
    EXPECT_EQ(all[2], 2);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
  EXPECT_EQ(duplicate->code, rondoInvalidUsage);
  EXPECT_EQ(duplicate->sentence, "rank 0 of 3 has already joined with this unique id");
  EXPECT_EQ(liar->code, rondoInvalidUsage);
  EXPECT_TRUE(mentions(liar->sentence, "rank 2 says nranks is 4")) << liar->sentence;
  EXPECT_EQ(late->code, rondoInvalidUsage);
}

TEST(IdBootstrap, MissingRanksAreNamedToAll) {
  const rondoUniqueId id = newId();
  const auto start = Clock::now();
  const auto outcomes =
      onThreads(3, [&](int rank) { IdBootstrap boot(id, 5, rank == 2 ? 4 : rank, kHost, 1000); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoSystemError);
    EXPECT_EQ(outcome.sentence, "ranks 2, 3 of 5 did not join within 1000 ms");
  }
  EXPECT_LT(millisSince(start), 2300);
  // Late ones are told why, and when the last has been told the service ends.
  for (int rank : {2, 3}) {
    EXPECT_EQ(outcomeOf([&] { IdBootstrap boot(id, 5, rank, kHost); }).sentence,
              outcomes[0].sentence);
  }
  EXPECT_TRUE(serviceEnds());
}

/// The maker's own rank is told first; on a single core it would end the process, and with it the
/// service, before the others are told.
TEST(IdBootstrap, TheMakersProcessEndsOnlyWhenAllAreTold) {
  if (kThreadSanitizer) GTEST_SKIP() << "a fork of a process with threads";
  constexpr int kRanks = 12;
  constexpr const char* kSentence = "rank 1 of 12 did not join within 800 ms";
  int channel[2], ready[2];
  ASSERT_EQ(pipe(channel), 0);
  ASSERT_EQ(pipe(ready), 0);
  std::vector<pid_t> pids;
  for (int rank : {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
    pids.push_back(inProcess(rank, [&](int me) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
      rondoUniqueId id{};
      alarm(60);  // where one fails before the others are told, they do not wait for ever
      if (me == 0) {
        // The limit begins with the id, and forks of a big process are slow under the sanitizers.
        char started;
        for (int other = 2; other < kRanks; ++other) {
          if (read(ready[0], &started, 1) != 1) return false;
        }
        sched_setaffinity(0, sizeof one, &one);
        makeUniqueId(kHost, &id);
        for (int other = 2; other < kRanks; ++other) {
          if (write(channel[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) return false;
        }
      } else if (write(ready[1], "r", 1) != 1 ||
                 read(channel[0], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) {
        return false;
      }
      const Outcome end = outcomeOf([&] { IdBootstrap(id, kRanks, me, kHost, 800); });
      if (end.sentence != kSentence)
        std::fprintf(stderr, "rank %d: %s\n", me, end.sentence.c_str());
      return end.sentence == kSentence;
    }));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(endedWell(pid));
  for (const int fd : {channel[0], channel[1], ready[0], ready[1]}) close(fd);
}

TEST(IdBootstrap, ASilentConnectionHoldsNobodyUp) {
  const rondoUniqueId id = newId();
  const UniqueFd silent = rawConnection(id);
  const UniqueFd half = rawConnection(id);
  EXPECT_EQ(send(half.get(), "\1\0\0", 3, 0), 3);
  const UniqueFd garbage = rawConnection(id);
  const std::string noise(5000, 'x');
  EXPECT_GT(send(garbage.get(), noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost, 2000);
    int all[2];
    boot.allGather(&rank, sizeof rank, all);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
}

TEST(IdBootstrap, RanksThatGatherDifferentSizesAreTold) {
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost);
    char mine[8] = {}, all[16];
    boot.allGather(mine, rank == 0 ? 4 : 8, all);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoInternalError);
    EXPECT_EQ(outcome.sentence, "rank 1 gathers 8 bytes, rank 0 gathers 4");
  }
}

TEST(IdBootstrap, ARankThatStopsMidWayIsNamed) {
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(3, [&](int rank) {
    IdBootstrap boot(id, 3, rank, kHost, 300);
    int all[3];
    if (rank == 1) {
      usleep(1000000);
      return;
    }
    boot.allGather(&rank, sizeof rank, all);
  });
  EXPECT_EQ(outcomes[0].sentence, "rank 1 of 3 joined but did not go on within 300 ms");
  EXPECT_EQ(outcomes[2].sentence, outcomes[0].sentence);
}

TEST(IdBootstrap, AKilledProcessIsNamed) {
  const rondoUniqueId id = newId();
  const pid_t victim = inProcess(1, [&](int rank) {
    IdBootstrap boot(id, 3, rank, kHost);
    int all[3];
    boot.allGather(&rank, sizeof rank, all);
    kill(getpid(), SIGKILL);
    return false;
  });
  const auto start = Clock::now();
  const auto outcomes = onThreads(2, [&](int thread) {
    const int rank = thread * 2;
    IdBootstrap boot(id, 3, rank, kHost);
    int all[3];
    boot.allGather(&rank, sizeof rank, all);
    boot.allGather(&rank, sizeof rank, all);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoRemoteError);
    EXPECT_EQ(outcome.sentence, "rank 1 of 3 ended while the communicator was made");
  }
  EXPECT_LT(millisSince(start), 5000);
  EXPECT_FALSE(endedWell(victim));
  EXPECT_TRUE(serviceEnds());
}

TEST(IdBootstrap, TheMakersDeathIsSeen) {
  int pipeFds[2];
  ASSERT_EQ(pipe(pipeFds), 0);
  const pid_t maker = inProcess(0, [&](int) {
    const rondoUniqueId id = newId();
    if (write(pipeFds[1], &id, sizeof id) != sizeof id) return false;
    usleep(100000);
    kill(getpid(), SIGKILL);
    return false;
  });
  rondoUniqueId id;
  ASSERT_EQ(read(pipeFds[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  const Outcome waiting = outcomeOf([&] { IdBootstrap boot(id, 2, 0, kHost); });
  EXPECT_EQ(waiting.code, rondoRemoteError);
  EXPECT_FALSE(endedWell(maker));
  EXPECT_EQ(outcomeOf([&] { IdBootstrap boot(id, 2, 1, kHost); }).code, rondoSystemError);
  close(pipeFds[0]);
  close(pipeFds[1]);
}

TEST(IdBootstrap, AForkedChildMakesItsOwnIds) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer allows no thread after such a fork";
  const rondoUniqueId before = newId();  // the parent's service runs while it forks
  const pid_t child = inProcess(0, [&](int) {
    const rondoUniqueId id = newId();
    IdBootstrap boot(id, 1, 0, kHost, 2000);
    return true;
  });
  EXPECT_TRUE(endedWell(child));
  IdBootstrap boot(before, 1, 0, kHost);
}

TEST(IdBootstrap, ProcessesOfOneGroup) {
  const std::vector<pid_t> pids = inProcesses(8, [](const rondoUniqueId& id, int me) {
    IdBootstrap boot(id, 8, me, kHost);
    int all[8];
    bool good = true;
    for (int round = 0; round < 20; ++round) {
      const int mine = round * 8 + me;
      boot.allGather(&mine, sizeof mine, all);
      for (int r = 0; r < 8; ++r) good = good && all[r] == round * 8 + r;
    }
    return good;
  });
  for (pid_t pid : pids) EXPECT_TRUE(endedWell(pid));
}

// Another user id, as root only: the kernel says who connects.
TEST(IdBootstrap, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const rondoUniqueId id = newId();
  const pid_t stranger = inProcess(0, [&](int) {
    if (setresuid(65534, 65534, 65534) != 0) return false;
    const Outcome outcome = outcomeOf([&] { IdBootstrap boot(id, 1, 0, kHost, 2000); });
    return outcome.code == rondoInvalidUsage && mentions(outcome.sentence, "another user");
  });
  EXPECT_TRUE(endedWell(stranger));
  IdBootstrap boot(id, 1, 0, kHost);
}

}  // namespace
}  // namespace rondo::test
