#pragma once
// One communicator's ways to the ranks of other hosts, as active messages of UCX.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/late.h"
#include "p2p/bootstrap.h"
#include "p2p/far_transport.h"
#include "p2p/host_circle.h"
#include "ucx/ucx_packed.h"
#include "ucx/ucx_worker.h"
#include "ucx/ucx_zero_copy.h"

namespace rondo {

class UcxTransport;
struct UcxPeer;

/// Counts the peers that a message still has to leave for; nullptr: nobody waits for it.
using UcxPending = std::atomic<uint32_t>;

/// A message that came and is not released yet.
struct UcxArrival {
  static constexpr size_t kSmall = 256;
  std::atomic<uint32_t> ready{0};  ///< 1 + the message's sequence once it may be read. Before that
                                   ///< an earlier one's, or the number of the channel's first.
  uint32_t sequence = 0;
  uint32_t stamp = 0;
  void* data = nullptr;
  size_t bytes = 0;
  ucp_worker_h by = nullptr;       ///< Whose.
  bool ofUcx = false;              ///< UCX's memory, which has to be given back.
  std::unique_ptr<char[]> buffer;  ///< Or one of the transport's.
  UcxTransport* owner = nullptr;
  UcxPeer* peer = nullptr;  ///< Who sent it.
  char small[kSmall];
};

/// Both directions of one channel with one peer. Of most nothing is ever used: with 512 ranks a
/// rank has 2,000 of them, and a ring three.
struct UcxChannel {
  struct Arrivals {
    UcxArrival at[kUcxWindow];
  };
  std::atomic<uint32_t> released{0};  ///< Of what was sent: messages the peer has released.
  Late<Arrivals> arrivals;            ///< From the first that came on.
  // With the lock held:
  uint32_t striped = 0;  ///< Messages sent that took turns on the rails.
  uint32_t taken = 0;    ///< Messages that this rank has released.
  uint32_t told = 0;     ///< So many the peer knows of.
  uint64_t untoldBytes = 0;
  uint32_t arrived = 0;  ///< Messages whose arrival has begun.

  void startAt(uint32_t first) {
    released.store(first, std::memory_order_relaxed);
    taken = told = arrived = first;
  }
  /// The place of message `sequence`; nullptr: none has come.
  UcxArrival* arrival(uint32_t sequence) const {
    Arrivals* const there = arrivals.get();
    return there != nullptr ? &there->at[sequence % kUcxWindow] : nullptr;
  }
};

/// A message on its way out: UCX wants the header to stay.
struct UcxOutgoing {
  UcxHeader header;
  UcxPacked packed;  // if it is short, over TCP
  std::vector<char> copy;
  UcxTransport* owner;
  UcxPending* pending;
};

/// One rail to a peer: the same number at both ends.
struct UcxWay {
  uint64_t token = 0;  ///< Of the peer's worker; of the first way also its process.
  Endpoints watchedAt{};
  UcxEndpoint* endpoint = nullptr;  ///< nullptr: this rank has not used it yet.
  bool heard = false;               ///< The peer said hello by it.
  bool asks = false;  ///< An answer to this rank's hello has to come before all else goes out.
  bool owes = false;  ///< The peer wants one.
  bool old = false;   ///< Its endpoint is an earlier communicator's.
  struct Held {
    UcxOutgoing* out;  ///< Or nullptr, and `move`.
    const void* data;
    size_t bytes;
    UcxZeroCopy* move = nullptr;
  };
  std::vector<Held> held = {};  ///< With asks.
  // Until ranks have met:
  bool heardMe = false;   ///< ... and that it has got this rank's.
  bool said = false;      ///< This rank has said hello by its endpoint.
  bool answered = false;  ///< ... and that it has got the peer's.

  bool met() const { return heard && heardMe && answered; }
  /// Nothing that counts has gone out by its endpoint: another one may work.
  bool mayRetry() const { return asks && old; }
  bool failed() const { return endpoint != nullptr && endpoint->failed; }
  /// Its endpoint worked for an earlier communicator: a new one may work again.
  bool renewable() const { return failed() && endpoint->met; }
};

/// How a communicator has ended: an abort word, and what goes with it.
struct UcxEnd {
  uint32_t word = 0, detail = 0;
  std::string why = {};  ///< What who ended it says; goes with the word.

