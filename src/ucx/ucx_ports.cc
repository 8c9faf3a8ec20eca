#include "ucx/ucx_ports.h"

#include <algorithm>
#include <chrono>

namespace rondo {
namespace {

/// Shorter messages are copied: UCX would copy them itself, and the call need not wait for them.
constexpr size_t kLeastInPlace = 16384;
constexpr uint64_t kLine = 64;
/// A message that has not come by then is waited for, and its rank is told so.
constexpr std::chrono::milliseconds kLongWait{5};

}  // namespace

UcxSendPort::UcxSendPort(UcxTransport& transport, int channel, std::vector<UcxPeer*> peers,
                         const uint32_t* stamp)
    : transport_(transport),
      channel_(static_cast<uint8_t>(channel)),
      peers_(std::move(peers)),
      stamp_(stamp),
      ringBytes_(kUcxRingChunks * transport.chunkBytes()),
      posted_(transport.firstMessage()),
      completed_(posted_) {}

UcxSendPort::~UcxSendPort() {
  advance();
  if (completed_ == posted_) return;
  transport_.settle();
  advance();
  if (completed_ != posted_) transport_.keep(std::move(state_));
}

UcxSendPort::State& UcxSendPort::state() {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  return *state_;
}

void UcxSendPort::advance() {
  while (completed_ != posted_) {
    const Slot& slot = state_->slots[completed_ % kUcxWindow];
    if (slot.pending.load(std::memory_order_acquire) != 0) return;
    tail_ = slot.end;
    ++completed_;
  }
}

uint32_t UcxSendPort::untakenBy(const UcxPeer& peer) const {
  return posted_ - peer.channels[channel_].released.load(std::memory_order_acquire);
}

bool UcxSendPort::fullNow() {
  advance();
  uint32_t underWay = posted_ - completed_;
  for (const UcxPeer* peer : peers_) underWay = std::max(underWay, untakenBy(*peer));
  return isFull(underWay);
}

/// With so many messages that a peer has not taken yet.
bool UcxSendPort::isFull(uint32_t underWay) const {
  if (underWay >= kUcxWindow) return true;
  if (underWay == 0) return false;
  const uint64_t before = state_->slots[(posted_ - underWay) % kUcxWindow].bytesBefore;
  return bytes_ - before >= kUcxWindowChunks * transport_.chunkBytes();
}

bool UcxSendPort::full() {
  if (!fullNow()) return false;
  transport_.progress();
  if (!fullNow()) return false;
  for (UcxPeer* peer : peers_) {
    // Behind its goodbye comes no credit.
    if (peer->bye.load(std::memory_order_acquire) && isFull(untakenBy(*peer))) [[unlikely]]
      transport_.untaken(*peer);
  }
  return true;
}

/// Whether the ring has `need` bytes in one piece, and from where on.
bool UcxSendPort::room(uint64_t need, uint64_t* start) {
  const uint64_t at = head_ % ringBytes_;
  const uint64_t waste = at + need > ringBytes_ ? ringBytes_ - at : 0;
  *start = head_ + waste;
  return *start + need - tail_ <= ringBytes_;
}

void* UcxSendPort::tryAcquire(size_t bytes) {
  if (full()) return nullptr;
  if (state().ring == nullptr) state_->ring.reset(new char[ringBytes_]);
  // Where nothing is under way, at the start again: short messages would touch all of the ring, a
  // page after the other, of every port that they ever went by.
  if (completed_ == posted_) head_ = tail_ = 0;
  acquired_ = (bytes + kLine - 1) / kLine * kLine;
  if (!room(acquired_, &start_)) {
    transport_.progress();
    advance();
    if (!room(acquired_, &start_)) return nullptr;
  }
  return state_->ring.get() + start_ % ringBytes_;
}

void UcxSendPort::publish(const void* data, size_t bytes, uint64_t end) {
  Slot& slot = state().slots[posted_ % kUcxWindow];
  slot.end = head_ = end;
  slot.bytesBefore = bytes_;
  slot.pending.store(static_cast<uint32_t>(peers_.size()), std::memory_order_relaxed);
  UcxHeader header{};
  header.channel = channel_;
  header.stamp = *stamp_;
  header.sequence = posted_;
  ++posted_;
  bytes_ += bytes;
  transport_.post(peers_, header, data, bytes, &slot.pending);
}

void UcxSendPort::post(size_t bytes, void*) {
  publish(state_->ring.get() + start_ % ringBytes_, bytes, start_ + acquired_);
}

bool UcxSendPort::tryPostInPlace(const void* data, size_t bytes, void*, Run) {
  if (full()) return false;
  publish(data, bytes, head_);
  return true;
}

bool UcxSendPort::reaches(const void*, size_t bytes) const { return bytes >= kLeastInPlace; }

bool UcxSendPort::drained() {
  advance();
  if (completed_ == posted_) return true;
  transport_.progress();
  advance();
  return completed_ == posted_;
}

bool UcxRecvPort::tryPeek(Message* message) {
  const UcxArrival* next = arrival();
  if (next == nullptr) {
    transport_.progress();
    next = arrival();
    if (next == nullptr) {
      if (peer_.bye.load(std::memory_order_relaxed)) [[unlikely]]
        transport_.missed(peer_, channel_, next_);
      if (transport_.fewMeet() && !awaits_) [[unlikely]]
        noteWait();
      return false;
    }
  }
  message->data = next->data;
  message->bytes = next->bytes;
  message->stamp = next->stamp;
  message->landing = nullptr;
  return true;
}

/// By the clock: how often somebody looks depends on what else there is to do.
void UcxRecvPort::noteWait() {
  const auto now = std::chrono::steady_clock::now();
  if (since_ == std::chrono::steady_clock::time_point{}) since_ = now;
  if (now - since_ < kLongWait) return;
  awaits_ = true;
  transport_.awaits(peer_);
}

void UcxRecvPort::release() {
  awaits_ = false;
  since_ = {};
  transport_.release(peer_, channel_, *arrival());
  ++next_;
}

}  // namespace rondo
