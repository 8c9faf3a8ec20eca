// How the ranks that remain agree on what they made, while some of them end at any moment and a
// network brings the last words of these to some ranks and not to others.

#include "api/survivors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

#include "support/thread_bootstrap.h"

namespace rondo {
namespace {

/// Thrown out of a rank's last word.
struct Died {};

/// One rank runs at a time, and gives the turn to another whenever it has nothing: what happens
/// follows from the seed.
class Turns {
 public:
  Turns(int ranks, uint32_t seed) : random_(seed) {
    for (int r = 0; r < ranks; ++r) present_.push_back(r);
    choose();
  }
  void begin(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    await(rank, lock);
  }
  void pass(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    choose();
    if (turn_ == rank) return;
    changed_.notify_all();
    await(rank, lock);
  }
  void leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(present_, rank);
    if (present_.empty()) return;
    choose();
    changed_.notify_all();
  }

 private:
  void choose() { turn_ = present_[random_() % present_.size()]; }
  void await(int rank, std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [&] { return turn_ == rank; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937 random_;
  std::vector<int> present_;
  int turn_ = 0;
};

/// Between ranks that are all far from each other: what one shares reaches each other one after a
/// number of looks. A rank may be told to end at one of its words: then each way loses that word
/// and some before it, or nothing.
class Net {
 public:
  Net(int ranks, uint32_t seed)
      : turns(ranks, seed), random_(seed), nodes_(static_cast<size_t>(ranks)) {
    for (Node& node : nodes_) node.from.resize(nodes_.size());
  }
  void endAt(int rank, int word) { at(rank).lastWord = word; }
  /// That word reaches `hearer` alone, after so many looks, and only then it learns of the end.
  void endAt(int rank, int word, int hearer, int looks) {
    endAt(rank, word);
    at(rank).hearer = hearer;
    at(rank).late = looks;
  }
  void listen(int rank, FarEvents* events) { at(rank).events = events; }

  void share(int from, const BoardNews& news) {
    Node& sender = at(from);
    if (sender.dead) return;
    for (Node& node : nodes_) {
      if (&node != &sender) node.way(from).push_back({Letter::Board, news, delay()});
    }
    if (++sender.words < sender.lastWord || std::uncaught_exceptions() > 0) return;
    end(from);
    throw Died();
  }

  /// It lets go of the communicator: behind all that it said.
  void leave(int from) {
    for (Node& node : nodes_) {
      if (&node != &at(from)) node.way(from).push_back({Letter::Left, {}, delay()});
    }
  }

  /// Hands `to` what has arrived.
  void look(int to) {
    Node& node = at(to);
    for (size_t from = 0; from < nodes_.size(); ++from) {
      std::deque<Letter>& way = node.from[from];
      if (!way.empty() && --way.front().looks < 0) {
        const Letter letter = way.front();
        way.pop_front();
        hand(*node.events, static_cast<int>(from), letter);
      }
    }
    if (!node.ends.empty() && --node.ends.front().looks < 0) {
      node.events->farLost(node.ends.front().rank, FarLoss::Ended, "the test ended it");
      node.ends.pop_front();
    }
  }

  Turns turns;

 private:
  static constexpr int kSlow = 20;
  struct Letter {
    enum Kind { Board, Left } kind;
    BoardNews news;
    int looks;
  };
  struct End {
    int rank, looks;
  };
  struct Node {
    std::deque<Letter>& way(int rank) { return from[static_cast<size_t>(rank)]; }
    FarEvents* events = nullptr;
    std::vector<std::deque<Letter>> from;
    std::deque<End> ends;
    int words = 0, lastWord = 1 << 30, hearer = -1, late = 0;
    bool dead = false;
  };

  Node& at(int rank) { return nodes_[static_cast<size_t>(rank)]; }
  int upTo(int most) { return static_cast<int>(random_() % static_cast<uint32_t>(most + 1)); }
  /// Most words are quick; some take longer than all the others' together.
  int delay() { return upTo(3) != 0 ? upTo(2) : upTo(kSlow); }
  void end(int rank) {
    const Node& ending = at(rank);
    at(rank).dead = true;
    for (int r = 0; r < static_cast<int>(nodes_.size()); ++r) {
      if (r == rank) continue;
      std::deque<Letter>& way = at(r).way(rank);
      if (r == ending.hearer) {
        way.back().looks = ending.late;
        at(r).ends.push_back({rank, ending.late + kSlow});
        continue;
      }
      at(r).ends.push_back({rank, ending.hearer >= 0 ? upTo(2) : delay()});
      for (int lost = ending.hearer >= 0 ? 1 : upTo(3); lost > 0 && !way.empty(); --lost) {
        way.pop_back();
      }
    }
  }
  static void hand(FarEvents& events, int from, const Letter& letter) {
    if (letter.kind == Letter::Board) events.farNews(from, letter.news);
    if (letter.kind == Letter::Left) events.farLeft(from);
  }

  std::mt19937 random_;
  std::vector<Node> nodes_;
};

/// One rank's end of it, which carries boards and nothing else.
class BoardsOnly final : public FarTransport {
 public:
  BoardsOnly(Net& net, int rank) : net_(net), rank_(rank) {}
  std::unique_ptr<SendPort> sendTo(int, int, const uint32_t*) override { return nullptr; }
  std::unique_ptr<SendPort> sendToAll(int, const uint32_t*) override { return nullptr; }
  std::unique_ptr<RecvPort> recvFrom(int, int, bool) override { return nullptr; }
  void progress() override {
    net_.look(rank_);
    net_.turns.pass(rank_);
  }
  void abort(uint32_t, uint32_t, std::string_view) override {}
  void tell(int, std::span<const ToldCall>) override {}
  void share(const FarNews& news, int) override {
    if (const auto* const board = std::get_if<BoardNews>(&news)) net_.share(rank_, *board);
  }
  std::string linkText(int) const override { return ""; }

 private:
  Net& net_;
  int rank_;
};

std::unique_ptr<Communicator> makeParent(Net& net, ThreadBootstrap& boot) {
  constexpr uint64_t kPool = 64u << 20;
  const int n = boot.size(), me = boot.rank();
  const ShmTransport::Wish wish{kPool, kPool * static_cast<uint64_t>(n), ShmLayout::kLeastArea};
  Communicator::Parts parts;
  parts.name = "parent";
  parts.place = {me, n, 0, 1};
  parts.facts.ranks = n;
  parts.wait.spinBoundMs = 30'000;         // a test that would hang fails
  parts.wait.spinsBeforeYield = 1u << 30;  // Turns has the say
  std::vector<Fabric::Member> members;
  for (int r = 0; r < n; ++r) members.push_back({"host", 1, r});
  parts.fabric =
      std::make_unique<Fabric>(me, std::vector<int>{me},
                               ShmTransport::create(boot, nullptr, {me}, wish), std::move(members));
  net.listen(me, parts.fabric.get());
  parts.fabric->join(std::make_unique<BoardsOnly>(net, me));
  return std::make_unique<Communicator>(std::move(parts));
}

/// What rondoCommShrink does, with a list of ranks instead of a communicator.
std::vector<int> shrink(Communicator& parent, uint32_t generation) {
  Survivors boot(parent, {}, generation, 0);
  std::vector<int> made;
  for (;;) {
    try {
      if (!boot.settle()) return made;
      made.assign(static_cast<size_t>(boot.size()), -1);
      const int me = parent.place().rank;
      for (int step = 0; step < 2; ++step) boot.allGather(&me, sizeof me, made.data());
      boot.commit();
      return made;
    } catch (const Survivors::Changed&) {  // fewer
    }
  }
}

/// By rank what two shrinks made, one after the other; nothing of those that ended.
std::vector<std::vector<int>> shrinkTwice(int n, Net& net) {
  std::vector<std::vector<int>> made(static_cast<size_t>(n));
  ThreadGroup group(n);
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r) {
    threads.emplace_back([&, r] {
      ThreadBootstrap boot(group, r);
      const std::unique_ptr<Communicator> parent = makeParent(net, boot);
      net.turns.begin(r);
      try {
        std::vector<int> both = shrink(*parent, 1);
        const std::vector<int> second = shrink(*parent, 2);
        both.push_back(-1);
        both.insert(both.end(), second.begin(), second.end());
        net.leave(r);
        made[static_cast<size_t>(r)] = both;
      } catch (const Died&) {
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << r << ": " << error.what();
      }
      net.turns.leave(r);
      boot.barrier();  // boards live as long as somebody may look
    });
  }
  for (std::thread& thread : threads) thread.join();
  return made;
}

/// Those that remain have the same.
void expectAgreement(const std::vector<std::vector<int>>& made, uint32_t seed) {
  const std::vector<int>* one = nullptr;
  std::string text;
  for (const std::vector<int>& each : made) text += ::testing::PrintToString(each) + " ";
  for (size_t r = 0; r < made.size(); ++r) {
    if (made[r].empty()) continue;
    if (one == nullptr) one = &made[r];
    EXPECT_EQ(made[r], *one) << "seed " << seed << ": " << text;
    EXPECT_NE(std::find(made[r].begin(), made[r].end(), static_cast<int>(r)), made[r].end());
  }
  ASSERT_NE(one, nullptr);
}

/// Words of a rank: its set, the secret's two gatherings, two more, the last, that it was whole.
constexpr int kLastGathering = 6, kWhole = 7;

/// Rank 3 gives its part of the last gathering to rank 2 alone and ends; 2 has all of it then,
/// tells rank 1 alone, and ends. Rank 0 hears of neither.
TEST(Survivors, AllHaveTheSameWhenTwoEndAtTheLastStep) {
  for (uint32_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    Net net(4, seed);
    net.endAt(3, kLastGathering, 2, 0);
    net.endAt(2, kWhole, 1, 30);
    expectAgreement(shrinkTwice(4, net), seed);
  }
}

TEST(Survivors, AllHaveTheSameWhateverEndsWhenever) {
  constexpr int kRanks = 5;
  for (uint32_t seed = 1000; seed < 1015 && !HasFailure(); ++seed) {
    std::mt19937 random(seed);
    Net net(kRanks, seed);
    for (int ends = 0; ends < 3; ++ends) {
      net.endAt(static_cast<int>(random() % kRanks), 1 + static_cast<int>(random() % 16));
    }
    expectAgreement(shrinkTwice(kRanks, net), seed);
  }
}

}  // namespace
}  // namespace rondo
