// Many ranks wait for one that is late: all get to know for whom, and the late one who waits,
// though each speaks to few. The network is a list of what was said.

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "coll/call_log.h"
#include "coll/flight_recorder.h"
#include "p2p/segment.h"
#include "p2p/status_area.h"
#include "support/thread_bootstrap.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Ranks, each on a host of its own, on whose network only words are said.
class Talk {
 public:
  explicit Talk(int ranks) : spokeTo_(static_cast<size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) members_.push_back({"host" + std::to_string(r), r + 1, r});
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<Speaker>(*this, r));
  }
  Fabric& fabric(int rank) { return ranks_[static_cast<size_t>(rank)]->fabric; }
  CallLog& log(int rank) { return ranks_[static_cast<size_t>(rank)]->log; }
  int size() const { return static_cast<int>(members_.size()); }

  void call(int rank, size_t count) {
    HostRequest request{};
    request.key = {count, rondoInt32, rondoSum, 0, Collective::AllReduce};
    log(rank).announce(request, 1, OpOrigin::Call, 0);
  }
  /// What was said is heard, and passed on, until nobody says anything more.
  void settle() {
    for (bool moves = true; std::exchange(moves, false);) {
      while (!said_.empty()) {
        const Said next = std::move(said_.front());
        said_.pop_front();
        if (silent_.count(next.to) != 0) continue;
        FarEvents& hears = fabric(next.to);
        if (next.calls.empty()) hears.farNews(next.from, next.news);
        for (const ToldCall& each : next.calls) {
          hears.farCalled(next.from, each.call, each.counts);
        }
      }
      for (int r = 0; r < size(); ++r) moves |= silent_.count(r) == 0 && fabric(r).passOn();
    }
  }
  /// `rank` has let go of the communicator, and those whom it had met have been told.
  void leave(int rank) {
    silent_.insert(rank);
    for (int r = 0; r < size(); ++r) {
      if (r != rank) static_cast<FarEvents&>(fabric(r)).farLeft(rank);
    }
  }
  /// With how many others the busiest rank spoke, and which that is.
  std::pair<size_t, int> busiest() const {
    std::pair<size_t, int> most{0, -1};
    for (int r = 0; r < size(); ++r)
      most = std::max(most, {spokeTo_[static_cast<size_t>(r)].size(), r});
    return most;
  }

 private:
  struct Said {
    int from, to;
    FarNews news;
    std::vector<ToldCall> calls;
  };
  class Network final : public FarTransport {
   public:
    Network(Talk& talk, int rank) : talk_(talk), rank_(rank) {}
    std::unique_ptr<SendPort> sendTo(int, int, const uint32_t*) override { return nullptr; }
    std::unique_ptr<SendPort> sendToAll(int, const uint32_t*) override { return nullptr; }
    std::unique_ptr<RecvPort> recvFrom(int, int, bool) override { return nullptr; }
    void progress() override {}
    void abort(uint32_t, uint32_t, std::string_view) override {}
    void tell(int rank, std::span<const ToldCall> calls) override {
      talk_.say({rank_, rank, {}, {calls.begin(), calls.end()}});
    }
    void share(const FarNews& news, int to) override {
      for (int r = 0; r < talk_.size(); ++r) {
        if (r != rank_ && (to == r || to == kEverybody)) talk_.say({rank_, r, news, {}});
      }
    }
    bool inTouch(int rank) const override {
      return talk_.spokeTo_[static_cast<size_t>(rank_)].count(rank) != 0;
    }
    std::string linkText(int) const override { return ""; }

   private:
    Talk& talk_;
    const int rank_;
  };
  struct Speaker {
    Speaker(Talk& talk, int rank)
        : place{rank, talk.size(), 0, 1},
          boot(group, 0),
          fabric(rank, {rank}, ShmTransport::create(boot, nullptr, {0}, kPools), talk.members_),
          recorder({1, "many", place, {}, 0}),
          log((fabric.join(std::make_unique<Network>(talk, rank)), &fabric), place, &recorder) {}
    static constexpr ShmTransport::Wish kPools{16u << 20, 16u << 20, ShmLayout::kLeastArea};
    RankPlace place;
    ThreadGroup group{1};
    ThreadBootstrap boot;
    Fabric fabric;
    FlightRecorder recorder;
    CallLog log;
  };
  void say(Said what) {
    spokeTo_[static_cast<size_t>(what.from)].insert(what.to);
    spokeTo_[static_cast<size_t>(what.to)].insert(what.from);
    said_.push_back(std::move(what));
  }

  std::vector<Fabric::Member> members_;
  std::vector<std::unique_ptr<Speaker>> ranks_;
  std::vector<std::set<int>> spokeTo_;
  std::deque<Said> said_;
  std::set<int> silent_;
};