  /// Whether it says all that `other` does.
  bool covers(const UcxEnd& other) const {
    return word == other.word && (detail == other.detail || other.detail == 0);
  }
};

struct UcxPeer {
  /// Messages are numbered from `first` on.
  UcxPeer(int peerRank, int channelCount, uint32_t first)
      : rank(peerRank), channels(static_cast<size_t>(channelCount)) {
    for (UcxChannel& channel : channels) channel.startAt(first);
    zeroCopies.sent = zeroCopies.wanted = first;
  }
  int rank;
  int host = -1;
  HostStanding standing{};
  std::vector<UcxWay> ways;
  size_t byes = 0;               ///< Ways on which it has said that it goes.
  bool saidBye = false;          ///< This rank has.
  UcxEnd end{};                  ///< The last that it has told this rank, or been told.
  std::atomic<bool> bye{false};  ///< On all: it destroyed its communicator, and may go.
  bool needed = false;           ///< This rank has met it, has messages for it, or waits for it.
  bool lost = false;             ///< Nothing is sent to it any more.
  bool told = false;             ///< ... and the communicator has ended because of that.
  std::string why;               ///< With lost, or doubted.
  /// Since when UCX says that the way is gone while others may know better; none: it does not.
  std::chrono::steady_clock::time_point doubted{};
  std::chrono::steady_clock::time_point ended{};  ///< Its process, by its host's word.
  std::vector<UcxChannel> channels;
  UcxZeroCopies zeroCopies;

  bool met() const {
    return std::all_of(ways.begin(), ways.end(), [](const UcxWay& w) { return w.met(); });
  }
  /// The first way on which it has not said hello, or else not got this rank's.
  size_t silentRail() const {
    for (const auto part : {&UcxWay::heard, &UcxWay::heardMe}) {
      for (size_t rail = 0; rail < ways.size(); ++rail) {
        if (!(ways[rail].*part)) return rail;
      }
    }
    return ways.size() - 1;
  }
  bool heard() const {
    return std::any_of(ways.begin(), ways.end(), [](const UcxWay& w) { return w.heard; });
  }
  size_t waysUsed() const {
    return static_cast<size_t>(std::count_if(
        ways.begin(), ways.end(), [](const UcxWay& w) { return w.endpoint != nullptr; }));
  }
  bool has(uint64_t token) const {
    return std::any_of(ways.begin(), ways.end(), [&](const UcxWay& w) { return w.token == token; });
  }
  bool has(const UcxEndpoint& endpoint) const {
    return std::any_of(ways.begin(), ways.end(),
                       [&](const UcxWay& w) { return w.endpoint == &endpoint; });
  }
  /// Nothing comes from it any more.
  bool cutOff() const {
    return std::all_of(ways.begin(), ways.end(), [](const UcxWay& w) { return w.failed(); });
  }
  /// Ways have failed, and nothing is lost that another endpoint would not carry.
  bool retries() const {
    const auto failed = [](const UcxWay& w) { return w.failed(); };
    const auto gone = [](const UcxWay& w) { return w.failed() && !w.mayRetry(); };
    return std::any_of(ways.begin(), ways.end(), failed) &&
           std::none_of(ways.begin(), ways.end(), gone);
  }
};

class UcxTransport final : public FarTransport, private UcxReceiver {
 public:
  struct Wish {
    std::vector<int> far;            ///< The ranks of other hosts.
    std::vector<std::string> hosts;  ///< By rank, the name of its host.
    int lanes;
    uint64_t chunkBytes;   ///< Longest message.
    FarEvents* events;     ///< Outlives the transport.
    int limitMs = 30'000;  ///< For reaching all peers.
    /// By rank, which host it is on; empty: hosts are not watched.
    std::vector<int> hostOf = {};
    uint32_t messagesBefore = 0;  ///< Tests: the number of the first message of each channel.
  };
  /// Collective over all ranks of `boot`. Throws the same Error on all ranks: a way that does not
  /// work becomes a sentence here, not a hang later.
  static std::unique_ptr<UcxTransport> create(Bootstrap& boot, UcxWorker& worker, Wish wish);
  /// Says goodbye and waits a little until the last words have left.
  ~UcxTransport() override;

