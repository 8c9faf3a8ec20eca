#pragma once
// What the ranks of a communicator are at: every rank writes down its last collectives where its
// peers can read them, and compares.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/host_request.h"
#include "coll/pair_counts.h"
#include "p2p/shm_transport.h"

namespace rondo {

class CallLog {
 public:
  /// `shm`: nullptr with one rank; then there is nobody to tell or to ask.
  CallLog(ShmTransport* shm, const RankPlace& place) : shm_(shm), place_(place) {}

  /// Tells the peers what this rank is at: `key`'s call, one of `pass` that run as one. `uneven`:
  /// the slots of a v-collective, else nullptr; they stay until the next call.
  void announce(const PlanKey& key, size_t pass, const UnevenSlots* uneven);
  /// Collectives so far.
  uint64_t sequence() const { return sequence_; }

  /// Whether a peer made another call where this rank makes its current ones.
  bool someoneElsewhere() const;

  /// Whether the current call is one in which a silent peer has to be asked what it means.
  bool asksSilent() const { return shm_ != nullptr && uneven_ != nullptr; }
  /// Whether the peers from which nothing came in a v-collective meant to send nothing. What a
  /// message would have said is in their records, once they call.
  enum class Answer { Later, Nothing, Something };
  Answer askSilent() const;

  /// Two ranks whose calls differ though they should be the same, as a sentence; empty: none that
  /// can be seen. `name`: the communicator's.
  std::string mismatchText(const std::string& name) const;

 private:
  bool read(int rank, uint64_t sequence, Call* call, int of, PairCounts* counts) const;
  bool differs(uint64_t sequence) const;
  std::string mismatchAt(uint64_t sequence, bool passes, const std::string& name) const;

  ShmTransport* shm_;
  RankPlace place_;
  uint64_t sequence_ = 0;
  uint64_t pass_ = 1;                    // of which the last so many run now, as one
  const UnevenSlots* uneven_ = nullptr;  // of the current call
  std::vector<int> silent_;              // peers of which it takes nothing
};

}  // namespace rondo
