#pragma once
// What the ranks of a communicator are at: every rank writes down its last collectives where its
// peers can read them, and compares.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/exchange.h"
#include "coll/flight_recorder.h"
#include "coll/host_request.h"
#include "coll/pair_counts.h"
#include "p2p/fabric.h"

namespace rondo {

/// A call as it is recorded, one of `pass` that run as one.
Call callOf(const PlanKey& key, uint64_t sequence, size_t pass);
/// "all-reduce with count 8, datatype float32, op sum".
std::string callText(const Call& call);
/// How many calls run as one with it.
uint64_t callPass(const Call& call);

class CallLog {
 public:
  /// `fabric`: nullptr with one rank; then there is nobody to tell or to ask. `before`: so many
  /// calls of each kind are taken to have come before.
  CallLog(Fabric* fabric, const RankPlace& place, FlightRecorder* recorder, uint64_t before = 0)
      : fabric_(fabric),
        place_(place),
        recorder_(*recorder),
        state_(fabric != nullptr ? &fabric->state(place.rank) : nullptr),
        sequence_(before),
        exchanges_(before),
        toldTo_(fabric != nullptr && fabric->spansHosts() ? static_cast<size_t>(place.size) : 0) {}

  /// Tells the peers what this rank is at: `request`'s call, one of `pass` that run as one by
  /// `choice` (BoundPlan). What request.uneven points to stays until the next call.
  void announce(const HostRequest& request, size_t pass, OpOrigin origin, uint32_t choice);
  /// Collectives so far.
  uint64_t sequence() const { return sequence_; }
  /// The announced calls have ended.
  void finish() {
    if (state_ != nullptr) {
      std::atomic_ref(state_->completed).store(sequence_, std::memory_order_release);
    }
    recorder_.finish();
  }
  /// The same for calls of sends and receives.
  void beginExchange(std::span<const Transfer> transfers, OpOrigin origin, uint64_t enqueued);
  void finishExchange();

  /// A near rank that will never make this rank's current collective, because it has let go of the
  /// communicator or finalized it; -1: none.
  int deserter() const;
  /// A near rank that has not made it; -1: none, or it is a call of sends and receives.
  int absentee() const;
  /// What `rank` did last: ", in all-reduce with ... (collective 3)". Empty where that is not
  /// known.
  std::string lastCallText(int rank) const;
  /// What a rank is in that waits, who has come and who has not: "in collective 12, ...". Of
  /// another host's rank: as far as it told.
  std::string absentText(int waiter) const;
  /// The same of this rank, as a sentence.
  std::string stallText(const std::string& name, double seconds) const;

  /// Whether the current call is one of sends and receives.
  bool inExchange() const { return waitsInExchange(place_.rank); }
  /// `rank` is known to have made the collective that this rank is in.
  bool hasCome(int rank) const { return lastCall(rank).sequence >= lastCall(place_.rank).sequence; }

  /// Whether a peer made another call where this rank makes its current ones. If `late`, some ranks
  /// of other hosts are told of this rank's, the next ones each time: two of which each waits for
  /// the other's message both learn of it.
  bool someoneElsewhere(bool late);

  /// Whether the current call is one in which a silent peer has to be asked what it means.
  bool asksSilent() const { return fabric_ != nullptr && uneven_ != nullptr; }
  /// Whether the peers from which nothing came in a v-collective meant to send nothing. What a
  /// message would have said is in their records, once they call.
  enum class Answer { Later, Nothing, Something };
  Answer askSilent() const;

  /// So many are told at a time, every ten milliseconds of a wait. A rank that comes a little late
  /// has all others wait, and if each told each, 512 ranks would send 260,000 messages for it.
  static constexpr int kMostToldAtOnce = 16;
  /// Of many ranks only those who stand opposite on the next hosts are told: where two ranks' calls
  /// differ, those of two such ranks do, or of two on one host. When a call has waited so often,
  /// and again as often, the last calls of this host's ranks go round, so that all get to know who
  /// has come, and who waits in another call though none of those is in one.
  static constexpr uint32_t kWaitsBeforeAll = 50, kWaitsBetweenRounds = 10;

  /// Two ranks whose calls differ though they should be the same, as a sentence; empty: none that
  /// can be seen. `name`: the communicator's. What ranks of other hosts called may take a while to
  /// come. `vague`: it is not known which counts of a v-collective differ, but another rank may
  /// know.
  std::string mismatchText(const std::string& name, bool* vague);

 private:
  bool read(int rank, uint64_t sequence, Call* call, int of, PairCounts* counts) const;
  bool differs(uint64_t sequence) const;
  enum class Whom { Few, InTouch, All };
  void tellFarRanks(Whom whom, int most);
  void tellRound();
  void orderFarRanks();
  void tellTakers(const PlanKey& key);
  std::string visibleMismatch(const std::string& name, bool* vague) const;
  std::string mismatchAt(uint64_t sequence, bool passes, const std::string& name,
                         bool* vague) const;

  template <class Among>
  int firstAbsent(const Among& among) const;
  Call lastCall(int rank) const;
  bool waitsInExchange(int rank) const;
  std::string positionText(int rank) const;

  Fabric* fabric_;
  RankPlace place_;
  FlightRecorder& recorder_;
  RankState* state_;  // this rank's own; nullptr: nobody to tell
  uint64_t sequence_;
  uint64_t exchanges_;
  uint64_t told_ = 0;                    // the last collective that all far ranks were told of
  std::vector<uint64_t> toldTo_;         // the same of each, by rank, where there are others
  std::vector<int> farOrder_;            // whom to tell; those first who are told at once
  size_t fewFar_ = 0;                    // so many
  size_t nextTold_ = 0;                  // in farOrder_, whose turn it is
  uint32_t waits_ = 0;                   // of the current call, long ones
  uint64_t pass_ = 1;                    // of which the last so many run now, as one
  const UnevenSlots* uneven_ = nullptr;  // of the current call
  std::vector<int> silent_;              // peers of which it takes nothing
};

}  // namespace rondo