  std::unique_ptr<SendPort> sendTo(int lane, int rank, const uint32_t* stamp) override;
  std::unique_ptr<SendPort> sendToAll(int lane, const uint32_t* stamp) override;
  std::unique_ptr<RecvPort> recvFrom(int lane, int rank, bool everyone) override;
  void progress() override { worker_.progress(); }
  void abort(uint32_t word, uint32_t detail, std::string_view why) override;
  void hurry() override { hurries_ = true; }
  void keep(std::shared_ptr<void> memory) override;
  void tell(int rank, std::span<const ToldCall> calls) override;
  void share(const FarNews& news, int to) override;
  bool inTouch(int rank) const override;
  std::string linkText(int rank) const override;
  std::optional<uint64_t> untaken(int rank) override;
  bool zeroCopies(MemoryKind kind, bool always) const override;
  ZeroCopy* sendZeroCopy(int rank, const void* data, size_t bytes, MemoryKind kind) override;
  ZeroCopy* receiveZeroCopy(int rank, void* data, size_t bytes, MemoryKind kind) override;
  void giveBack(ZeroCopy* move) override;

  /// What it runs on, for people: UCX's version and settings, and where this process is watched.
  std::string networkText() const;

  // For the ports.

  uint64_t chunkBytes() const { return wish_.chunkBytes; }
  uint32_t firstMessage() const { return wish_.messagesBefore; }
  /// Sends one message of a channel to all of `peers`; `pending` counts down as it leaves.
  void post(const std::vector<UcxPeer*>& peers, const UcxHeader& header, const void* data,
            size_t bytes, UcxPending* pending);
  /// Gives the memory of a message back, and the peer its credit when it is time.
  void release(UcxPeer& peer, uint8_t channel, UcxArrival& arrival);
  /// Message `next` of a channel is waited for, and `peer` said goodbye: if it never sent that one,
  /// it is lost.
  void missed(UcxPeer& peer, uint8_t channel, uint32_t next);
  /// This rank waits for `peer`, which it may have sent nothing yet: it shall know, and this rank
  /// whether it lives.
  void awaits(UcxPeer& peer);
  bool fewMeet() const { return fewMeet_; }
  /// There is more for `peer`, which said goodbye without having taken what is under way.
  void untaken(UcxPeer& peer);
  /// Tests: the worker that message `sequence` came by, while it is not released.
  void* heldBy(int rank, uint8_t channel, uint32_t sequence) const {
    return peerOf(rank).channels[channel].arrival(sequence)->by;
  }
  /// Waits until what was sent has left, for so long that a living peer would have taken it.
  void settle();
  /// Until UCX writes no more into the caller's memory, which may be used for something else next;
  /// living peers need no time for that, and of others the network says soon that they are lost.
  void settleZeroCopies();

 private:
  using Outgoing = UcxOutgoing;

  UcxTransport(UcxWorker& worker, int rank, Wish wish);
  void meet(Bootstrap& boot);
  size_t meetRail(Bootstrap& boot, size_t rail);
  void attach();
  void chooseWhoMeets();
  void connect();
  void need(UcxPeer& peer);
  UcxEndpoint* endpointOf(UcxPeer& peer, size_t rail);
  void openWay(UcxPeer& peer, size_t rail);
  void goOn(UcxPeer& peer);
  void letGo(UcxPeer& peer, size_t rail);
  void forgetData(UcxWay& way);
  /// The communicator has ended, or others are about to be told so.
  bool ended() const { return !told_.empty() || !untold_.empty(); }
  std::string noWay(const UcxPeer& peer, size_t rail, const char* why) const;
  void watchHosts();
  void greet(Bootstrap& boot);
  void renew(UcxPeer& peer, size_t rail);
  void sayHello();
  void endGreeting();
  std::string silentPeer() const;
  std::string networksTo(const UcxPeer& peer, size_t rail) const;
  UcxPeer& peerOf(int rank) const { return *peers_[static_cast<size_t>(rank)]; }
  UcxHeader headerTo(const UcxPeer& peer, UcxKind kind) const;

