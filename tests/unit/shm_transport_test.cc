// Leases of shared memory come back, however the making of a communicator ends.

#include "p2p/shm_transport.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/thread_bootstrap.h"

namespace rondo {
namespace {

/// A door that breaks for one rank in its gather number `breaks`, when the others have been served:
/// as where the rank's own thread aborts the making.
class BreakingDoor : public Bootstrap {
 public:
  BreakingDoor(ThreadBootstrap& door, int breaks) : door_(door), breaks_(breaks) {}
  int rank() const override { return door_.rank(); }
  int size() const override { return door_.size(); }
  const Secret& secret() const override { return door_.secret(); }
  void allGather(const void* mine, size_t bytes, void* all) override {
    door_.allGather(mine, bytes, all);
    if (--breaks_ == 0) throw Error(rondoRemoteError, "aborted");
  }

 private:
  ThreadBootstrap& door_;
  int breaks_;
};

/// Pool in use while three ranks that make a transport hold theirs, of which rank 1's door breaks;
/// the others' do not. `failed`: whether each rank's making failed.
uint64_t usedWhenMade(int breaks, std::vector<char>* failed) {
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
      BreakingDoor breaking(door, rank == 1 ? breaks : 0);
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

TEST(ShmTransport, ARankThatDoesNotHearOfTheEndLetsGoAllTheSame) {
  constexpr int kLastGather = 3;  // leases are there; who has which; all are mapped
  std::vector<char> failed;
  const uint64_t used = usedWhenMade(0, &failed);
  EXPECT_EQ(failed, (std::vector<char>{0, 0, 0}));
  // The others may still write into what rank 1 had.
  EXPECT_EQ(usedWhenMade(kLastGather, &failed), used);
  EXPECT_EQ(failed, (std::vector<char>{0, 1, 0}));
}

}  // namespace
}  // namespace rondo
