// A kernel that waits for ranks of which all have let go of the communicator: that is an error, not
// a wait. The device only says that a kernel waits.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "api/comm_create.h"
#include "api/device_group.h"
#include "api/handle.h"
#include "support/idle_runner.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using namespace std::chrono_literals;

class WaitingRunner final : public IdleRunner {
 public:
  explicit WaitingRunner(std::atomic<bool>* waits) : waits_(*waits) {}

  /// Ends its waits.
  void abort() noexcept override { waits_ = false; }
  std::chrono::milliseconds takeLongWait() noexcept override { return waits_ ? 150ms : 0ms; }

 private:
  std::atomic<bool>& waits_;
};

/// body(communicator, rank, whether its kernel waits) on so many ranks.
void onWaitingRanks(
    int ranks, const std::function<void(CommPtr& comm, int rank, std::atomic<bool>& waits)>& body) {
  ThreadGroup group(ranks);
  onRanks(ranks, [&](int r) {
    ThreadBootstrap boot(group, r);
    std::atomic<bool> waits{false};
    Config config = checkConfig("onWaitingRanks", nullptr);
    config.nearDevice = [&](int) { return std::make_unique<WaitingRunner>(&waits); };
    CommPtr comm;
    ASSERT_EQ(guarded(nullptr, "onWaitingRanks", [&] { comm = createComm(boot, config, {}); }),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    body(comm, r, waits);
  });
}

rondoResult_t stateOf(const CommPtr& comm) {
  rondoResult_t state = rondoSuccess;
  const rondoResult_t asked = rondoCommGetAsyncError(comm.get(), &state);
  return asked == rondoSuccess ? state : asked;
}

TEST(DeviceStranded, AKernelThatWaitsForWhoHasLeftEnds) {
  onWaitingRanks(3, [](CommPtr& comm, int rank, std::atomic<bool>& waits) {
    if (rank != 0) return;  // and lets go
    waits = true;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (waits && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(waits);
    EXPECT_EQ(stateOf(comm), rondoRemoteError);
    const std::string why = rondoGetLastError(comm.get());
    EXPECT_NE(why.find("rank 1 ("), std::string::npos) << why;
    EXPECT_NE(why.find("has let go of it"), std::string::npos) << why;
  });
}

TEST(DeviceStranded, ItWaitsOnWhileOneIsThere) {
  std::atomic<bool> looked{false};
  onWaitingRanks(3, [&looked](CommPtr& comm, int rank, std::atomic<bool>& waits) {
    if (rank == 1) return;
    waits = rank == 0;
    if (rank == 0) {
      std::this_thread::sleep_for(1s);
      EXPECT_TRUE(waits);
      EXPECT_EQ(stateOf(comm), rondoSuccess);
      waits = false;
      looked = true;
    }
    while (!looked) std::this_thread::sleep_for(5ms);
  });
}

/// Its record has its last 1024 calls: of its collectives nothing is left there.
TEST(DeviceStranded, WhoHasLeftAfterManySendsHasMadeItsCollectives) {
  constexpr int kSends = 1100;
  std::atomic<bool> looked{false};
  onWaitingRanks(3, [&looked](CommPtr& comm, int rank, std::atomic<bool>& waits) {
    int32_t data = 0;
    const DeviceCall sum{"sum",  Collective::AllReduce, &data, &data, 1, rondoInt32, rondoSum, 0,
                         nullptr};
    ASSERT_EQ(runOnDevice(comm.get(), sum), rondoSuccess) << rondoGetLastError(nullptr);
    for (int i = 0; rank == 2 && i < kSends; ++i) {
      const Transfer transfer{0, true, reinterpret_cast<char*>(&data), sizeof data};
      ASSERT_EQ(runOnDevice(comm.get(), TransferCall{"send", {&transfer, 1}, nullptr}),
                rondoSuccess);
    }
    if (rank == 2) return;  // and lets go
    waits = rank == 0;
    if (rank == 0) {
      std::this_thread::sleep_for(1s);
      EXPECT_TRUE(waits);
      EXPECT_EQ(stateOf(comm), rondoSuccess) << rondoGetLastError(comm.get());
      waits = false;
      looked = true;
    }
    while (!looked) std::this_thread::sleep_for(5ms);
  });
}

}  // namespace
}  // namespace rondo::testing
