// Memory that processes map for each other while they work (src/coll/background_memory.h), over a
// driver that is pretended.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "cuda/processes.h"
#include "p2p/datagrams.h"

namespace rondo::testing {
namespace {

// What one writes there the other reads, at every place of the allocation and not behind it.
TEST_F(Processes, BothKindsOfMemoryAreMapped) {
  start(2);
  for (const bool plainly : {true, false}) {
    unsigned char* const memory = plainly ? plain(1, 4 * kMiB) : exportable(1, 4 * kMiB);
    EXPECT_EQ(of(1).placeFor(0, memory + kMiB, kMiB), 0u) << "nobody knows of it yet";
    unsigned char* const there = placed(1, 0, memory + kMiB, kMiB);
    ASSERT_NE(there, nullptr);
    EXPECT_NE(there, memory + kMiB);
    there[5] = 77;
    EXPECT_EQ(memory[kMiB + 5], 77);
    EXPECT_EQ(of(1).placeFor(0, memory, 4 * kMiB), reinterpret_cast<uint64_t>(there) - kMiB);
    EXPECT_EQ(of(1).placeFor(0, memory + 1, 4 * kMiB), 0u);
    EXPECT_EQ(of(0).held().mapped, 1u);
    if (plainly) {
      drop(memory);
      EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
      of(0).closeFreed();
    } else {
      freed(memory);
    }
    EXPECT_TRUE(soon([&] { return of(0).held().mapped == 0 && of(1).held().offered == 0; }));
  }
}

TEST_F(Processes, EveryPeerHasAPlaceOfItsOwn) {
  fake.devices = 3;
  start(3);
  unsigned char* const memory = exportable(1, 4 * kMiB);
  unsigned char* const first = placed(1, 0, memory, 64);
  EXPECT_EQ(of(1).held().offered, 1);
  EXPECT_EQ(of(2).held().mapped, 0u) << "nobody asked for it";
  unsigned char* const second = placed(1, 2, memory, 64);
  EXPECT_NE(first, second);
  EXPECT_EQ(of(1).held().offered, 1);
  freed(memory);
  EXPECT_TRUE(soon([&] { return of(1).held().offered == 0; }));
}

// What gets the address of freed memory is another allocation: it is asked for anew.
TEST_F(Processes, AnAddressThatComesBackIsNotTheSameMemory) {
  start(2);
  std::set<unsigned char*> seen;
  int came = 0;
  for (int round = 0; round < 20; ++round) {
    unsigned char* const memory = round % 2 == 0 ? plain(1, 4 * kMiB) : exportable(1, 4 * kMiB);
    unsigned char* const there = placed(1, 0, memory, kMiB);
    *there = static_cast<unsigned char>(round + 1);
    EXPECT_EQ(*memory, round + 1);
    round % 2 == 0 ? drop(memory) : freed(memory);
    EXPECT_EQ(of(1).placeFor(0, memory, kMiB), 0u);
    came += seen.insert(memory).second ? 0 : 1;
  }
  EXPECT_GT(came, 0) << "no address came back";
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 10 && of(0).held().mapped == 10; }));
  EXPECT_EQ(of(1).held().kept, 40 * kMiB);
  of(0).closeFreed();
  EXPECT_TRUE(soon([&] { return of(1).held().kept == 0 && of(1).held().offered == 0; }));
  EXPECT_EQ(fake.opened, 0);
}

// cudaMalloc's memory is offered while what peers may keep has room for it; what had none is
// offered when there is some again. Other memory is given back at once and does not count.
TEST_F(Processes, PeersKeepNoMoreThanTheyMay) {
  start(2, 10 * kMiB);
  unsigned char* const first = plain(1, 6 * kMiB);
  unsigned char* const second = plain(1, 6 * kMiB);
  unsigned char* const third = exportable(1, 20 * kMiB);
  EXPECT_NE(placed(1, 0, first, 64), nullptr);
  EXPECT_TRUE(never(1, 0, second, 64));
  EXPECT_NE(placed(1, 0, third, 64), nullptr);
  EXPECT_EQ(of(1).held().kept, 6 * kMiB);
  drop(first);
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
  EXPECT_TRUE(never(1, 0, second, 64)) << "it is still kept";
  of(0).closeFreed();
  EXPECT_NE(placed(1, 0, second, 64), nullptr);
  drop(second);
  freed(third);
}

