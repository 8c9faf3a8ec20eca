// Leases of shared memory come back, however the making of a communicator ends.

#include "p2p/shm_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/thread_bootstrap.h"

namespace rondo {
namespace {

constexpr int kLastGather = 3;  // leases are there; who has which; all are mapped

/// When a rank's door breaks: in its gather number `number` (0: never), once the others have been
/// served, as where the rank's own thread aborts the making; or before anybody has said anything.
struct Break {
  int number = 0;
  bool before = false;
};

class BreakingDoor : public Bootstrap {
 public:
  BreakingDoor(ThreadBootstrap& door, Break at) : door_(door), break_(at) {}
  int rank() const override { return door_.rank(); }
  int size() const override { return door_.size(); }
  const Secret& secret() const override { return door_.secret(); }
  void allGather(const void* mine, size_t bytes, void* all) override {
    const bool broken = --break_.number == 0;
    if (!broken || !break_.before) door_.allGather(mine, bytes, all);
    if (broken) throw Error(rondoRemoteError, "aborted");
  }

 private:
  ThreadBootstrap& door_;
  Break break_;
};

/// Pool in use while three ranks that make a transport hold theirs, whose doors break at `breaks`.
/// `failed`: whether each rank's making failed.
uint64_t usedWhenMade(const std::array<Break, 3>& breaks, std::vector<char>* failed) {
  const uint64_t before = Segment::own().poolUsed();
  constexpr uint64_t kPool = 8u << 20;
  const ShmTransport::Wish wish{kPool, kPool, ShmLayout::kLeastArea};
  ThreadGroup group(3);
  uint64_t used = 0;
  failed->assign(3, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadBootstrap door(group, rank);
      BreakingDoor breaking(door, breaks[static_cast<size_t>(rank)]);
      std::unique_ptr<ShmTransport> made;
      try {
        made = ShmTransport::create(breaking, nullptr, {0, 1, 2}, wish);
      } catch (const Error&) {
        (*failed)[static_cast<size_t>(rank)] = 1;
      }
      door.barrier();
      if (rank == 1) used = Segment::own().poolUsed() - before;
      door.barrier();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Segment::own().poolUsed(), before) << "all have let go";
  return used;
}

// A plan is to take as long on one communicator as on the next, so all of them have windows.
TEST(ShmTransport, HasWindowsHoweverManyThereAre) {
  constexpr uint64_t kPool = 16u << 20;
  constexpr size_t kMade = 16;
  ThreadGroup group(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadBootstrap door(group, rank);
      std::vector<std::unique_ptr<ShmTransport>> made;
      while (made.size() < kMade) {
        made.push_back(ShmTransport::create(door, nullptr, {0, 1}, {kPool, 2 * kPool}));
        const ShmLayout& layout = made.back()->layout();
        EXPECT_EQ(layout.areaBytes, ShmLayout::kMostArea) << made.size();
        EXPECT_EQ(layout.windows, ShmLayout::kWindows) << made.size();
      }
      door.barrier();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ShmTransport, ARankThatDoesNotHearOfTheEndLetsGoAllTheSame) {
  std::vector<char> failed;
  const uint64_t used = usedWhenMade({}, &failed);
  EXPECT_EQ(failed, (std::vector<char>{0, 0, 0}));
  // The others may still write into what rank 1 had.
  EXPECT_EQ(usedWhenMade({Break{}, Break{kLastGather}, Break{}}, &failed), used);
  EXPECT_EQ(failed, (std::vector<char>{0, 1, 0}));
}

// Rank 2 knows that the making has failed, and its lease is free at once; the others, which have
// mapped it and do not know, must neither wait for it as long as its process lives nor write there.
TEST(ShmTransport, WhoGivesUpEarlierThanTheOthersKeepsNoLeaseOfTheirs) {
  std::vector<char> failed;
  const Break late{kLastGather, true};
  EXPECT_EQ(usedWhenMade({late, late, Break{kLastGather - 1}}, &failed), 0u);
  EXPECT_EQ(failed, (std::vector<char>{1, 1, 1}));
}

}  // namespace
}  // namespace rondo
