#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <algorithm>

#include "base/error.h"
#include "coll/device_exchange.h"
#include "coll/device_in_place.h"
#include "kernels/scale.h"

namespace rondo {
namespace {

/// Finding the receiver's mark takes four microseconds more. Between two ranks graphs of 4 MiB are
/// slower for it, of 8 MiB quicker (27 to 37 us instead of 27 to 40; 2 x H100, 2026-11). Of more
/// ranks a pair has fewer lanes, and slots take longer (4 MiB: one way 20.7 us instead of 23.1,
/// gather 46 instead of 60, scatter 45 instead of 53; 4 x H200, 2026-11).
uint64_t marksFrom(int ranks) { return ranks == 2 ? 2 * kAsksFrom : kAsksFrom; }

}  // namespace

DeviceExchange::DeviceExchange(const PairView& pairs, const DirectView& direct,
                               const UserMemory& memory, const FaultView& fault, int rank, int size,
                               int blocks, CloseLaunch* close)
    : size_(size),
      blocks_(blocks),
      close_(*close),
      call_{},
      memory_(memory),
      asksFrom_(kAsksFrom),
      marksFrom_(marksFrom(size)),
      direct_(std::make_unique<DirectCall<kMostPieces>>()) {
  head().pairs = pairs;
  head().fault = fault;
  head().rank = rank;
  direct_->direct = direct;
  queues_.resize(2 * static_cast<size_t>(size));
}

void DeviceExchange::checkAvailable(const char* name) const {
  if (head().pairs.lanes > 0) return;
  throw Error(rondoUnsupported,
              format("%s: rank %d: sends and receives of device memory between %d ranks are not "
                     "available; allowed there: at most %d ranks",
                     name, head().rank, size_, kMaxPairRanks));
}

/// Fills direct_'s pieces; false if none of them asks where it goes.
bool DeviceExchange::place(CUstream_st* stream) {
  bool any = false, captures = false;
  const auto use = [&](uint64_t bytes) {
    if (!captures) return UserMemory::Use::kLaunch;
    return bytes < marksFrom_ ? UserMemory::Use::kRegistered : UserMemory::Use::kGraph;
  };
  direct_->places = memory_.graphPlaces();
  for (int q = 0; q < call_.queues; ++q) {
    const TransferQueue& queue = call_.queue[q];
    const bool mayAsk = queue.side != algo::Side::Copies && memory_.asks(queue.peer);
    for (int i = queue.begin; i < queue.end; ++i) {
      const TransferPiece& piece = call_.piece[i];
      direct_->piece[i] = {piece, kUnasked};
      if (!mayAsk || piece.bytes < asksFrom_) continue;
      memory_.prepare(queue.peer);
      if (!any) captures = streamCaptures(stream);
      any = true;
      const bool receives = queue.side == algo::Side::Receives;
      const uint64_t there =
          receives ? memory_.placeFor(queue.peer, piece.data, piece.bytes, use(piece.bytes)) : 0;
      direct_->piece[i].there = there;
      straight_ += there != 0 && (there & kGraphPlace) == 0 ? 1 : 0;
      asked_ += receives && !captures ? 1 : 0;
    }
  }
  return any;
}

int DeviceExchange::launch(int pieces, int blocks, int threads, CUstream_st* stream,
                           const CloseLaunch::Manner& manner) {
  const Launching how = close_.launching(manner);
  int error = 0;
  if (!place(stream)) {
    error = launchExchange(head(), pieces, blocks, threads, stream, how);
    if (error == 0) close_.launched(manner, stream, call_, call_.close);
  } else {
    static_cast<ExchangeHead&>(*direct_) = head();
    error = launchDirect(*direct_, pieces, blocks, threads, stream, how);
    if (error == 0) close_.launched(manner, stream, *direct_, direct_->close);
  }
  return error;
}

void DeviceExchange::collect(std::span<const Transfer> transfers) {
  for (auto& queue : queues_) queue.clear();
  bool scattered = false;
  for (const Transfer& t : transfers) {
    if (t.bytes == 0) continue;
    scattered = scattered || t.scattered;
    const size_t queue = 2 * static_cast<size_t>(t.peer) + (t.sends ? 0 : 1);
    queues_[queue].push_back({reinterpret_cast<unsigned char*>(t.data), t.bytes});
  }
  const int lanes = head().pairs.lanes;
  head().cut = scattered ? lanesOfScatter(lanes, blocks_, size_) : lanes;
}

/// Threads that a block of the transfer keeps busy.
int DeviceExchange::threadsFor(const TransferCut& cut) const {
  if (call_.pairs.lines == 0) return kExchangeThreads;
  return static_cast<int>(
      std::min<uint64_t>((cut.perLane + 479) / 480 * 32, static_cast<uint64_t>(kExchangeThreads)));
}

int DeviceExchange::launchRound(size_t round, CUstream_st* stream) {
  ExchangeHead& call = head();
  const auto most = static_cast<size_t>(mostPerQueue(size_));
  int pieces = 0, threads = 32;
  call.queues = call.items = 0;
  const auto add = [&](algo::Side side, int peer) {
    const size_t at = 2 * static_cast<size_t>(peer) + (side == algo::Side::Receives ? 1 : 0);
    const std::vector<TransferPiece>& all = queues_[at];
    const size_t begin = std::min(all.size(), round * most);
    const size_t end = std::min(all.size(), begin + most);
    if (begin == end) return;
    TransferQueue queue{side, peer, pieces, pieces, 0};
    for (size_t i = begin; i < end; ++i) {
      if (side == algo::Side::Copies && all[i].data == queues_[at + 1][i].data) continue;
      const TransferCut cut = cutTransfer(call, all[i].bytes);
      queue.lanes = std::max(queue.lanes, cut.lanes);
      call_.piece[pieces++] = all[i];
      if (side == algo::Side::Copies) call_.piece[pieces++] = queues_[at + 1][i];
      threads = std::max(threads, side == algo::Side::Copies ? kExchangeThreads : threadsFor(cut));
    }
    if (queue.lanes == 0) return;
    queue.end = pieces;
    call.items += queue.lanes;
    call.queue[call.queues++] = queue;
  };
  // Nobody begins with the same peer as others: rank r sends to r + k while it hears from r - k.
  // Large ones keep all lanes of a pair busy, and so sends half of the blocks; what this rank
  // copies to itself stands where the other half has it, which else waits for receives alone
  // (64 MiB between two: 199 us instead of 278, 2 x H200, 2026-11).
  const bool copies = !queues_[2 * static_cast<size_t>(call.rank)].empty();
  if (size_ == 1) add(algo::Side::Copies, call.rank);
  for (int k = 1; k < size_; ++k) {
    add(algo::Side::Sends, (call.rank + k) % size_);
    if (copies && k == 1) {
      add(algo::Side::Copies, call.rank);
    } else {
      const int from = copies ? k - 1 : k;
      add(algo::Side::Receives, (call.rank + size_ - from) % size_);
    }
  }
  if (copies && size_ > 1) add(algo::Side::Receives, (call.rank + 1) % size_);
  if (call.items == 0) return 0;
  const int least = (call.items + kMostHeld - 1) / kMostHeld;
  const int blocks = std::max(least, std::min(call.items, blocks_));
  const CloseLaunch::Manner manner = close_.next(blocks, stream);
  call.close = manner.ofCall();
  return launch(pieces, blocks, threads, stream, manner);
}

int DeviceExchange::enqueue(std::span<const Transfer> transfers, CUstream_st* stream) {
  collect(transfers);
  size_t longest = 0;
  for (const auto& queue : queues_) longest = std::max(longest, queue.size());
  const auto most = static_cast<size_t>(mostPerQueue(size_));
  for (size_t round = 0; round * most < longest; ++round) {
    if (const int error = launchRound(round, stream)) return error;
  }
  return 0;
}

int DeviceExchange::enqueueInPlace(std::span<const Transfer> transfers, const StreamPool& pool,
                                   CUstream_st* stream) {
  InPlaceExchange call(transfers, head().rank);
  if (call.scratchBytes() == 0) return enqueue(transfers, stream);
  void* scratch = nullptr;
  int error = pool.allocate(&scratch, call.scratchBytes(), stream);
  if (error != 0) return error;
  call.useScratch(static_cast<char*>(scratch));
  error = enqueue(call.copies(), stream);
  if (error == 0) error = enqueue(call.moves(), stream);
  const int freed = freeOnStream(scratch, stream);
  return error != 0 ? error : freed;
}

}  // namespace rondo

#endif  // HAVE_CUDA
