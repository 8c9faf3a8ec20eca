#pragma once
// What moves messages to ranks on other hosts, whatever network there is.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "p2p/far_news.h"
#include "p2p/transport.h"

namespace rondo {

/// What became of a far rank.
enum class FarLoss {
  Broken,  ///< The network says that the way to it is gone, and so is most likely the rank.
  Ended,   ///< Its host says that its process has ended.
  Silent,  ///< Nothing comes from its host any more.
  Left,    ///< It lives, but has let go of the communicator while it was waited for.
};

/// What a network hands up. Called by whichever thread moves its bytes; must return at once and
/// call nothing of the network.
class FarEvents {
 public:
  virtual ~FarEvents() = default;
  /// What a far rank passed to FarTransport::abort().
  virtual void farAborted(uint32_t word, uint32_t detail, std::string_view why) = 0;
  /// Returns the word that the other far ranks shall get.
  virtual uint32_t farLost(int rank, FarLoss how, const std::string& why) = 0;
  /// `rank` has let go of the communicator.
  virtual void farLeft(int rank) = 0;
  /// What `rank` called, and what it means to move between itself and this rank.
  virtual void farCalled(int rank, const Call& call, PairCounts counts) = 0;
  /// What `rank` passed to FarTransport::share().
  virtual void farNews(int rank, const FarNews& news) = 0;
};

/// Whose memory a message lies in.
enum class MemoryKind : uint8_t { Host, Cuda };

/// A message that the network reads or writes where it lies; see FarTransport.
class ZeroCopy {
 public:
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 protected:
  ~ZeroCopy() = default;
  std::atomic<bool> ended_{false};
};

/// One communicator's ways to the ranks of other hosts. Ranks are the communicator's.
class FarTransport {
 public:
  virtual ~FarTransport() = default;

  /// Ports like those of Channels. `stamp` goes with every message, read when it is posted.
  virtual std::unique_ptr<SendPort> sendTo(int lane, int rank, const uint32_t* stamp) = 0;
  /// To all far ranks.
  virtual std::unique_ptr<SendPort> sendToAll(int lane, const uint32_t* stamp) = 0;
  /// The reading end of sendTo(), or of sendToAll().
  virtual std::unique_ptr<RecvPort> recvFrom(int lane, int rank, bool everyone) = 0;

  /// Moves what can be moved at once; any thread. Ports do the same while they have to wait.
  virtual void progress() = 0;
  /// Ends calls on all far ranks, whose FarEvents::farAborted() gets all of it; of `why` a thousand
  /// bytes. Any thread.
  virtual void abort(uint32_t word, uint32_t detail, std::string_view why) = 0;
  /// From now on abort() does not wait until its words have left, for a thread that has others to
  /// serve: the network's own thread moves them.
  virtual void hurry() {}
  /// What messages lie in: until the transport's end, and where the network has some of them even
  /// then, for good.
  virtual void keep(std::shared_ptr<void> /*memory*/) {}
  /// Lets `rank` know what this rank called.
  virtual void tell(int rank, std::span<const ToldCall> calls) = 0;
  /// Tells far rank `to`.
  virtual void share(const FarNews& news, int to) = 0;
  static constexpr int kEverybody = -1;
  /// Whether there is a way to or from `rank` already. Any thread.
  virtual bool inTouch(int /*rank*/) const { return true; }
  /// The length of a message of `rank` that has come here and was not taken, if there is one.
  virtual std::optional<uint64_t> untaken(int /*rank*/) { return {}; }
  /// Between which addresses `rank`'s host is watched: "10.0.0.1 to 10.0.0.2"; empty: it is not.
  virtual std::string linkText(int rank) const = 0;

  /// Whether the network moves such memory without a copy in the host's: `always` whenever it can
  /// at all, else only where its cards do so themselves.
  virtual bool zeroCopies(MemoryKind, bool /*always*/) const { return false; }
  /// Moves bytes > 0 to `rank`, whose receiveZeroCopy() of the same turn takes as many. Both until
  /// the result has ended and is given back; one that fails never ends, but the communicator does.
  /// Any thread.
  virtual ZeroCopy* sendZeroCopy(int /*rank*/, const void*, size_t, MemoryKind) { return nullptr; }
  virtual ZeroCopy* receiveZeroCopy(int /*rank*/, void*, size_t, MemoryKind) { return nullptr; }
  virtual void giveBack(ZeroCopy*) {}
};

}  // namespace rondo