// It only makes calls slower, so somebody has to tell.
TEST_F(Processes, MemoryThatPeersMayNotKeepIsToldOnce) {
  start(2, 10 * kMiB);
  unsigned char* const first = plain(1, 11 * kMiB);
  unsigned char* const second = plain(1, 12 * kMiB);
  configureLog("warn:device", "");
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(never(1, 0, first, 64));
  EXPECT_TRUE(never(1, 0, second, 64));
  const std::string said = ::testing::internal::GetCapturedStderr();
  configureLog("", "");
  const std::string what = format("the allocation of %p, 11534336 bytes long", first);
  EXPECT_NE(said.find(what), std::string::npos) << said;
  EXPECT_NE(said.find("they may keep 10485760 bytes"), std::string::npos) << said;
  EXPECT_NE(said.find("RONDO_REGISTER=BYTES allows more"), std::string::npos) << said;
  EXPECT_EQ(said.find("they may keep", said.find("they may keep") + 1), std::string::npos) << said;
  drop(first);
  drop(second);
}

TEST_F(Processes, WhatCannotBeExportedOrMappedIsAskedForOnce) {
  start(2);
  unsigned char* const nowhere = plain(1, kMiB);
  EXPECT_EQ(of(1).placeFor(0, reinterpret_cast<unsigned char*>(&fake), 64), 0u) << "no memory";
  fake.refusedAccess = 0;
  unsigned char* const refused = exportable(1, 4 * kMiB);
  EXPECT_TRUE(never(1, 0, refused, 64));
  EXPECT_EQ(of(0).held().mapped, 0u);
  EXPECT_EQ(of(1).held().offered, 1);
  fake.refusedAccess = -1;
  EXPECT_TRUE(never(1, 0, refused, 64));
  EXPECT_NE(placed(1, 0, nowhere, 64), nullptr) << "and the others are served";
  freed(refused);
  drop(nowhere);
}

// More allocations than the table has rows: the others go through slots until some are freed.
TEST_F(Processes, AFullTableIsNoError) {
  start(2);
  std::vector<unsigned char*> all;
  for (int i = 0; i < OfferedMemory::kMost; ++i) {
    all.push_back(plain(1, 64));
    EXPECT_NE(placed(1, 0, all.back(), 64), nullptr);
  }
  unsigned char* const more = plain(1, 64);
  EXPECT_TRUE(never(1, 0, more, 64));
  drop(all.back());
  all.pop_back();
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
  of(0).closeFreed();
  EXPECT_NE(placed(1, 0, more, 64), nullptr);
  all.push_back(more);
  for (const unsigned char* memory : all) drop(memory);
}

// Many at once: mailboxes have room for few letters, and wishes for 32.
TEST_F(Processes, ManyAtOnceAreAllMapped) {
  fake.bytesEach = 200 * kMiB;
  start(2);
  std::vector<unsigned char*> all;
  for (int i = 0; i < 100; ++i) all.push_back(i % 2 == 0 ? plain(1, 64) : exportable(1, 64));
  EXPECT_TRUE(soon([&] {
    bool everywhere = true;
    for (const unsigned char* memory : all) everywhere &= of(1).placeFor(0, memory, 64) != 0;
    return everywhere;
  }));
  EXPECT_EQ(of(0).held().mapped, 100u);
  for (size_t i = 0; i < all.size(); ++i) i % 2 == 0 ? drop(all[i]) : freed(all[i]);
}

// A rank that takes no part, and one that has ended.
TEST_F(Processes, WhoIsNotThereIsNotWaitedFor) {
  fake.devices = 3;
  start(3, ~uint64_t{0}, 2);
  EXPECT_TRUE(of(0).with(1));
  EXPECT_FALSE(of(0).with(2));
  unsigned char* const memory = plain(1, 4 * kMiB);
  EXPECT_NE(placed(1, 0, memory, 64), nullptr);
  ranks_[0]->memory.reset();
  unsigned char* const later = plain(1, 4 * kMiB);
  EXPECT_TRUE(never(1, 0, later, 64));
  drop(memory);
  drop(later);
  EXPECT_TRUE(soon([&] { return of(1).held().offered == 0 && of(1).held().kept == 0; }));
}

// Once kernels have given up they may still write anywhere: nothing is closed.
TEST_F(Processes, NothingIsClosedBehindAFailure) {
  start(2);
  unsigned char* const memory = exportable(1, 4 * kMiB);
  unsigned char* const other = exportable(1, 4 * kMiB);
  EXPECT_NE(placed(1, 0, memory, 64), nullptr);
  EXPECT_NE(placed(1, 0, other, 64), nullptr);
  ranks_[1]->healthy = false;  // the owner says nothing
  freed(memory);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(of(0).held().mapped, 2u);
  EXPECT_EQ(of(0).held().freed, 0u);
  ranks_[0]->healthy = false;  // the peer does nothing
  ranks_[1]->healthy = true;
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
  of(0).closeFreed();
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(of(0).held().mapped, 2u);
  freed(other);
}