constexpr int kMany = 64, kLate = 20;
/// 1, 2, 4, ... 32 further on, and as far back.
constexpr size_t kFewOfMany = 11;

/// Waits of a second. Returns who found that somebody is in another call.
std::set<int> waitLong(Talk& talk, const std::set<int>& whom) {
  std::set<int> found;
  for (int wait = 0; wait < 100; ++wait) {
    for (const int rank : whom) {
      if (talk.log(rank).someoneElsewhere(true)) found.insert(rank);
    }
    talk.settle();
  }
  return found;
}

std::set<int> allBut(int late, int ranks) {
  std::set<int> out;
  for (int r = 0; r < ranks; ++r) out.insert(r);
  out.erase(late);
  return out;
}

TEST(LateRank, AllGetToKnowForWhomTheyWaitAndSpeakToFew) {
  Talk talk(kMany);
  const std::set<int> waiting = allBut(kLate, kMany);
  for (const int rank : waiting) talk.call(rank, 10);
  EXPECT_TRUE(waitLong(talk, waiting).empty());
  for (const int rank : waiting) {
    for (int r = 0; r < kMany; ++r) EXPECT_EQ(talk.log(rank).hasCome(r), r != kLate) << rank;
  }
  EXPECT_EQ(talk.busiest().first, kFewOfMany) << talk.busiest().second;
}

/// One that is wanted by all is told so by all, and asked by all, by way of those whom it knows.
TEST(LateRank, IsToldAndAskedByWayOfFew) {
  for (const bool someLeft : {false, true}) {
    Talk talk(kMany);
    if (someLeft) {
      for (const int gone : {19, 21, 18, 5}) talk.leave(gone);
    }
    std::set<std::pair<int, int32_t>> asked;
    const uint64_t comm = someLeft ? 4712 : 4711;
    WaitNote note{};
    for (int rank = 0; rank < kMany; ++rank) {
      const bool away = someLeft && std::set<int>{19, 21, 18, 5}.count(rank) != 0;
      if (rank == kLate || away) continue;
      asked.insert({rank, kLate});
      note.process = static_cast<uint64_t>(rank) + 1;
      note.comm = comm;
      note.rank = rank;
      note.started = note.seen = static_cast<int64_t>(monotonicNs());
      talk.fabric(rank).shareWait(kLate, note);
      talk.fabric(rank).ask({kLate}, false, true);
    }
    talk.settle();
    std::set<int> waits;
    for (const WaitNote& each : StatusArea::waits(Segment::own().base()).read()) {
      if (each.comm == comm) waits.insert(each.rank);
    }
    EXPECT_EQ(waits.size(), asked.size());
    std::set<std::pair<int, int32_t>> came;
    for (const FarPlaces::Asked& each : talk.fabric(kLate).takeQuestions()) {
      came.insert({each.by, each.question.rank});
      PlaceAnswer answer{};
      answer.text.write("is elsewhere");
      talk.fabric(kLate).answer(each, answer);
    }
    EXPECT_EQ(came, asked);
    talk.settle();
    for (const auto& [rank, late] : asked) {
      EXPECT_NE(talk.fabric(rank).placeText(late).find("is elsewhere"), std::string::npos) << rank;
    }
    EXPECT_LE(talk.busiest().first, kFewOfMany) << talk.busiest().second;
  }
}

/// Nobody between them is in a call, and yet both hear of the other.
TEST(LateRank, TwoWhoseCallsDifferHearOfItByWayOfOthers) {
  Talk talk(kMany);
  talk.call(1, 10);
  talk.call(38, 20);
  EXPECT_EQ(waitLong(talk, {1, 38}), (std::set<int>{1, 38}));
  bool vague = false;
  const std::string text = talk.log(1).mismatchText("many", &vague);
  EXPECT_NE(text.find("rank 38 calls allreduce with count 20"), std::string::npos) << text;
  EXPECT_LE(talk.busiest().first, kFewOfMany);
}

/// One host tells all the others that it reports a stall.
TEST(LateRank, AReportIsHeardOfByWayOfFew) {
  Talk talk(kMany);
  const std::chrono::seconds stall(3);
  EXPECT_TRUE(talk.fabric(0).claimReport(stall, std::chrono::seconds(10)));
  talk.settle();
  for (int rank = 1; rank < kMany; ++rank) {
    EXPECT_FALSE(talk.fabric(rank).claimReport(stall, std::chrono::seconds(10))) << rank;
  }
  EXPECT_LE(talk.busiest().first, kFewOfMany);
}

}  // namespace
}  // namespace rondo::testing
