#include "api/survivors.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>

#include "api/comm_bootstrap.h"
#include "base/error.h"
#include "base/log.h"

namespace rondo {
namespace {

// In a state: took no part to the end.
constexpr uint64_t kGaveUp = uint64_t{1} << 31;

uint64_t load(uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
void store(uint64_t& word, uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

bool has(const std::vector<uint64_t>& set, int rank) {
  return (set[static_cast<size_t>(rank) / 64] >> (rank % 64) & 1) != 0;
}
void add(std::vector<uint64_t>& set, int rank) {
  set[static_cast<size_t>(rank) / 64] |= uint64_t{1} << (rank % 64);
}

}  // namespace

Survivors::Survivors(Communicator& parent, const std::vector<int>& named, uint32_t generation,
                     uint64_t stallSeconds)
    : parent_(parent),
      fabric_(*parent.fabric()),
      policy_(parent.wait()),
      me_(parent.place().rank),
      ranks_(parent.place().size),
      generation_(generation),
      gone_(Board::kWords),
      named_(Board::kWords) {
  for (const int r : named) add(named_, r);
  policy_.aborted = [] { return false; };
  policy_.mismatch = nullptr;
  policy_.watch = [this, limit = std::chrono::seconds(stallSeconds)](auto waited) {
    PeerWatch::one().look();
    if (limit.count() == 0 || waited < limit || !fabric_.claimReport(limit, waited)) return;
    std::string absent;
    for (int r = 0; r < ranks_; ++r) {
      if (takesPart(r) && r != me_ && load(fabric_.board(r).state) >> 32 != generation_) {
        absent += (absent.empty() ? "" : ", ") + fabric_.rankText(r);
      }
    }
    const std::string text =
        format("stall: communicator \"%s\": rondoCommShrink waits for %s", parent_.name().c_str(),
               absent.empty() ? "its end" : absent.c_str());
    std::fprintf(stderr, "rondo: %s\n", text.c_str());
    logLine(LogPart::Watch, LogLevel::Warn, me_, [&] { return text; });
  };
  Board& board = fabric_.board(me_);
  for (size_t w = 0; w < Board::kWords; ++w) {
    gone_[w] = load(board.gone[w]);
    store(board.named[w], named_[w]);
  }
}

Survivors::~Survivors() {
  if (committed_) return;
  store(fabric_.board(me_).state, generation_ << 32 | kGaveUp);
  fabric_.shareBoard();
}

bool Survivors::gone(int rank) const { return fabric_.gone(rank); }

bool Survivors::takesPart(int rank) const { return !has(gone_, rank) && !has(named_, rank); }

/// Sets only grow, so that their sizes number the attempts.
void Survivors::publish() {
  Board& board = fabric_.board(me_);
  uint64_t size = 0;
  for (size_t w = 0; w < Board::kWords; ++w) {
    store(board.gone[w], gone_[w]);
    size += static_cast<uint64_t>(std::popcount(gone_[w]));
  }
  state_ = generation_ << 32 | size;
  store(board.state, state_);
  fabric_.shareBoard();
}

/// What a rank holds for gone, beside what this one does; what it knows more is added.
Survivors::Other Survivors::compare(int rank) {
  Board& board = fabric_.board(rank);
  const uint64_t state = load(board.state);
  if (state >> 32 < generation_) return Other::Absent;
  // Or it has come to a later call of rondoCommShrink, and this one was not whole for it.
  if (state >> 32 > generation_ || (state & kGaveUp) != 0) {
    throw Error(rondoInvalidUsage, format("%s gave rondoCommShrink up; its own error says why",
                                          fabric_.rankText(rank).c_str()));
  }
  bool more = false, fewer = false;
  for (size_t w = 0; w < Board::kWords; ++w) {
    if (load(board.named[w]) != named_[w]) {
      throw Error(rondoInvalidUsage,
                  format("%s and %s give different excludeRanks; allowed: the same list on every "
                         "rank that remains",
                         fabric_.rankText(me_).c_str(), fabric_.rankText(rank).c_str()));
    }
    const uint64_t theirs = load(board.gone[w]);
    more |= (theirs & ~gone_[w]) != 0;
    fewer |= (gone_[w] & ~theirs) != 0;
    gone_[w] |= theirs;
  }
  return more ? Other::More : fewer ? Other::Fewer : Other::Same;
}

/// *stands: what was made the turn before is everybody's.
bool Survivors::settled(bool* stands) {
  bool all = true, changed = false;
  for (int r = 0; r < ranks_; ++r) {
    if (r == me_ || !takesPart(r)) continue;
    const bool end = gone(r);  // first: what it said comes before its end
    if (whole_ != 0 && load(fabric_.board(r).step) == whole_) return *stands = true;
    const Other other = compare(r);
    changed |= other == Other::More;
    if (other == Other::Same) continue;
    all = false;
    if (end) {
      add(gone_, r);
      changed = true;
    }
  }
  if (has(gone_, me_)) {
    throw Error(rondoInternalError, "the other ranks hold this one for dead");
  }
  if (changed) publish();
  return all && !changed;
}

bool Survivors::settle() {
  PeerWatch::one().look();
  for (int r = 0; r < ranks_; ++r) {
    if (r != me_ && takesPart(r) && fabric_.gone(r, false)) add(gone_, r);
  }
  publish();
  bool stands = false;
  wait([&] { return settled(&stands); });
  if (stands) {
    finish();
    return false;
  }
  whole_ = 0;
  members_.clear();
  for (int r = 0; r < ranks_; ++r) {
    if (takesPart(r)) members_.push_back(r);
  }
  rank_ = static_cast<int>(std::find(members_.begin(), members_.end(), me_) - members_.begin());
  step_ = (state_ & 0xffffffffu) << 32;
  secret_ = sharedSecret(*this);
  return true;
}

void Survivors::commit() {
  whole_ = stepWord(step_ + 2);  // the gathering's own, and one more
  char none = 0;
  std::vector<char> all(members_.size());
  allGather(&none, sizeof none, all.data());
  finish();
}

/// The others may read this board long after: its state may be that of a later shrink by then.
void Survivors::finish() {
  store(fabric_.board(me_).step, whole_);
  fabric_.shareBoard();
  committed_ = true;
}

void Survivors::wait(const std::function<bool()>& done) {
  // A shrink has dozens of these waits: on a crowded host each would cost a time slice of everybody
  // else if this rank only gave its core away, for it would be the last to get it back.
  constexpr int kRoundsBeforeNap = 32;
  int rounds = 0;
  WaitPolicy policy = policy_;
  policy.hook = [&] {
    if (policy_.hook) policy_.hook();
    const timespec nap{0, 50000};
    if (++rounds > kRoundsBeforeNap) nanosleep(&nap, nullptr);
  };
  const RunResult result = waitUntil(policy, [&](bool*) -> std::optional<RunResult> {
    if (done()) return RunResult::Ok;
    fabric_.progress();
    return std::nullopt;
  });
  if (result != RunResult::Ok) {
    throw Error(rondoRemoteError, "waited longer than RONDO_SPIN_BOUND_MS for a peer");
  }
}

void Survivors::allGather(const void* mine, size_t bytes, void* all) {
  for (size_t at = 0; at < bytes; at += Board::kBlob) {
    const size_t piece = std::min<size_t>(bytes - at, Board::kBlob);
    gatherPiece(static_cast<const char*>(mine) + at, piece, static_cast<char*>(all) + at, bytes);
  }
}

/// Two blobs are enough: nobody is a whole step ahead of a rank that has not read.
void Survivors::gatherPiece(const void* mine, size_t bytes, char* all, size_t stride) {
  Board& board = fabric_.board(me_);
  ++step_;
  std::memcpy(board.blobs[step_ & 1], mine, bytes);
  store(board.step, stepWord(step_));
  fabric_.shareBoard();
  std::vector<bool> read(members_.size());
  wait([&] {
    bool whole = true;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!read[i]) read[i] = readPiece(members_[i], bytes, all + i * stride);
      whole = whole && read[i];
    }
    return whole;
  });
}

bool Survivors::readPiece(int rank, size_t bytes, char* out) {
  Board& board = fabric_.board(rank);
  const auto there = [&] {
    const uint64_t theirs = load(board.step);
    return theirs == stepWord(step_) || theirs == stepWord(step_ + 1);
  };
  // In this order: a rank that goes has given before what it gave.
  const bool end = load(board.state) != state_ || gone(rank);
  if (there()) {
    std::memcpy(out, board.blobs[step_ & 1], bytes);
    return true;
  }
  if (end) throw Changed{};
  return false;
}

}  // namespace rondo