  // With the lock held:
  void send(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes,
            UcxPending* pending, size_t rail = 0);
  void sendCopy(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes,
                size_t rail = 0);
  Outgoing* newOutgoing(const UcxHeader& header, UcxPending* pending);
  void launch(UcxPeer& peer, Outgoing* out, const void* data, size_t bytes, size_t rail);
  void finish(Outgoing* out);
  enum class Whom { All, Untold };
  void spread(const UcxEnd& end, Whom whom = Whom::All);
  void tellEnd(UcxPeer& peer, const UcxEnd& end);
  void onAbort(UcxPeer& peer, UcxEnd end);
  bool sayBye();
  ucs_status_t onMessage(ucp_worker_h by, const UcxHeader& header, void* data, size_t bytes,
                         uint64_t attributes) override;
  ucs_status_t take(UcxPeer& peer, UcxArrival& arrival, const UcxHeader& header, void* data,
                    uint64_t attributes);
  void noteCalls(int rank, const char* data, size_t bytes);
  void onWord(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes);
  void onFailure(const UcxEndpoint& endpoint) override;
  void onHostEvent(const HostWatch::Event& event) override;
  bool afterFailure() override;
  bool othersKnowBetter(const UcxPeer& peer) const;
  void doubt(UcxPeer& peer, const std::string& status);
  void lose(UcxPeer& peer, FarLoss how, const std::string& why);
  UcxArrival& placeFor(UcxChannel& channel, uint32_t sequence);
  template <class Act>
  void onArrivals(const Act& act);
  std::unique_ptr<char[]> takeBuffer();
  UcxZeroCopy& newZeroCopy(UcxPeer& peer, bool receives, void* data, size_t bytes, MemoryKind kind);
  void launch(UcxZeroCopy& move);
  bool onZeroCopy(UcxPeer& peer, const UcxZeroCopies::Offer& offer);
  bool takeOffer(UcxZeroCopy& move, const UcxZeroCopies::Offer& offer);
  bool noteZeroCopy(UcxZeroCopy& move, void* request);
  void refuseOffers();

  static void sent(void* request, ucs_status_t status, void* outgoing);
  static void received(void* request, ucs_status_t status, size_t bytes, void* arrival);
  static void zeroCopyEnded(UcxZeroCopy& move, void* request, ucs_status_t status);

  UcxWorker& worker_;
  int rank_;
  uint64_t group_ = 0;
  Wish wish_;
  bool attached_ = false;
  bool fewMeet_ = false;  ///< Ways are made when they are first used.
  bool greeting_ = false;
  bool closing_ = false;
  std::atomic<bool> hurries_{false};
  std::vector<UcxEnd> untold_, told_;            // to be sent on; sent on
  std::vector<std::shared_ptr<void>> kept_;      // by keep()
  size_t inFlight_ = 0;                          // sends and receives that UCX has not finished
  size_t zeroCopying_ = 0;                       // of them, those that write into caller's memory
  int settleMs_ = 1000;                          // left for waiting in settle()
  std::vector<std::unique_ptr<UcxPeer>> peers_;  // by rank; nullptr for near ones
  std::vector<UcxPeer*> all_;
  std::vector<UcxPeer*> meets_;  // before the communicator is used
  std::vector<std::unique_ptr<Outgoing>> outgoings_;
  std::vector<Outgoing*> idle_;
  std::vector<std::unique_ptr<UcxZeroCopy>> zeroCopies_;
  std::vector<UcxZeroCopy*> idleZeroCopies_;
  std::vector<std::unique_ptr<char[]>> buffers_;
};

}  // namespace rondo
