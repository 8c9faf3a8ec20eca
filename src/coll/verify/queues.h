#pragma once
// What is between ranks in the symbolic machine: messages, signals, and who knows what happened.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/verify/expressions.h"
#include "coll/verify/form.h"

namespace rondo::verify {

/// A clock as it was, by number. 0: none kept.
using Snapshot = uint32_t;

/// One vector clock per rank: at(r, q) is how many of rank q's steps are known at r to have
/// happened. Kept only on demand.
class Clocks {
 public:
  Clocks(int ranks, bool on)
      : n_(static_cast<size_t>(ranks)), on_(on), now_(on ? n_ * n_ : 0), saved_(on ? n_ : 0) {}

  bool on() const { return on_; }
  void tick(int rank) {
    if (on_) ++now_[index(rank, rank)];
  }
  uint32_t own(int rank) const { return on_ ? now_[index(rank, rank)] : 0; }
  uint32_t known(int rank, int of) const { return now_[index(rank, of)]; }
  uint32_t known(Snapshot snapshot, int of) const { return saved_[snapshot * n_ + at(of)]; }
  Snapshot save(int rank) {
    if (!on_) return 0;
    const auto begin = now_.begin() + static_cast<std::ptrdiff_t>(index(rank, 0));
    saved_.insert(saved_.end(), begin, begin + static_cast<std::ptrdiff_t>(n_));
    return static_cast<Snapshot>(saved_.size() / n_ - 1);
  }
  /// Rank learns what others knew.
  void join(int rank, const std::vector<uint32_t>& others) {
    for (size_t q = 0; q < n_ && on_; ++q) {
      now_[index(rank, 0) + q] = std::max(now_[index(rank, 0) + q], others[q]);
    }
  }
  /// Rank learns what the snapshot knows.
  void join(int rank, Snapshot snapshot) {
    if (!on_) return;
    for (size_t q = 0; q < n_; ++q) {
      uint32_t& mine = now_[index(rank, 0) + q];
      mine = std::max(mine, saved_[snapshot * n_ + q]);
    }
  }

 private:
  static size_t at(int rank) { return static_cast<size_t>(rank); }
  size_t index(int rank, int of) const { return at(rank) * n_ + at(of); }

  size_t n_;
  bool on_;
  std::vector<uint32_t> now_;
  std::vector<uint32_t> saved_;  // snapshot 0 is a dummy
};

struct Message {
  const Step* step;  ///< That posted it.
  size_t round;
  size_t values;  ///< Where its expressions begin in Queues::values.
  Snapshot clock;
  int hops;
};

struct SignalMark {
  size_t visible;  ///< Messages of the queue it covers.
  Snapshot clock;
  int hops;
};

/// What one rank gives another, or to everyone.
struct Queue {
  std::vector<Message> messages;
  std::vector<SignalMark> signals;
};

/// How far a reader is in a queue.
struct Reader {
  size_t messages = 0;          ///< Taken.
  size_t signals = 0;           ///< Waited for.
  size_t visible = 0;           ///< Messages covered by signals it has waited for.
  std::vector<uint32_t> times;  ///< Its own clock when it took each message.
  std::vector<const Step*> by;  ///< The step that did.
};

/// All queues and readers of one lane.
class Queues {
 public:
  explicit Queues(int ranks)
      : n_(static_cast<size_t>(ranks)), queues_(n_ * n_), readers_(2 * n_ * n_) {}

  /// `to` < 0: the sender's queue to everyone.
  Queue& queue(int from, int to) { return queues_[index(from, to < 0 ? from : to)]; }
  const Queue& queue(int from, int to) const { return queues_[index(from, to < 0 ? from : to)]; }
  /// Where `rank` reads what `from` gives it, or everyone.
  const Queue& source(int from, int rank, Room room) const {
    return queue(from, room == Room::All ? -1 : rank);
  }
  Reader& reader(int from, int rank, Room room) {
    return readers_[(room == Room::All ? n_ * n_ : 0) + index(from, rank)];
  }
  const Reader& reader(int from, int rank, Room room) const {
    return readers_[(room == Room::All ? n_ * n_ : 0) + index(from, rank)];
  }
  /// Messages that somebody has still to take.
  size_t used(int from, int to) const {
    const size_t posted = queue(from, to).messages.size();
    if (to >= 0) return posted - reader(from, to, Room::Pair).messages;
    size_t most = 0;
    for (int r = 0; r < static_cast<int>(n_); ++r) {
      if (r != from) most = std::max(most, posted - reader(from, r, Room::All).messages);
    }
    return most;
  }

  std::vector<Expr> values;

 private:
  size_t index(int from, int to) const {
    return static_cast<size_t>(from) * n_ + static_cast<size_t>(to);
  }

  size_t n_;
  std::vector<Queue> queues_;
  std::vector<Reader> readers_;
};

}  // namespace rondo::verify
