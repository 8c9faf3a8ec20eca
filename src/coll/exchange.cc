#include "coll/exchange.h"

#include <algorithm>

#include "base/error.h"

namespace rondo {
namespace {

/// Below this many bytes a copy costs less than waiting for the reader at the end of the call.
constexpr uint64_t kLeastInPlace = 16384;
/// A message's length is 32 bits wide.
constexpr uint64_t kMostInPlace = 1u << 30;

/// Both sides of a transfer know its length.
uint32_t stampOf(uint64_t bytes) {
  const uint64_t mixed = (bytes + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(mixed >> 32) | 1u;
}

}  // namespace

std::string Exchange::selfFault(int rank, const std::vector<Transfer>& transfers) {
  std::vector<uint64_t> sends, receives;
  for (const Transfer& t : transfers) {
    if (t.peer == rank) (t.sends ? sends : receives).push_back(t.bytes);
  }
  if (sends.size() != receives.size()) {
    return format(
        "rank %d sends itself %zu messages and receives %zu from itself; allowed: as "
        "many, in one group",
        rank, sends.size(), receives.size());
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    if (sends[i] == receives[i]) continue;
    return format("rank %d sends itself %llu bytes and receives %llu; allowed: the same", rank,
                  static_cast<unsigned long long>(sends[i]),
                  static_cast<unsigned long long>(receives[i]));
  }
  return "";
}

void Exchange::copySelf(const std::vector<Transfer>& transfers) {
  std::vector<const Transfer*> sends, receives;
  for (const Transfer& t : transfers) {
    if (t.peer == rank_) (t.sends ? sends : receives).push_back(&t);
  }
  for (size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
    if (sends[i]->bytes == 0 || sends[i]->data == receives[i]->data) continue;
    context_.copy(receives[i]->data, nullptr, sends[i]->data, sends[i]->bytes, CopyTo::kUser);
  }
}

void Exchange::begin(const Channels& channels, int rank, const std::vector<Transfer>& transfers,
                     const ExchangeContext& context) {
  context_ = context;
  chunk_ = channels.chunkBytes;
  rank_ = rank;
  queues_.clear();
  mismatch_.clear();
  copySelf(transfers);
  for (const Transfer& t : transfers) {
    if (t.peer == rank) continue;
    auto queue = std::find_if(queues_.begin(), queues_.end(), [&t](const Queue& q) {
      return q.peer == t.peer && q.sends == t.sends;
    });
    if (queue == queues_.end()) {
      const size_t index = channels.index(0, t.peer);
      Queue fresh{};
      fresh.peer = t.peer;
      fresh.sends = t.sends;
      if (t.sends) fresh.send = channels.sends[index].get();
      if (!t.sends) fresh.recv = channels.pairRecvs[index].get();
      queues_.push_back(std::move(fresh));
      queue = queues_.end() - 1;
    }
    queue->transfers.push_back(t);
  }
}

bool Exchange::poll(bool* moved) {
  bool done = true;
  for (Queue& queue : queues_) {
    while (!queue.transfers.empty() && advance(queue)) *moved = true;
    done &= queue.transfers.empty() && (queue.send == nullptr || queue.send->drained());
  }
  return done;
}

/// One message of the queue's first transfer (an empty transfer is one, too); false if that has to
/// wait.
bool Exchange::advance(Queue& queue) {
  const Transfer& t = queue.transfers.front();
  if (!(queue.sends ? sendSome(queue) : receiveSome(queue))) return false;
  if (queue.done == t.bytes) {
    queue.transfers.pop_front();
    queue.done = 0;
  }
  return true;
}

bool Exchange::sendSome(Queue& queue) {
  const Transfer& t = queue.transfers.front();
  const char* from = t.data + queue.done;
  const uint64_t left = t.bytes - queue.done;
  *context_.stamp = stampOf(t.bytes);
  const uint64_t whole = std::min(left, kMostInPlace);
  if (left >= kLeastInPlace && queue.send->reaches(from, whole)) {
    if (!queue.send->tryPostInPlace(from, whole, nullptr)) return false;
    queue.done += whole;
    return true;
  }
  const uint64_t bytes = std::min(left, chunk_);
  void* space = queue.send->tryAcquire(bytes);
  if (space == nullptr) return false;
  if (bytes > 0) context_.copy(space, nullptr, from, bytes, CopyTo::kStaging);
  queue.send->post(bytes, nullptr);
  queue.done += bytes;
  return true;
}

bool Exchange::receiveSome(Queue& queue) {
  Message message{};
  if (!queue.recv->tryPeek(&message)) return false;
  const Transfer& t = queue.transfers.front();
  if (message.stamp != stampOf(t.bytes) || message.bytes > t.bytes - queue.done) {
    mismatch_ = format(
        "rank %d receives %llu bytes from rank %d, which sends another number of "
        "bytes or is in another call; allowed: the count of the matching rondoSend",
        rank_, static_cast<unsigned long long>(t.bytes), queue.peer);
    return false;
  }
  if (message.bytes > 0) {
    const CopyTo to = t.bytes >= context_.streamBytes ? CopyTo::kPast : CopyTo::kUser;
    context_.copy(t.data + queue.done, nullptr, message.data, message.bytes, to);
  }
  queue.recv->release();
  queue.done += message.bytes;
  return true;
}

}  // namespace rondo
