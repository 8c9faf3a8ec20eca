// Descriptors among ranks: threads, processes, full queues, strangers, and deaths.

#include "p2p/fd_exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "p2p/interrupt.h"
#include "p2p/unix_socket.h"
#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

rondoUniqueId newId() {
  rondoUniqueId id;
  makeUniqueId(kHost, &id);
  return id;
}

std::vector<int> othersOf(int n, int rank) {
  std::vector<int> peers;
  for (int r = 0; r < n; ++r) {
    if (r != rank) peers.push_back(r);
  }
  return peers;
}

UniqueFd memoryWith(int value) {
  UniqueFd fd(memfd_create("rondo-test", MFD_CLOEXEC));
  EXPECT_EQ(pwrite(fd.get(), &value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
  return fd;
}

int valueIn(const UniqueFd& fd) {
  int value = -1;
  return pread(fd.get(), &value, sizeof value, 0) == sizeof value ? value : -1;
}

bool exchangeOnce(FdExchange& exchange, const std::vector<int>& peers, int rank, int salt) {
  const UniqueFd mine = memoryWith(salt + rank);
  const std::vector<UniqueFd> got = exchange.exchange(mine.get());
  bool good = got.size() == peers.size();
  for (size_t i = 0; i < got.size(); ++i) {
    good = good && valueIn(got[i]) == salt + peers[i] &&
           (fcntl(got[i].get(), F_GETFD) & FD_CLOEXEC) != 0;
  }
  return good;
}

void meet(Bootstrap& boot) {
  const char mine = 0;
  std::vector<char> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, 1, all.data());
}

class Exchange : public ::testing::TestWithParam<int> {};

TEST_P(Exchange, EveryRankHoldsEveryMemory) {
  const int n = GetParam();
  const int before = settledDescriptors();
  const rondoUniqueId id = newId();
  std::atomic<int> right{0};
  const auto outcomes = onThreads(n, [&](int rank) {
    IdBootstrap boot(id, n, rank, kHost);
    const std::vector<int> peers = othersOf(n, rank);
    FdExchange exchange(boot, peers);
    meet(boot);
    right += exchangeOnce(exchange, peers, rank, 1000);
    right += exchangeOnce(exchange, peers, rank, 2000);
    EXPECT_EQ(exchange.dropped(), 0u);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
  EXPECT_EQ(right, 2 * n);
  // What an id of an earlier test still listened at may be closed meanwhile.
  EXPECT_TRUE(soon([&] { return openDescriptors() <= before; }));
}
// 24 threads of one process already hold 24 * 23 descriptors.
INSTANTIATE_TEST_SUITE_P(Sizes, Exchange, ::testing::Values(1, 2, 3, 11, 24));

TEST(FdExchange, SixtyFourProcessesOverTenDeepQueues) {
  constexpr int kRanks = 64;
  const std::vector<pid_t> pids = inProcesses(kRanks, [](const rondoUniqueId& id, int me) {
    IdBootstrap boot(id, kRanks, me, kHost);
    const std::vector<int> peers = othersOf(kRanks, me);
    FdExchange exchange(boot, peers);
    meet(boot);
    return exchangeOnce(exchange, peers, me, 10) && exchangeOnce(exchange, peers, me, 500);
  });
  for (pid_t pid : pids) EXPECT_TRUE(endedWell(pid));
}

TEST(FdExchange, AnAbortEndsTheWaitForARankThatIsBusyElsewhere) {
  const rondoUniqueId id = newId();
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> over{false};
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost);
    FdExchange exchange(boot, {1 - rank});
    meet(boot);
    if (rank == 1) {  // it can be reached, and sends nothing
      while (!over) usleep(1000);
      return;
    }
    Interrupt interrupt;
    const BootWait wait(&interrupt, {});
    std::thread other([&interrupt] {
      usleep(20000);
      interrupt.raise();
    });
    try {
      exchange.exchange(-1);
      ADD_FAILURE() << "has got what nobody sent";
    } catch (const Error& error) {
      EXPECT_EQ(error.sentence(), "rondoCommAbort was called while descriptors were exchanged");
    }
    other.join();
    over = true;
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25)) << "its own limit";
}