// The owner asks again: a peer that has ended after it was told keeps nothing.
TEST_F(Processes, WhoEndsWithoutClosingKeepsNothing) {
  start(2);
  unsigned char* const memory = plain(1, 4 * kMiB);
  EXPECT_NE(placed(1, 0, memory, 64), nullptr);
  drop(memory);
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
  EXPECT_EQ(of(1).held().kept, 4 * kMiB);
  ranks_[0]->memory.reset();
  EXPECT_TRUE(soon([&] { return of(1).held().kept == 0 && of(1).held().offered == 0; }));
}

// Nor does one whose forked child has its mailbox yet.
TEST_F(Processes, AChildOfWhoEndsKeepsNothingEither) {
  start(2);
  unsigned char* const memory = plain(1, 4 * kMiB);
  EXPECT_NE(placed(1, 0, memory, 64), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ranks_[0]->memory.reset();
  drop(memory);
  EXPECT_TRUE(soon([&] { return of(1).held().kept == 0 && of(1).held().offered == 0; }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Unless a user says otherwise, as much as could be had once more, and an eighth of the device.
TEST_F(Processes, PeersKeepNoMoreThanIsFree) {
  fake.bytesEach = 80 * kMiB;
  start(2, 0);
  unsigned char* const most = exportable(1, 66 * kMiB);  // does not count, but leaves little
  unsigned char* const memory = plain(1, 8 * kMiB);
  EXPECT_TRUE(never(1, 0, memory, 64)) << "6 MiB are free";
  freed(most);
  unsigned char* there = nullptr;
  EXPECT_TRUE(within(5s, [&] {
    there = reinterpret_cast<unsigned char*>(of(1).placeFor(0, memory, 64));
    return there != nullptr;
  })) << "asked for again, there is room now";
  unsigned char* const other = plain(1, 4 * kMiB);
  EXPECT_TRUE(never(1, 0, other, 64)) << "8 of 80 MiB are kept, an eighth is 10";
  drop(memory);
  drop(other);
}

// What peers may keep is bounded for all communicators of a process together.
TEST_F(Processes, CommunicatorsShareWhatPeersMayKeep) {
  start(2, 10 * kMiB);
  unsigned char* const first = plain(1, 6 * kMiB);
  unsigned char* const second = plain(1, 6 * kMiB);
  EXPECT_NE(placed(1, 0, first, 64), nullptr);
  const std::vector<std::unique_ptr<Rank>> before = std::exchange(ranks_, {});
  start(2, 10 * kMiB);
  EXPECT_TRUE(never(1, 0, second, 64));
  EXPECT_EQ(of(1).held().kept, 0u);
  for (const auto& rank : before) rank->memory.reset();
  EXPECT_NE(placed(1, 0, second, 64), nullptr) << "there is room again";
  drop(first);
  drop(second);
}

/// A program's own thread of a rank: memory of both kinds comes and goes, also while it is being
/// offered. Where it is said to be what is written is read.
struct Churn {
  std::function<unsigned char*(bool plainly)> get;
  std::function<void(unsigned char*, bool plainly)> put;
  std::function<uint64_t(int peer, const unsigned char*, uint64_t)> placeFor;
  std::array<int, 2> peers;

  uint64_t run(unsigned seed, const std::atomic<bool>& stop) const {
    std::mt19937 random(seed);
    std::vector<std::pair<unsigned char*, bool>> live;
    uint64_t straight = 0;
    while (!stop) {
      if (live.empty() || live.size() < random() % 12) {
        const bool plainly = random() % 2 == 0;
        live.emplace_back(get(plainly), plainly);
      }
      for (int k = 0; k < 20; ++k) {
        unsigned char* const at = live[random() % live.size()].first + random() % 4000;
        const uint64_t there = placeFor(peers[random() % 2], at, 64);
        if (there == 0) continue;
        ++straight;
        const auto token = static_cast<unsigned char>(random());
        reinterpret_cast<unsigned char*>(there)[63] = token;
        EXPECT_EQ(at[63], token);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      if (random() % 3 != 0) continue;
      std::swap(live[random() % live.size()], live.back());
      put(live.back().first, live.back().second);
      live.pop_back();
    }
    for (const auto& [memory, plainly] : live) put(memory, plainly);
    return straight;
  }
};

TEST_F(Processes, MemoryMayGoAtAnyTime) {
  fake.devices = 3;
  fake.bytesEach = 1000 * kMiB;
  start(3, 64 * 4096);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> straight{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    const int rank = t / 2;
    const Churn churn{
        [this, rank](bool plainly) { return plainly ? plain(rank, 4096) : exportable(rank, 4096); },
        [](unsigned char* memory, bool plainly) { plainly ? drop(memory) : freed(memory); },
        [this, rank](int peer, const unsigned char* data, uint64_t bytes) {
          return of(rank).placeFor(peer, data, bytes);
        },
        {(rank + 1) % 3, (rank + 2) % 3}};
    threads.emplace_back([&, churn, t] { straight += churn.run(static_cast<unsigned>(t), stop); });
  }
  for (int i = 0; i < 150; ++i) {
    std::this_thread::sleep_for(10ms);
    of(i % 3).closeFreed();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(straight, 0u);
  for (int r = 0; r < 3; ++r) {
    EXPECT_TRUE(soon([&] {
      for (int p = 0; p < 3; ++p) of(p).closeFreed();
      const BackgroundMemory::Held held = of(r).held();
      return held.offered == 0 && held.mapped == 0 && held.kept == 0;
    })) << r;
  }
}

// One allocation that two communicators use may be kept once.
TEST_F(Processes, WhatTwoCommunicatorsOfferCountsOnce) {
  start(2, 10 * kMiB);
  unsigned char* const memory = plain(1, 6 * kMiB);
  unsigned char* const other = plain(1, 6 * kMiB);
  EXPECT_NE(placed(1, 0, memory, 64), nullptr);
  std::vector<std::unique_ptr<Rank>> first = std::exchange(ranks_, {});
  start(2, 10 * kMiB);
  EXPECT_TRUE(within(2s, [&] { return of(1).placeFor(0, memory, 64) != 0; }));
  for (const auto& rank : first) rank->memory.reset();
  EXPECT_TRUE(never(1, 0, other, 64)) << "the second communicator's peer may keep it yet";
  drop(memory);
  EXPECT_TRUE(soon([&] { return of(0).held().freed == 1; }));
  of(0).closeFreed();
  EXPECT_NE(placed(1, 0, other, 64), nullptr);
  drop(other);
}

// Letters without the secret, of a wrong length, kind or sender change nothing; with them right the
// same letter does.
TEST_F(Processes, StrangersLettersAreDropped) {
  start(2);
  const UnixAddress mailbox = groupAddress(of(0).address(), "m");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UniqueFd memory(memfd_create("a stranger's", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), 4 * kMiB), 0);
  struct {
    uint32_t magic = 0x52444d4c, kind = 0;
    int32_t from = 1, how = ExportedAllocation::kDescriptor, place = 0, pad = 0;
    uint64_t id = 7, value = 4 * kMiB;
    CudaIpcHandle ipc = {};
    Secret secret;
    char more[8] = {};
  } const right{.secret = of(0).address()};
  constexpr size_t kBytes = sizeof right - sizeof right.more;
  const auto send = [&](const auto& letter, size_t bytes) {
    while (sendDatagram(socket.get(), mailbox, &letter, bytes, memory.get()) == EAGAIN) {
      std::this_thread::sleep_for(1ms);
    }
  };
  for (int field = 0; field < 7; ++field) {
    auto wrong = right;
    if (field == 0) ++wrong.magic;
    if (field == 1) wrong.kind = 9;
    if (field == 2) wrong.from = 0;
    if (field == 3) wrong.from = -1;
    if (field == 4) wrong.from = 2;
    if (field == 5) wrong.how = 77;
    if (field == 6) wrong.secret.back() ^= 1;
    send(wrong, kBytes);
  }
  for (const size_t bytes : {size_t{0}, size_t{1}, kBytes - 1, kBytes + 8}) send(right, bytes);
  unsigned char* const ours = plain(1, 4 * kMiB);
  EXPECT_NE(placed(1, 0, ours, 64), nullptr);  // after all of those
  EXPECT_EQ(of(0).held().mapped, 1u);
  send(right, kBytes);
  EXPECT_TRUE(soon([&] { return of(0).held().mapped == 2; }));
  drop(ours);
}

}  // namespace
}  // namespace rondo::testing
