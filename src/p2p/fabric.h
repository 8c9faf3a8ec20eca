#pragma once
// What joins the ranks of one communicator: shared memory to those of this host, a network to the
// others.

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/late.h"
#include "p2p/far_places.h"
#include "p2p/far_relay.h"
#include "p2p/far_transport.h"
#include "p2p/shm_transport.h"

namespace rondo {

class Fabric final : public FarEvents {
 public:
  /// What is known of a rank.
  struct Member {
    std::string host;  ///< The name of its host.
    int pid;           ///< In its own name space.
    int hostOf;        ///< A number, equal for the ranks of one host.
  };
  /// `near`: the ranks of this host, ascending, between which `shm` is. `members`: by rank.
  Fabric(int rank, std::vector<int> near, std::unique_ptr<ShmTransport> shm,
         std::vector<Member> members);
  ~Fabric() override;

  /// The network, whose events this object takes. Before makeChannels().
  void join(std::unique_ptr<FarTransport> far) { far_ = std::move(far); }
  /// nullptr: all ranks are near.
  FarTransport* network() const { return far_.get(); }
  int ranks() const { return ranks_; }
  bool spansHosts() const { return far_ != nullptr; }
  /// By rank, the number of its host.
  std::vector<int> hostOf() const;
  bool near(int rank) const { return placeOf_[static_cast<size_t>(rank)] >= 0; }

  Channels makeChannels();

  /// The abort word, polled by waits: 0, or which rank ended the communicator and how.
  uint32_t aborted() const { return shm_->aborted(); }
  /// "rank 2 aborted communicator NAME"; for a word that is not 0.
  std::string abortText(const std::string& name) const;
  /// Sets the abort word of every rank.
  void abort();

  /// From now on the death of a near rank's process aborts the communicator; `died` runs then, on
  /// whatever thread finds out.
  void watchPeers(std::function<void()> died);
  /// Returns when `died` does not run any more.
  void stopWatching() { PeerWatch::one().forget(shm_.get()); }
  /// The rank whose death, or leaving, aborted the communicator; -1: another cause, or none.
  int culprit() const;
  /// Aborts because `rank` has let go of the communicator while others need it.
  void abortDeserted(int rank) { endAll((static_cast<uint32_t>(rank) + 1) | kDeserted); }
  /// Aborts because this rank has waited too long, or because calls differ. The others are told
  /// `why`: what this rank sees of others they may not see.
  void abortTimedOut(const std::string& why) { endWith(kTimedOut, why); }
  void abortDiffering(const std::string& why) { endWith(kDiffering, why); }
  /// The rank that did so; -1: another cause, or none.
  int timedOut() const { return endedBy(kTimedOut); }
  int differing() const { return endedBy(kDiffering); }
  /// Whether a rank ended it by its own doing, which may use its memory for something else by now,
  /// though others read it. Behind their reads.
  bool endedByWhoGoesOn() const {
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint32_t word = aborted();
    return word != 0 && (word & (kLost | kDied | kDeserted | kSilent)) == 0;
  }
  /// What `rank` told then; "": nothing, or it has not arrived.
  std::string toldWhy(int rank) const;
  /// Of a near rank: its process has ended, or it has let go of the communicator.
  bool died(int rank) const { return near(rank) && shm_->died(place(rank)); }
  bool left(int rank) const { return near(rank) && shm_->left(place(rank)); }
  /// Of a near rank: it will make no call on the communicator any more, and none is under way
  /// there: it has let go of it, or finalized it.
  bool finished(int rank) const {
    return left(rank) || (near(rank) && (closing(rank) & RankState::kFinalized) != 0);
  }
  /// The length of a message of `from` that `to` has not taken, if there is one: of near ranks, one
  /// of which is this one; of a far one to this rank, once it has come.
  std::optional<uint64_t> untaken(int from, int to) const {
    if (!near(from)) return far_->untaken(from);
    return shm_->untaken(place(from), place(to));
  }
  /// Of any rank: it has died, or is out of reach for good, or, with `alsoLeft`, has let go of the
  /// communicator or finalized it.
  bool gone(int rank, bool alsoLeft = true) const;
  /// What is said where nobody knows what differs.
  std::string differText(const std::string& name) const;
  /// "rank 2 (host "a", pid 77)".
  std::string rankText(int rank) const;
  /// Whether this rank, which has `waited`, reports a stall: one does every `again`. Hosts begin
  /// one after the other, so that they hear of the first.
  bool claimReport(std::chrono::seconds again, std::chrono::steady_clock::duration waited);
  /// Of a near rank.
  RankState& state(int rank) const { return shm_->state(place(rank)); }
  /// Of a far rank: what it last shared. Before it has, nothing: asked for again, it may be there.
  Board& board(int rank) const;
  /// Far ranks get to know what stands on this rank's board.
  void shareBoard();
  /// The host of a far rank gets to know who waits for whom.
  void shareWait(int rank, const WaitNote& note);
  /// Of many ranks, who speak to few of other hosts: that near rank `rank` has made `call`, and to
  /// tell what is known of who has made which. All get to know it, in a few steps.
  void noteCome(int rank, const Call& call) { relay_.note(rank, call); }
  /// Whether ranks speak to few.
  bool speaksToFew() const { return far_ != nullptr && relay_.few(); }
  /// Passes on what is for others and has come, or is new. Says whether there was something. Not on
  /// the network's thread.
  bool passOn();
  /// Whether a far rank and this one have had something for each other: to tell it more costs no
  /// connection.
  bool inTouch(int rank) const { return far_ != nullptr && far_->inTouch(rank); }
  /// Asks where these are: see FarPlaces, and placeText() for the answers. Waits for nothing.
  void ask(const std::vector<int>& late, bool inside, bool afresh);
  std::string placeText(int rank) const { return places_.text(rank); }
  /// `wake` runs, on the network's thread, when other hosts have asked, or there is something to
  /// pass on; it must return at once.
  void onQuestions(void (*wake)()) { wake_.store(wake, std::memory_order_release); }
  /// What they asked since the last time.
  std::vector<FarPlaces::Asked> takeQuestions() { return places_.take(); }
  /// `said`: all but rank and number is sent.
  void answer(const FarPlaces::Asked& asked, const PlaceAnswer& said);

