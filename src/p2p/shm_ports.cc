#include "p2p/shm_ports.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/ticks.h"

namespace rondo {
namespace {

constexpr uint64_t kLine = 64;
/// Messages.
[[maybe_unused]] constexpr uint64_t kListenEvery = 16;
uint64_t lines(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

uint64_t WideArea::take() {
  for (size_t k = 0; k < taken_.size(); ++k) {
    const size_t at = (next_ + k) % taken_.size();
    if (taken_[at]) continue;
    taken_[at] = true;
    next_ = at + 1;
    return offset_ + at * bytes_;
  }
  return kNone;
}

void WideArea::give(uint64_t window) {
  if (window != kNone) taken_[(window - offset_) / bytes_] = false;
}

ShmSendPort::ShmSendPort(const ShmLayout& layout, int channel, int readers, char* lease,
                         char* segment, const uint32_t* stamp, std::shared_ptr<WideArea> wide)
    : headers_(reinterpret_cast<MessageHeader*>(lease + layout.headersAt(channel))),
      readers_(reinterpret_cast<ReaderLine*>(lease + layout.readerLineAt(channel, 0))),
      segment_(segment),
      stamp_(stamp),
      areaOffset_(static_cast<uint64_t>(lease - segment) + layout.areaAt(channel)),
      areaBytes_(layout.areaBytes),
      readerCount_(readers),
      wide_(std::move(wide)) {}

/// The first reader's count. Now and then, if it has changed, how long its line took to come says
/// how near the reader is. Not often: what comes next has to wait for a line that is timed. And
/// only at the first look since a message was posted: one that is looked at over and over may be
/// on its way already.
uint64_t ShmSendPort::firstReleased() {
  std::atomic_ref released(readers_->released);
#if defined(__x86_64__)
  if (posted_ >= listenAt_ && posted_ != std::exchange(lookedAt_, posted_)) {
    __builtin_ia32_lfence();
    const uint64_t began = ticks();
    const uint64_t count = released.load(std::memory_order_acquire);
    __builtin_ia32_lfence();
    const uint64_t took = ticks() - began;
    if (count != released_) {
      staging_.heard(took);
      listenAt_ = posted_ + kListenEvery;
    }
    return count;
  }
#endif
  return released.load(std::memory_order_acquire);
}

void ShmSendPort::refresh() {
  uint64_t least = std::min(posted_, firstReleased());
  for (int r = 1; r < readerCount_; ++r) {
    const uint64_t count = std::atomic_ref(readers_[r].released).load(std::memory_order_acquire);
    if (count < least) least = count;
  }
  released_ = least;
  freed_ = least == posted_ ? head_ : starts_[least % ShmLayout::kHeaders];
}

bool ShmSendPort::full() {
  if (posted_ - released_ < ShmLayout::kHeaders) return false;
  refresh();
  return posted_ - released_ >= ShmLayout::kHeaders;
}

/// Where a long message of `bytes` bytes at `position` of the ring lies, from the segment's start.
/// Both places keep messages under way apart, so each message can have either.
uint64_t ShmSendPort::placeOf(uint64_t position, size_t bytes) {
  const uint64_t within = position & (areaBytes_ - 1);
  StagingWay& way = staging_.of(bytes);
  way_ = &way;
  way.choose(wide_ != nullptr && wide_->open(bytes) ? wide_->bytes() : 0);
  if (!way.wide() && !holds_) return areaOffset_ + within;
  const uint64_t round = position / areaBytes_;
  auto& held = held_[round % 2];
  // All messages of the round before the last one are released.
  if (held.round != round && held.window != WideArea::kNone) {
    wide_->give(held.window);
    held.window = WideArea::kNone;
  }
  if (way.wide()) {
    if (held.window == WideArea::kNone) held = {round, wide_->take()};
    if (held.window == WideArea::kNone) way.choose(0);
  }
  holds_ = held_[0].window != WideArea::kNone || held_[1].window != WideArea::kNone;
  return (way.wide() ? held.window : areaOffset_) + within;
}

void* ShmSendPort::tryAcquire(size_t bytes) {
  if (full()) return nullptr;
  // Short messages that do not run ahead stay in the first lines of the area: a walk through all of
  // it meets a new page each 4 KiB, 5 us on both sides (128 B of all-reduce took 0.42 us for 500
  // calls, then 0.24; EPYC of family 25, 2026-11-28).
  if (released_ == posted_ && bytes < kLeastPast && !holds_) {
    head_ -= head_ & (areaBytes_ - 1);
    freed_ = head_;
  }
  pendingStart_ = pendingHead_ = head_;
  way_ = nullptr;
  if (bytes <= ShmLayout::kInline) {
    unsigned char* space = header().inlined;
    acquired_ = static_cast<uint64_t>(reinterpret_cast<char*>(space) - segment_);
    return space;
  }
  // No message crosses from one half of the area into the other: so two always find room, however
  // long they are.
  const uint64_t half = areaBytes_ / 2;
  const uint64_t need = lines(bytes);
  const uint64_t at = head_ % half;
  const uint64_t waste = at + need > half ? half - at : 0;
  if (head_ + waste + need - freed_ > areaBytes_) {
    refresh();
    if (head_ + waste + need - freed_ > areaBytes_) return nullptr;
  }
  pendingStart_ = head_ + waste;
  pendingHead_ = pendingStart_ + need;
  acquired_ = bytes >= kLeastPast ? placeOf(pendingStart_, bytes)
                                  : areaOffset_ + (pendingStart_ & (areaBytes_ - 1));
  return segment_ + acquired_;
}

void ShmSendPort::publish(uint64_t offset, size_t bytes, void* landing, Run run) {
  MessageHeader& h = header();
  h.offset = offset;
  h.bytes = static_cast<uint32_t>(bytes);
  h.stamp = *stamp_;
  h.landing =
      landing == nullptr ? 0 : static_cast<uint64_t>(static_cast<char*>(landing) - segment_);
  if (run.blocks > 1) {
    const RunHeader whole{run.blocks, run.stride};
    std::memcpy(h.inlined, &whole, sizeof whole);
    h.landing |= MessageHeader::kRun;
  }
  starts_[posted_ % ShmLayout::kHeaders] = pendingStart_;
  head_ = pendingHead_;
  ++posted_;
  std::atomic_ref(h.sequence).store(posted_, std::memory_order_release);
}

void ShmSendPort::post(size_t bytes, void* landing) {
  const uint64_t window = way_ != nullptr && way_->wide() ? MessageHeader::kWide : 0;
  publish(acquired_ | window, bytes, landing, {});
  if (way_ != nullptr) way_->posted();
}

bool ShmSendPort::tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) {
  if (full()) return false;
  pendingStart_ = pendingHead_ = head_;
  publish(static_cast<uint64_t>(static_cast<const char*>(data) - segment_), bytes, landing, run);
  if (bytes > 0) inPlace_ = posted_;
  return true;
}

bool ShmSendPort::reaches(const void* data, size_t bytes) const {
  return Segment::own().inHeap(data, bytes);
}

bool ShmSendPort::drained() {
  if (released_ >= inPlace_) return true;
  refresh();
  return released_ >= inPlace_;
}

ShmRecvPort::ShmRecvPort(const ShmLayout& layout, int channel, int reader, char* peerLease,
                         char* peerSegment, std::shared_ptr<PeerWindows> windows)
    : headers_(reinterpret_cast<MessageHeader*>(peerLease + layout.headersAt(channel))),
      line_(reinterpret_cast<ReaderLine*>(peerLease + layout.readerLineAt(channel, reader))),
      segment_(peerSegment),
      windows_(std::move(windows)) {}

bool ShmRecvPort::tryPeek(Message* message) {
  MessageHeader& h = headers_[next_ % ShmLayout::kHeaders];
  if (std::atomic_ref(h.sequence).load(std::memory_order_acquire) != next_ + 1) return false;
  message->data = segment_ + (h.offset & ~MessageHeader::kWide);
  message->wide = (h.offset & MessageHeader::kWide) != 0;
  if (message->wide && windows_ != nullptr) windows_->met();
  message->bytes = h.bytes;
  message->stamp = h.stamp;
  if ((h.landing & MessageHeader::kRun) != 0) [[unlikely]] {
    RunHeader run;
    std::memcpy(&run, h.inlined, sizeof run);
    const uint64_t landing = h.landing & ~MessageHeader::kRun;
    message->data = segment_ + h.offset + taken_ * run.stride;
    message->landing = landing == 0 ? nullptr : segment_ + landing + taken_ * run.stride;
    message->left = left_ = static_cast<uint32_t>(run.blocks) - taken_ - 1;
    return true;
  }
  message->landing = h.landing == 0 ? nullptr : segment_ + h.landing;
  message->left = 0;
  return true;
}

void ShmRecvPort::release() {
  if (left_ > 0) [[unlikely]] {
    --left_;
    ++taken_;
    return;
  }
  taken_ = 0;
  std::atomic_ref(line_->released).store(++next_, std::memory_order_release);
}

}  // namespace rondo
