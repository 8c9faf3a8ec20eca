#include "coll/flag_way.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// Round trips that are timed as one, and how many of these there are at most. The first one warms
/// the lines.
constexpr int kTrips = 8;
constexpr int kBatches = 33;
/// Where others have the cores, fewer do.
constexpr int kLeastBatches = 5;
constexpr std::chrono::milliseconds kLongest{4};

/// One side: 8 bytes to the other, and 8 from it.
class Side {
 public:
  Side(Channels& channels, int peer, const WaitPolicy& policy)
      : send_(*channels.sends[channels.index(0, peer)]),
        recv_(*channels.pairRecvs[channels.index(0, peer)]),
        policy_(policy) {}

  RunResult send(uint64_t word) {
    return waitUntil(policy_, [&](bool*) -> std::optional<RunResult> {
      void* const space = send_.tryAcquire(sizeof word);
      if (space == nullptr) return std::nullopt;
      std::memcpy(space, &word, sizeof word);
      send_.post(sizeof word, nullptr);
      return RunResult::Ok;
    });
  }
  RunResult receive(uint64_t* word) {
    return waitUntil(policy_, [&](bool*) -> std::optional<RunResult> {
      Message message;
      if (!recv_.tryPeek(&message)) return std::nullopt;
      if (message.bytes != sizeof *word) return RunResult::Mismatch;
      std::memcpy(word, message.data, sizeof *word);
      recv_.release();
      return RunResult::Ok;
    });
  }

 private:
  SendPort& send_;
  RecvPort& recv_;
  const WaitPolicy& policy_;
};

/// Sends back what comes until it is 0.
RunResult echo(Side side) {
  for (uint64_t word = 1; word != 0;) {
    RunResult result = side.receive(&word);
    if (result == RunResult::Ok) result = side.send(word);
    if (result != RunResult::Ok) return result;
  }
  return RunResult::Ok;
}

RunResult ask(Side side, uint64_t* picoseconds) {
  double least = 1e15;
  const Clock::time_point start = Clock::now();
  for (int batch = 0; batch < kBatches; ++batch) {
    const Clock::time_point begin = Clock::now();
    const bool late = batch >= kLeastBatches && begin - start > kLongest;
    const bool last = late || batch + 1 == kBatches;
    for (int trip = 1; trip <= kTrips; ++trip) {
      uint64_t word = last && trip == kTrips ? 0 : 1;
      RunResult result = side.send(word);
      if (result == RunResult::Ok) result = side.receive(&word);
      if (result != RunResult::Ok) return result;
    }
    const std::chrono::duration<double, std::pico> took = Clock::now() - begin;
    if (batch > 0) least = std::min(least, took.count() / (2 * kTrips));
    if (last) break;
  }
  *picoseconds = std::max<uint64_t>(1, static_cast<uint64_t>(least));
  return RunResult::Ok;
}

}  // namespace

FlagPair flagPairOf(const CommFacts& facts, const std::vector<int>& hostOf) {
  const int crowd = facts.localRanks > 0 ? facts.localRanks : facts.ranks;
  if (static_cast<uint32_t>(crowd) > facts.cpus) return {};
  FlagPair pair;
  for (int r = facts.ranks - 1; r > 0; --r) {
    if (hostOf[static_cast<size_t>(r)] != hostOf[0]) continue;
    // The nearest one counts: the last that is found, unless it is of another group.
    if (pair.second < 0 || !facts.groups.far(0, r) || facts.groups.far(0, pair.second)) {
      pair = {0, r};
    }
  }
  return pair;
}

RunResult measureFlag(Channels& channels, int rank, const FlagPair& pair, const WaitPolicy& policy,
                      uint64_t* picoseconds) {
  *picoseconds = 0;
  if (pair.first < 0) return RunResult::Ok;
  if (rank == pair.first) return ask(Side(channels, pair.second, policy), picoseconds);
  if (rank == pair.second) return echo(Side(channels, pair.first, policy));
  return RunResult::Ok;
}

}  // namespace rondo
