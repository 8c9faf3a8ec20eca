// The host's side of device memory between hosts by itself: what kernels would have written stands
// in its memory.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <vector>

#include "coll/far_desk.h"
#include "coll/far_lines.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 2;

struct alignas(64) Line {
  unsigned char bytes[64] = {};
};

/// One rank's, of one lane.
struct OwnDesk {
  explicit OwnDesk(ThreadGroup& group, int r)
      : boot(group, r),
        staging(kRanks, 1),
        lines((staging.bytes() + sizeof(Line) - 1) / sizeof(Line)),
        base(reinterpret_cast<unsigned char*>(lines.data())),
        view(staging.view(base, nullptr)) {
    std::vector<FarCarriers> carriers;
    FarCarriers& lane = carriers.emplace_back();
    for (auto* each : {&lane.all, &lane.pieces, &lane.rail}) *each = carrier();
    desk = std::make_unique<FarDesk>(std::move(carriers), view, staging.pairs(base, nullptr),
                                     staging.faults(base));
  }
  std::unique_ptr<Communicator> carrier() {
    Config config = checkConfig("FarDesk", nullptr);
    config.device = RONDO_DEVICE_NONE;
    return buildComm(boot, config, {});
  }

  /// As a kernel of one block does for its first chunk.
  void ring(bool onRail) {
    view.letters[0] = {1,
                       "rondoTest",
                       static_cast<int32_t>(Collective::AllReduce),
                       rondoInt32,
                       rondoSum,
                       0,
                       1,
                       onRail,
                       0,
                       0,
                       0};
    std::atomic_ref(view.rung[0]).store(1, std::memory_order_release);
  }
  bool answered() const { return view.answered[0].value != 0; }
  /// Polls until the lane is busy or is not; false: for ten seconds in vain.
  bool pollUntil(bool busy) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (desk->busy(0) != busy) {
      if (std::chrono::steady_clock::now() > end) return false;
      desk->poll(0);
    }
    return true;
  }

  ThreadBootstrap boot;
  FarStaging staging;
  std::vector<Line> lines;
  unsigned char* base;
  FarView view;
  std::unique_ptr<FarDesk> desk;
};

void onDesks(const std::function<void(OwnDesk& own, int rank, std::barrier<>& all)>& body) {
  ThreadGroup group(kRanks);
  std::barrier<> all(kRanks);
  onRanks(kRanks, [&](int r) {
    OwnDesk own(group, r);
    body(own, r, all);
    all.arrive_and_wait();
  });
}

// Whichever of the two carries the chunk. No thread is to look after it for good.
TEST(FarDesk, AnAbortEndsWhatIsCarried) {
  for (const bool onRail : {false, true}) {
    onDesks([onRail](OwnDesk& own, int rank, std::barrier<>&) {
      if (rank != 0) return;
      own.ring(onRail);
      EXPECT_TRUE(own.pollUntil(true));
      own.desk->abort();
      EXPECT_TRUE(own.pollUntil(false)) << "on a rail: " << onRail;
      EXPECT_FALSE(own.answered());
    });
  }
}

// Its kernel was killed, by what it should have sent: nobody waits for the rest.
TEST(FarDesk, HalfASendIsNotOwed) {
  onDesks([](OwnDesk& own, int rank, std::barrier<>&) {
    if (rank != 0) return;
    const FarPairLetter mail{nullptr, 256, 0, 256, 1};
    FarLine* const lines = own.staging.pairs(own.base, nullptr).lines;
    putLines(lines, farPairLetterLined(), farTag(1), reinterpret_cast<const unsigned char*>(&mail));
    own.desk->poll(0);
    EXPECT_FALSE(own.desk->busy(0));
    EXPECT_TRUE(own.desk->settled());
    const std::vector<unsigned char> data(256, 7);
    putLines(lines + kFarPairLetterLines, {1, 256, 0}, farTag(1), data.data());
    EXPECT_FALSE(own.desk->settled());
    own.desk->abort();
    EXPECT_TRUE(own.desk->settled());
  });
}

// What it waited for has come meanwhile, so that nothing is under way.
TEST(FarDesk, AKernelThatGaveUpIsNoticedAfterItsAnswer) {
  onDesks([](OwnDesk& own, int, std::barrier<>& all) {
    own.ring(false);
    while (!own.answered() && own.desk->failure().what.empty()) own.desk->poll(0);
    EXPECT_TRUE(own.pollUntil(false));
    EXPECT_EQ(own.desk->failure().what, "");
    all.arrive_and_wait();
    rondoResult_t told = rondoSuccess;
    own.desk->onFailure([&told](rondoResult_t why) { told = why; });
    own.staging.faults(own.base)->error = 1;
    own.desk->poll(0);
    EXPECT_EQ(told, rondoRemoteError);
    EXPECT_NE(own.desk->failure().what.find("RONDO_SPIN_BOUND_MS"), std::string::npos);
  });
}

}  // namespace
}  // namespace rondo::testing
