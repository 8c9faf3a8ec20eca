#pragma once
// Channels through shared memory.

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "p2p/shm_layout.h"
#include "p2p/staging_way.h"
#include "p2p/transport.h"

namespace rondo {

/// Staging of a lease that all its channels take in turn, window by window, so that each one's next
/// message lies where none was for long. Two ranks on cores that share a last cache, 64 KiB, 256
/// KiB and 1 MiB of all-reduce: 0.53, 0.52 and 0.55 of the time (EPYC, family 25, 2026-11-22).
class WideArea {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  /// `offset`: of the first window, from the segment's start.
  WideArea(const ShmLayout& layout, char* segment, uint64_t offset)
      : segment_(segment),
        offset_(offset),
        bytes_(layout.areaBytes),
        taken_(static_cast<size_t>(layout.windows), false) {}

  /// Of all windows.
  uint64_t bytes() const { return taken_.size() * bytes_; }
  /// Whether a message of `bytes` bytes may go into a window. Not the first ones of a lease: a
  /// short job shall not pay for pages that nobody has touched, 2 ms where a virtual machine has to
  /// find them. Nor late: who measures 4 KiB is still warming up (100 calls of OSU's).
  bool open(size_t bytes) {
    if (bytes < kLeastWide) return false;
    if (carried_ > kFirst) [[likely]]
      return true;
    carried_ += bytes;
    if (carried_ > kFirst) populate(segment_ + offset_, this->bytes());
    return carried_ > kFirst;
  }
  /// The offset of a window from the segment's start: the one that was free for the longest, or
  /// kNone.
  uint64_t take();
  /// Gives it back. kNone does nothing.
  void give(uint64_t window);

 private:
  char* segment_;
  uint64_t offset_, bytes_;
  std::vector<bool> taken_;
  size_t next_ = 0;
  uint64_t carried_ = 0;

  static constexpr uint64_t kFirst = 128u << 10;
};

/// A peer's wide area as a reader sees it.
class PeerWindows {
 public:
  PeerWindows(const ShmLayout& layout, char* peerLease)
      : begin_(peerLease + layout.windowsAt()), bytes_(layout.windowBytes()) {}
  /// A message lies in one.
  void met() {
    if (!std::exchange(mapped_, true)) [[unlikely]]
      populate(begin_, bytes_);
  }

 private:
  char* begin_;
  uint64_t bytes_;
  bool mapped_ = false;
};

/// Writes into this rank's own lease.
class ShmSendPort final : public SendPort {
 public:
  /// `lease` is where the rank's lease is mapped, `segment` where its segment starts.
  /// `stamp`: what goes with every message, read when it is posted.
  /// `wide`, if not nullptr, is the lease's.
  ShmSendPort(const ShmLayout& layout, int channel, int readers, char* lease, char* segment,
              const uint32_t* stamp, std::shared_ptr<WideArea> wide = nullptr);

  void* tryAcquire(size_t bytes) override;
  void post(size_t bytes, void* landing) override;
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override;
  bool reaches(const void* data, size_t bytes) const override;
  bool drained() override;
  uint64_t released() const override { return released_; }

 private:
  MessageHeader& header() { return headers_[posted_ % ShmLayout::kHeaders]; }
  bool full();
  uint64_t firstReleased();
  void refresh();
  uint64_t placeOf(uint64_t position, size_t bytes);
  void publish(uint64_t offset, size_t bytes, void* landing, Run run);

  MessageHeader* headers_;
  ReaderLine* readers_;
  char* segment_;
  const uint32_t* stamp_;
  uint64_t areaOffset_;  // from the segment's start
  uint64_t areaBytes_;
  int readerCount_;
  uint64_t posted_ = 0;    // messages
  uint64_t released_ = 0;  // messages that all readers are known to have released
  uint64_t lookedAt_ = 0;  // messages posted when the first reader's line was last looked at
  uint64_t listenAt_ = 0;  // messages posted when the first reader's line is to be timed next
  StagingWays staging_;
  std::shared_ptr<WideArea> wide_;
  // A round is one way through the area; messages under way are of the last two at most.
  struct {
    uint64_t round = 0, window = WideArea::kNone;
  } held_[2];
  bool holds_ = false;     // a window
  uint64_t inPlace_ = 0;   // 1 + the last message posted in place
  uint64_t acquired_ = 0;  // offset of the acquired space from the segment's start
  // The area is a ring; positions count bytes for ever, waste at its end included.
  uint64_t head_ = 0;
  uint64_t freed_ = 0;
  uint64_t pendingStart_ = 0;                  // where the acquired space begins, and
  uint64_t pendingHead_ = 0;                   // head_ once the acquired space is posted
  uint64_t starts_[ShmLayout::kHeaders] = {};  // where each message under way begins
};

/// Reads a peer's channel where it lies.
class ShmRecvPort final : public RecvPort {
 public:
  /// `windows`: of the peer, of all channels from it; nullptr: it has none.
  ShmRecvPort(const ShmLayout& layout, int channel, int reader, char* peerLease, char* peerSegment,
              std::shared_ptr<PeerWindows> windows = nullptr);

  bool tryPeek(Message* message) override;
  void release() override;

 private:
  MessageHeader* headers_;
  ReaderLine* line_;
  char* segment_;
  std::shared_ptr<PeerWindows> windows_;
  uint64_t next_ = 0;
  uint32_t taken_ = 0;  // of the run at hand
  uint32_t left_ = 0;   // of it, behind the message that was peeked last
};

}  // namespace rondo
