#include "coll/exchange.h"

#include <algorithm>

#include "base/error.h"
#include "coll/staging_copy.h"

namespace rondo {
namespace {

/// Below this many bytes a copy costs less than waiting for the reader at the end of the call.
constexpr uint64_t kLeastInPlace = 16384;
/// A message's length is 32 bits wide.
constexpr uint64_t kMostInPlace = 1u << 30;

/// The next transfer of `rank` with itself in one direction, from place `at` on; the end if there
/// is none.
size_t nextSelf(int rank, bool sends, std::span<const Transfer> transfers, size_t at) {
  while (at < transfers.size() && (transfers[at].peer != rank || transfers[at].sends != sends))
    ++at;
  return at;
}

size_t countSelf(int rank, bool sends, std::span<const Transfer> transfers) {
  return static_cast<size_t>(std::count_if(
      transfers.begin(), transfers.end(),
      [rank, sends](const Transfer& t) { return t.peer == rank && t.sends == sends; }));
}

/// Calls use(send, receive) for the pairs that meet in this rank.
template <class Use>
void forEachSelfPair(int rank, std::span<const Transfer> transfers, const Use& use) {
  size_t s = nextSelf(rank, true, transfers, 0);
  size_t r = nextSelf(rank, false, transfers, 0);
  while (s < transfers.size() && r < transfers.size()) {
    use(transfers[s], transfers[r]);
    s = nextSelf(rank, true, transfers, s + 1);
    r = nextSelf(rank, false, transfers, r + 1);
  }
}

}  // namespace

std::string Exchange::selfFault(int rank, std::span<const Transfer> transfers) {
  const size_t sends = countSelf(rank, true, transfers),
               receives = countSelf(rank, false, transfers);
  if (sends != receives) {
    return format(
        "rank %d sends itself %zu messages and receives %zu from itself; allowed: as "
        "many, in one group",
        rank, sends, receives);
  }
  std::string fault;
  forEachSelfPair(rank, transfers, [&](const Transfer& send, const Transfer& receive) {
    if (send.bytes == receive.bytes || !fault.empty()) return;
    fault = format("rank %d sends itself %llu bytes and receives %llu; allowed: the same", rank,
                   static_cast<unsigned long long>(send.bytes),
                   static_cast<unsigned long long>(receive.bytes));
  });
  return fault;
}

void Exchange::copySelf() {
  forEachSelfPair(rank_, transfers_, [this](const Transfer& send, const Transfer& receive) {
    if (send.bytes == 0 || send.data == receive.data) return;
    context_.copy(receive.data, nullptr, send.data, send.bytes, CopyTo::kUser);
  });
}

/// Both sides of a transfer know its length.
uint32_t Exchange::stampOf(const Transfer& t) const {
  const uint64_t known = context_.tag != 0 ? context_.tag : t.bytes;
  const uint64_t mixed = (known + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(mixed >> 32) | 1u;
}

Exchange::Queue& Exchange::queueOf(const Channels& channels, const Transfer& t) {
  uint32_t& at = queueAt_[2 * static_cast<size_t>(t.peer) + (t.sends ? 1 : 0)];
  if (at == kNone) {
    at = static_cast<uint32_t>(queues_.size());
    const size_t index = channels.index(0, t.peer);
    SendPort* send = t.sends ? channels.sends[index].get() : nullptr;
    RecvPort* recv = t.sends ? nullptr : channels.pairRecvs[index].get();
    // A far rank takes a message into staging of its own.
    const uint64_t most = channels.isFar(t.peer) ? channels.chunkBytes : kMostInPlace;
    queues_.push_back({t.peer, t.sends, send, recv, kNone, kNone, stampOf(t), 0, most});
  }
  return queues_[at];
}

void Exchange::begin(const Channels& channels, int rank, std::span<const Transfer> transfers,
                     const ExchangeContext& context) {
  context_ = context;
  chunk_ = channels.chunkBytes;
  rank_ = rank;
  transfers_ = transfers;
  queues_.clear();
  mismatch_.clear();
  next_.assign(transfers.size(), kNone);
  queueAt_.assign(2 * static_cast<size_t>(channels.ranks), kNone);
  bool withSelf = false;
  for (uint32_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].peer == rank) {
      withSelf = true;
      continue;
    }
    Queue& queue = queueOf(channels, transfers[i]);
    (queue.first == kNone ? queue.first : next_[queue.last]) = i;
    queue.last = i;
  }
  if (withSelf) copySelf();
}

size_t Exchange::pending(std::span<Pending> out) const {
  size_t all = 0;
  const auto add = [&](const Pending& one) {
    if (all < out.size()) out[all] = one;
    ++all;
  };
  for (const Queue& queue : queues_) {
    if (queue.first != kNone) {
      add({queue.peer, queue.sends, queue.done, transfers_[queue.first].bytes});
    } else if (queue.send != nullptr && !queue.send->drained()) {
      add({queue.peer, true, 0, 0});
    }
  }
  return all;
}

int Exchange::waitsFor(const std::function<bool(int)>& which) const {
  for (const Queue& queue : queues_) {
    const bool ended = queue.first == kNone && (queue.send == nullptr || queue.send->drained());
    if (!ended && which(queue.peer)) return queue.peer;
  }
  return -1;
}

bool Exchange::poll(bool* moved) {
  bool done = true;
  for (Queue& queue : queues_) {
    while (queue.first != kNone && advance(queue)) *moved = true;
    done &= queue.first == kNone && (queue.send == nullptr || queue.send->drained());
  }
  return done;
}

/// One message of the queue's first transfer (an empty transfer is one, too); false if that has to
/// wait.
bool Exchange::advance(Queue& queue) {
  const Transfer& t = transfers_[queue.first];
  if (!(queue.sends ? sendSome(queue, t) : receiveSome(queue, t))) return false;
  if (queue.done == t.bytes) {
    queue.first = next_[queue.first];
    queue.done = 0;
    if (queue.first != kNone) queue.stamp = stampOf(transfers_[queue.first]);
  }
  return true;
}

bool Exchange::sendSome(Queue& queue, const Transfer& t) {
  const char* from = t.data + queue.done;
  const uint64_t left = t.bytes - queue.done;
  *context_.stamp = queue.stamp;
  const uint64_t whole = std::min(left, queue.mostInPlace);
  if (left >= kLeastInPlace && queue.send->reaches(from, whole)) {
    if (!queue.send->tryPostInPlace(from, whole, nullptr, {})) return false;
    queue.done += whole;
    return true;
  }
  const uint64_t bytes = std::min(left, chunk_);
  void* space = queue.send->tryAcquire(bytes);
  if (space == nullptr) return false;
  if (bytes > 0) copyToStaging(context_.copy, *queue.send, space, from, bytes);
  queue.send->post(bytes, nullptr);
  queue.done += bytes;
  return true;
}

bool Exchange::receiveSome(Queue& queue, const Transfer& t) {
  Message message{};
  if (!queue.recv->tryPeek(&message)) return false;
  if (message.stamp != queue.stamp || message.bytes > t.bytes - queue.done) {
    mismatch_ = format(
        "rank %d receives %llu bytes from rank %d, which sends another number of "
        "bytes or is in another call; allowed: the count of the matching rondoSend",
        rank_, static_cast<unsigned long long>(t.bytes), queue.peer);
    return false;
  }
  if (message.bytes > 0) {
    const CopyTo to = toUser(message, t.bytes >= context_.streamBytes);
    context_.copy(t.data + queue.done, nullptr, message.data, message.bytes, to);
  }
  queue.recv->release();
  queue.done += message.bytes;
  return true;
}

}  // namespace rondo