TEST(FdExchange, ARankMaySendNothing) {
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost);
    FdExchange exchange(boot, {1 - rank});
    meet(boot);
    const UniqueFd mine = memoryWith(7);
    const auto got = exchange.exchange(rank == 0 ? mine.get() : -1);
    EXPECT_EQ(got[0].get() < 0, rank == 0);
    EXPECT_EQ(valueIn(got[0]), rank == 0 ? -1 : 7);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
}

// Looks like the real message except for what the caller spoils.
struct Forged {
  uint32_t magic = 0x52444644;
  uint32_t round = 0;
  int32_t rank = 1;
  uint32_t hasFd = 1;
  Secret secret;
};

void sendForged(const Secret& name, int toRank, const void* bytes, size_t count, int fd) {
  const UniqueFd from(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UnixAddress to = groupAddress(name, "r" + std::to_string(toRank));
  iovec part{const_cast<void*>(bytes), count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = const_cast<sockaddr*>(to.get());
  header.msg_namelen = to.length;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  EXPECT_EQ(sendmsg(from.get(), &header, 0), static_cast<ssize_t>(count));
}

TEST(FdExchange, StrangersAreDroppedAndTheirDescriptorsClosed) {
  const int before = settledDescriptors();
  {
    const rondoUniqueId id = newId();
    const auto outcomes = onThreads(2, [&](int rank) {
      IdBootstrap boot(id, 2, rank, kHost);
      FdExchange exchange(boot, {1 - rank});
      if (rank == 0) {
        const UniqueFd evil = memoryWith(666);
        Forged forged;
        forged.secret = boot.secret();
        forged.secret[15] ^= 1;
        sendForged(boot.secret(), 0, &forged, sizeof forged, evil.get());  // wrong secret
        forged.secret = boot.secret();
        forged.rank = 5;
        sendForged(boot.secret(), 0, &forged, sizeof forged, evil.get());  // no peer
        forged.rank = 1;
        sendForged(boot.secret(), 0, &forged, 20, evil.get());  // cut short
        forged.round = 2;
        sendForged(boot.secret(), 0, &forged, sizeof forged, evil.get());  // too early
        const std::string longer(sizeof forged + 1, 'x');
        sendForged(boot.secret(), 0, longer.data(), longer.size(), evil.get());
      }
      meet(boot);
      const UniqueFd mine = memoryWith(rank);
      const auto got = exchange.exchange(mine.get());
      EXPECT_EQ(valueIn(got[0]), 1 - rank);
      EXPECT_EQ(exchange.dropped(), rank == 0 ? 5u : 0u);
    });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
  }
  // What an id of an earlier test still listened at may be closed meanwhile.
  EXPECT_TRUE(soon([&] { return openDescriptors() <= before; }));
}

TEST(FdExchange, AnotherUserIsDroppedEvenWithTheSecret) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost);
    FdExchange exchange(boot, {1 - rank});
    if (rank == 0) {
      const pid_t stranger = inProcess(0, [&](int) {
        if (setresuid(65534, 65534, 65534) != 0) return false;
        Forged forged;
        forged.secret = boot.secret();
        const UniqueFd evil = memoryWith(666);
        sendForged(boot.secret(), 0, &forged, sizeof forged, evil.get());
        return true;
      });
      EXPECT_TRUE(endedWell(stranger));
    }
    meet(boot);
    const UniqueFd mine = memoryWith(rank);
    const auto got = exchange.exchange(mine.get());
    EXPECT_EQ(valueIn(got[0]), 1 - rank);
    EXPECT_EQ(exchange.dropped(), rank == 0 ? 1u : 0u);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
}

