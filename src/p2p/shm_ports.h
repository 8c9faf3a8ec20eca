#pragma once
// Channels through shared memory.

#include <atomic>
#include <vector>

#include "p2p/shm_layout.h"
#include "p2p/staging_way.h"
#include "p2p/transport.h"

namespace rondo {

/// Writes into this rank's own lease.
class ShmSendPort final : public SendPort {
 public:
  /// `lease` is where the rank's lease is mapped, `segment` where its segment starts.
  /// `stamp`: what goes with every message, read when it is posted.
  ShmSendPort(const ShmLayout& layout, int channel, int readers, char* lease, char* segment,
              const uint32_t* stamp);

  void* tryAcquire(size_t bytes) override;
  void post(size_t bytes, void* landing) override;
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override;
  bool reaches(const void* data, size_t bytes) const override;
  bool drained() override;

 private:
  MessageHeader& header() { return headers_[posted_ % ShmLayout::kHeaders]; }
  bool full();
  void refresh();
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
  StagingWay staging_;
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
  ShmRecvPort(const ShmLayout& layout, int channel, int reader, char* peerLease, char* peerSegment);

  bool tryPeek(Message* message) override;
  void release() override;

 private:
  MessageHeader* headers_;
  ReaderLine* line_;
  char* segment_;
  uint64_t next_ = 0;
  uint32_t taken_ = 0;  // of the run at hand
  uint32_t left_ = 0;   // of it, behind the message that was peeked last
};

}  // namespace rondo