  /// The ranks of other hosts.
  std::vector<int> farRanks() const;
  /// Asks where these are, for somebody outside; apart from ask(), of which verdicts are made. The
  /// wake of onQuestions() also runs for answers to these.
  void survey(const std::vector<int>& ranks);
  /// See FarPlaces::answerOf.
  bool surveyed(int rank, PlaceAnswer* answer) const { return survey_.answerOf(rank, answer); }

  /// Lets the network move while this rank waits for something else.
  void progress() {
    if (far_) far_->progress();
  }

  /// The place of `rank`'s collective number `sequence`, until a much later one takes it. Of a far
  /// rank: what it told.
  CallRecord& record(int rank, uint64_t sequence) const;
  /// Of a far rank: it has told of some call.
  bool hasTold(int rank) const { return farRank(rank)->calls.get() != nullptr; }
  /// What goes with that record, if it is a v-collective's: what `rank` means to move between
  /// itself and `of`. False where that is not known here.
  bool pairCounts(int rank, uint64_t sequence, int of, PairCounts* counts) const;
  /// This rank's own with `of`, to be written.
  PairCounts& ownPairCounts(uint64_t sequence, int of);
  /// Lets a far rank know this rank's records of calls number `first` to `last`, which near ones
  /// read.
  void tell(int rank, uint64_t first, uint64_t last);

 private:
  /// Calls of a far rank, as it told.
  struct FarCallsTold {
    CallRecord records[ShmLayout::kCallRecords] = {};
    PairCounts counts[ShmLayout::kCallRecords] = {};
  };
  /// What is known of a far rank: of most, but few words.
  struct FarRank {
    Late<FarCallsTold> calls;
    Late<Board> board;
    std::atomic<bool> left{false}, gone{false};
    std::atomic<uint32_t> ending{0};  ///< How it ended, if that is known.
    std::string why;                  ///< It ended the communicator. With lostMutex_.
  };
  // In an abort word: not aborted, but out of reach (as the network says, or silent), ended, or no
  // longer taking part.
  static constexpr uint32_t kLost = 1u << 31, kDied = 1u << 30, kDeserted = 1u << 29;
  static constexpr uint32_t kSilent = 1u << 28;
  static constexpr uint32_t kTimedOut = 1u << 27;   // the rank's own doing: it waited too long
  static constexpr uint32_t kDiffering = 1u << 26;  // the same: it found calls that differ
  static constexpr uint32_t kRankBits = kDiffering - 1;

  uint64_t closing(int rank) const {
    return std::atomic_ref(state(rank).closing).load(std::memory_order_acquire);
  }
  int place(int rank) const { return placeOf_[static_cast<size_t>(rank)]; }
  void peerDied(int place, Ending ending);
  void endAll(uint32_t word, uint32_t detail = 0, std::string_view why = {});
  void endWith(uint32_t kind, const std::string& why);
  int endedBy(uint32_t kind) const;
  std::string endingText(int rank) const;
  std::string lossText(uint32_t word, int rank) const;
  FarRank* farRank(int rank) const { return farRanks_[static_cast<size_t>(rank)].get(); }

  void farAborted(uint32_t word, uint32_t detail, std::string_view why) override;
  void noteWhy(int rank, std::string_view why);
  uint32_t farLost(int rank, FarLoss how, const std::string& why) override;
  void farLeft(int rank) override { farRank(rank)->left = true; }
  void farCalled(int rank, const Call& call, PairCounts counts) override;
  void farNews(int rank, const FarNews& news) override;
  void hear(int rank, const BoardNews& news);
  void hear(int rank, const WaitNote& note);
  void hear(int rank, const PlaceQuestion& question);
  void hear(int rank, const PlaceAnswer& answer);
  void hear(int, const ReportNote&) { shm_->noteReport(); }
  void hear(int, const ComeNews& news);
  void hear(int, const RelayedNews& letter);
  void ringBack() const {
    if (const auto rings = wake_.load(std::memory_order_acquire)) rings();
  }
  bool goneOrLeft(int rank) const { return !near(rank) && gone(rank); }
  template <class One>
  void carry(const One& news, int from, int to);

  int rank_, ranks_;
  std::vector<int> near_;
  std::vector<int> placeOf_;  // among the near ranks, or -1
  std::unique_ptr<ShmTransport> shm_;
  std::vector<Member> members_;
  FarRelay relay_;
  FarPlaces places_, survey_;
  std::atomic<void (*)()> wake_{nullptr};
  std::vector<std::unique_ptr<FarRank>> farRanks_;  // by rank; nullptr for near ones
  // What this rank means to move between itself and far ones, by rank: of each of its last calls
  // where a v-collective was.
  std::array<Late<std::vector<PairCounts>>, ShmLayout::kCallRecords> farCounts_;
  mutable std::mutex lostMutex_;
  std::string whyLost_;
  std::unique_ptr<FarTransport> far_;  // the first to go: it calls what is above
};

}  // namespace rondo
