#include "layout.h"

#include <algorithm>
#include <functional>

namespace rondo::bench {
namespace {

size_t endOf(const std::vector<Piece>& pieces) {
  size_t end = 0;
  for (const Piece& piece : pieces) end = std::max(end, piece.at + piece.count);
  return end;
}

Piece own(const Seat& seat, size_t count) { return {0, count, Values::kInput, seat.rank, 0}; }

/// Blocks that follow each other.
Counts follow(std::vector<size_t> counts) {
  Counts result;
  result.displs.reserve(counts.size());
  size_t at = 0;
  for (size_t count : counts) {
    result.displs.push_back(at);
    result.mpiDispls.push_back(static_cast<int>(at));
    result.mpiCounts.push_back(static_cast<int>(count));
    at += count;
  }
  result.counts = std::move(counts);
  return result;
}

Counts even(const Seat& seat, size_t count) {
  return follow(std::vector<size_t>(static_cast<size_t>(seat.ranks), count));
}

Counts uneven(const Seat& seat, size_t count) {
  return follow(unevenCounts(count * static_cast<size_t>(seat.ranks), seat.ranks));
}

Counts unevenPairs(const Seat& seat, size_t count, int rank) {
  std::vector<size_t> counts(static_cast<size_t>(seat.ranks));
  for (int other = 0; other < seat.ranks; ++other) {
    counts[static_cast<size_t>(other)] = unevenPairCount(count, rank, other);
  }
  return follow(std::move(counts));
}

/// One piece from each rank; `origin` says where in that rank's send buffer it begins.
std::vector<Piece> fromAll(const Counts& counts, const std::function<size_t(int)>& origin) {
  std::vector<Piece> pieces;
  for (size_t r = 0; r < counts.counts.size(); ++r) {
    const int rank = static_cast<int>(r);
    pieces.push_back(
        {counts.displs[r], counts.counts[r], Values::kInput, rank, origin(static_cast<int>(r))});
  }
  return pieces;
}

Layout gatherToAll(const Seat& seat, Counts counts) {
  const auto me = static_cast<size_t>(seat.rank);
  Layout layout;
  layout.count = counts.counts[me];
  layout.send = {own(seat, layout.count)};
  layout.recv = fromAll(counts, [](int) { return size_t{0}; });
  layout.sendAt = counts.displs[me];
  layout.recvFrom = std::move(counts);
  return layout;
}

Layout gatherToRoot(const Seat& seat, Counts counts) {
  Layout layout = gatherToAll(seat, std::move(counts));
  layout.namesResult = true;
  if (seat.rank == seat.root) return layout;
  layout.recv.clear();
  layout.sendAt = 0;
  return layout;
}

Layout scatterFromRoot(const Seat& seat, Counts counts) {
  const auto me = static_cast<size_t>(seat.rank);
  Layout layout;
  layout.count = counts.counts[me];
  layout.recv = {{0, layout.count, Values::kInput, seat.root, counts.displs[me]}};
  if (seat.rank == seat.root) {
    layout.send = {own(seat, counts.total())};
    layout.recvAt = counts.displs[me];
  }
  layout.sendTo = std::move(counts);
  return layout;
}

Layout reduceToBlocks(const Seat& seat, Counts counts) {
  const auto me = static_cast<size_t>(seat.rank);
  Layout layout;
  layout.count = counts.counts[me];
  layout.send = {own(seat, counts.total())};
  layout.recv = {{0, layout.count, Values::kReduced, 0, counts.displs[me]}};
  layout.recvAt = counts.displs[me];
  layout.recvFrom = std::move(counts);
  return layout;
}

/// The other rank where ranks r and r + distance make pairs for r < distance; -1 for none.
int partner(const Seat& seat, int distance) {
  if (seat.rank >= 2 * distance) return -1;
  return seat.rank < distance ? seat.rank + distance : seat.rank - distance;
}

Layout pairUp(const Seat& seat, int distance, size_t count) {
  Layout layout;
  layout.count = count;
  layout.peer = partner(seat, distance);
  layout.leads = seat.rank < distance;
  return layout;
}

/// A window of messages one way, and one element back that says that they came.
Layout window(const Seat& seat, int distance, size_t count) {
  Layout layout = pairUp(seat, distance, count);
  if (layout.peer < 0) return layout;
  const size_t whole = count * static_cast<size_t>(seat.window);
  layout.send = {own(seat, layout.leads ? whole : 1)};
  layout.recv = {{0, layout.leads ? 1 : whole, Values::kInput, layout.peer, 0}};
  return layout;
}

Layout exchange(const Seat& seat, size_t count, size_t messages) {
  Layout layout = pairUp(seat, 1, count);
  if (layout.peer < 0) return layout;
  layout.send = {own(seat, count * messages)};
  layout.recv = {{0, count * messages, Values::kInput, layout.peer, 0}};
  return layout;
}

}  // namespace

size_t Layout::sendElements() const { return endOf(send); }
size_t Layout::recvElements() const { return endOf(recv); }

Layout repeated(const Layout& one, size_t calls, bool inPlace) {
  constexpr size_t kOrigin = 31;  // so that a call's result in another's place is noticed
  Layout all = one;
  all.sendStep = one.sendElements();
  all.recvStep = one.namesResult ? one.recvFrom.total() : one.recvElements();
  if (inPlace) {
    all.sendStep = std::max(one.sendAt + all.sendStep, one.recvAt + all.recvStep);
    all.recvStep = all.sendStep;
  }
  for (size_t i = 1; i < calls; ++i) {
    for (Piece piece : one.send) {
      piece.at += i * all.sendStep;
      piece.origin += i * kOrigin;
      all.send.push_back(piece);
    }
    for (Piece piece : one.recv) {
      piece.at += i * all.recvStep;
      piece.origin += i * kOrigin;
      all.recv.push_back(piece);
    }
  }
  return all;
}

std::vector<size_t> unevenCounts(size_t total, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  const size_t average = total / n;
  const size_t change = (average + 3) / 4;
  std::vector<size_t> counts(n, average);
  for (size_t i = 0; i + 1 < n; i += 2) {
    counts[i] += change;
    counts[i + 1] -= change;
  }
  counts.back() += total % n;
  return counts;
}

size_t unevenPairCount(size_t count, int rank, int other) {
  const size_t change = (count + 3) / 4;
  return (rank + other) % 2 == 0 ? count + change : count - change;
}

Layout layAllReduce(const Seat& seat, size_t elements) {
  Layout layout;
  layout.count = elements;
  layout.send = {own(seat, elements)};
  layout.recv = {{0, elements, Values::kReduced, 0, 0}};
  return layout;
}

Layout layReduce(const Seat& seat, size_t elements) {
  Layout layout = layAllReduce(seat, elements);
  if (seat.rank != seat.root) layout.recv.clear();
  return layout;
}

Layout layBroadcast(const Seat& seat, size_t elements) {
  Layout layout;
  layout.count = elements;
  if (seat.rank == seat.root) layout.send = {own(seat, elements)};
  layout.recv = {{0, elements, Values::kInput, seat.root, 0}};
  return layout;
}

Layout layAllGather(const Seat& seat, size_t elements) {
  return gatherToAll(seat, even(seat, elements));
}
Layout layAllGatherV(const Seat& seat, size_t elements) {
  return gatherToAll(seat, uneven(seat, elements));
}
Layout layGather(const Seat& seat, size_t elements) {
  return gatherToRoot(seat, even(seat, elements));
}
Layout layGatherV(const Seat& seat, size_t elements) {
  return gatherToRoot(seat, uneven(seat, elements));
}
Layout layScatter(const Seat& seat, size_t elements) {
  return scatterFromRoot(seat, even(seat, elements));
}
Layout layScatterV(const Seat& seat, size_t elements) {
  return scatterFromRoot(seat, uneven(seat, elements));
}
Layout layReduceScatter(const Seat& seat, size_t elements) {
  return reduceToBlocks(seat, even(seat, elements / static_cast<size_t>(seat.ranks)));
}
Layout layReduceScatterV(const Seat& seat, size_t elements) {
  return reduceToBlocks(seat, follow(unevenCounts(elements, seat.ranks)));
}

Layout layAllToAll(const Seat& seat, size_t elements) {
  Layout layout;
  layout.count = elements;
  layout.sendTo = even(seat, elements);
  layout.recvFrom = layout.sendTo;
  layout.send = {own(seat, layout.sendTo.total())};
  const size_t mine = layout.sendTo.displs[static_cast<size_t>(seat.rank)];
  layout.recv = fromAll(layout.recvFrom, [mine](int) { return mine; });
  return layout;
}

Layout layAllToAllV(const Seat& seat, size_t elements) {
  Layout layout;
  layout.sendTo = unevenPairs(seat, elements, seat.rank);
  layout.recvFrom = layout.sendTo;  // a pair's two blocks are equally long
  layout.send = {own(seat, layout.sendTo.total())};
  const auto me = static_cast<size_t>(seat.rank);
  layout.recv = fromAll(layout.recvFrom,
                        [&](int sender) { return unevenPairs(seat, elements, sender).displs[me]; });
  return layout;
}

Layout layScan(const Seat& seat, size_t elements) {
  Layout layout = layAllReduce(seat, elements);
  layout.recv = {{0, elements, Values::kPrefix, seat.rank, 0}};
  return layout;
}

Layout layExscan(const Seat& seat, size_t elements) {
  Layout layout = layAllReduce(seat, elements);
  layout.recv = {{0, elements, Values::kPrefix, seat.rank - 1, 0}};
  if (seat.rank == 0) layout.recv = {{0, elements, Values::kUntouched, 0, 0}};
  return layout;
}

Layout layRing(const Seat& seat, size_t elements) {
  Layout layout;
  layout.count = elements;
  layout.next = (seat.rank + 1) % seat.ranks;
  layout.before = (seat.rank + seat.ranks - 1) % seat.ranks;
  layout.send = {own(seat, elements)};
  layout.recv = {{0, elements, Values::kInput, layout.before, 0}};
  return layout;
}

Layout layBarrier(const Seat&, size_t) { return {}; }

Layout layPingPong(const Seat& seat, size_t elements) { return exchange(seat, elements, 1); }
Layout layWindow(const Seat& seat, size_t elements) { return window(seat, 1, elements); }
Layout layBothWays(const Seat& seat, size_t elements) {
  return exchange(seat, elements, static_cast<size_t>(seat.window));
}
Layout layPairs(const Seat& seat, size_t elements) {
  return window(seat, seat.ranks / 2, elements);
}

}  // namespace rondo::bench