TEST(FdExchange, ASilentPeerIsNamed) {
  const rondoUniqueId id = newId();
  const auto outcomes = onThreads(2, [&](int rank) {
    IdBootstrap boot(id, 2, rank, kHost);
    FdExchange exchange(boot, {1 - rank}, 100);
    meet(boot);
    if (rank == 0) exchange.exchange(-1);
    meet(boot);
  });
  EXPECT_EQ(outcomes[0].sentence,
            "rank 1 sent nothing within 100 ms while descriptors were exchanged");
}

TEST(FdExchange, AKilledProcessIsNamedSoon) {
  const rondoUniqueId id = newId();
  const pid_t victim = inProcess(1, [&](int rank) {
    IdBootstrap boot(id, 3, rank, kHost);
    FdExchange exchange(boot, othersOf(3, rank));
    meet(boot);
    usleep(50000);  // the others have sent to it and wait
    kill(getpid(), SIGKILL);
    return false;
  });
  const int before = openDescriptors();
  const auto start = Clock::now();
  const auto outcomes = onThreads(2, [&](int thread) {
    const int rank = 2 * thread;
    IdBootstrap boot(id, 3, rank, kHost);
    FdExchange exchange(boot, othersOf(3, rank));
    meet(boot);
    const UniqueFd mine = memoryWith(rank);
    // The survivor must not go first: its end would be reported, too.
    const Outcome outcome = outcomeOf([&] { exchange.exchange(mine.get()); });
    usleep(100000);
    if (!outcome.sentence.empty()) throw Error(outcome.code, outcome.sentence);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoRemoteError);
    EXPECT_EQ(outcome.sentence, "rank 1 has ended while descriptors were exchanged");
  }
  EXPECT_LT(millisSince(start), 2000);
  EXPECT_FALSE(endedWell(victim));
  EXPECT_TRUE(soon([&] { return openDescriptors() < before; }));  // the id's listener went, too
}

TEST(FdExchange, TooManyOpenFilesIsAnErrorNotALeak) {
  const std::vector<pid_t> pids = inProcesses(2, [](const rondoUniqueId& id, int me) {
    IdBootstrap boot(id, 2, me, kHost);
    FdExchange exchange(boot, {1 - me});
    const UniqueFd mine = memoryWith(me);
    meet(boot);
    if (me == 1) {
      const rlimit few{static_cast<rlim_t>(mine.get()) + 1, 4096};
      setrlimit(RLIMIT_NOFILE, &few);
    }
    const Outcome outcome = outcomeOf([&] { exchange.exchange(mine.get()); });
    meet(boot);
    return me == 0 ? outcome.code == rondoSuccess
                   : outcome.code == rondoSystemError &&
                         outcome.sentence.find("RLIMIT_NOFILE") != std::string::npos;
  });
  for (pid_t pid : pids) EXPECT_TRUE(endedWell(pid));
}

/// Ends a wait in which idle() was called often enough: it must let MPI progress, however rarely
/// this process gets a core.
class CountingDoor : public Bootstrap {
 public:
  explicit CountingDoor(const Secret& secret) : secret_(secret) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void*, size_t, void*) override {}
  void idle() override {
    if (++idles == kEnough) throw Error(rondoInProgress, "enough");
  }
  static constexpr int kEnough = 50;
  int idles = 0;

 private:
  Secret secret_;
};

TEST(FdExchange, AWaitLetsTheDoorProgress) {
  CountingDoor door(makeSecret());
  FdExchange exchange(door, {1});
  const UniqueFd peer(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UnixAddress address = groupAddress(door.secret(), "r1");
  ASSERT_EQ(bind(peer.get(), address.get(), address.length), 0);
  const auto start = Clock::now();
  EXPECT_EQ(outcomeOf([&] { exchange.exchange(-1); }).sentence, "enough");
  EXPECT_LT(millisSince(start), 29000);
}

}  // namespace
}  // namespace rondo::test
