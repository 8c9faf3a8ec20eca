#pragma once
// Which elements of which values a rank's buffers hold before a call, and must hold after it.

#include <cstddef>
#include <vector>

namespace rondo::bench {

/// A rank's place in the job, and what the command line says of it.
struct Seat {
  int ranks = 1;
  int rank = 0;
  int root = 0;
  int window = 64;  ///< Messages under way at once, where that has a meaning.
  int group = 1;    ///< Calls at once.
};

/// Where the values of a piece come from.
enum class Values {
  kInput,      ///< The send buffer of rank `rank`.
  kReduced,    ///< All ranks' send buffers, reduced.
  kPrefix,     ///< The send buffers of ranks 0 to `rank`, reduced.
  kUntouched,  ///< What was there before the call.
};

/// Elements [at, at + count) of a buffer are elements [origin, origin + count) of the values.
struct Piece {
  size_t at = 0;
  size_t count = 0;
  Values values = Values::kInput;
  int rank = 0;
  size_t origin = 0;
};

/// Elements to or from each rank, as Rondo's calls take them and as MPI's do.
struct Counts {
  std::vector<size_t> counts;
  std::vector<size_t> displs;
  std::vector<int> mpiCounts;  ///< Valid while everything fits an int.
  std::vector<int> mpiDispls;

  /// The end of the last block.
  size_t total() const { return counts.empty() ? 0 : displs.back() + counts.back(); }
};

/// One rank's part in one call. A buffer without pieces is one that the rank does not have.
struct Layout {
  size_t count = 0;  ///< The count that the call takes, where it takes one.
  std::vector<Piece> send;
  std::vector<Piece> recv;
  Counts sendTo;
  Counts recvFrom;
  size_t sendAt = 0;  ///< In place: first element of the send buffer in the common one.
  size_t recvAt = 0;
  size_t sendStep = 0;  ///< Groups: elements from one call's send buffer to the next one's.
  size_t recvStep = 0;
  /// The call is told where the result would be though it gets none there: of a gather copy engines
  /// want it of all ranks.
  bool namesResult = false;
  int next = -1;       ///< In a ring: whom this rank sends to...
  int before = -1;     ///< ... and whom it receives from.
  int peer = -1;       ///< Point to point: the other rank of the pair; -1 without one.
  bool leads = false;  ///< Point to point: the rank that begins.

  size_t sendElements() const;
  size_t recvElements() const;
};

/// `calls` calls of `one` on buffers that lie behind each other; all have values of their own.
Layout repeated(const Layout& one, size_t calls, bool inPlace);

/// `total` elements in `ranks` blocks of which every second is a quarter shorter than the average
/// and the ones between are longer by as much; where blocks are tiny, some are empty.
std::vector<size_t> unevenCounts(size_t total, int ranks);

/// Uneven blocks between each two ranks, the same in both directions.
size_t unevenPairCount(size_t count, int rank, int other);

// How each benchmark lies. `elements` is the row's size in elements; what it is the size of is said
// in benchmark.cc.
Layout layAllReduce(const Seat& seat, size_t elements);
Layout layReduce(const Seat& seat, size_t elements);
Layout layBroadcast(const Seat& seat, size_t elements);
Layout layAllGather(const Seat& seat, size_t elements);
Layout layAllGatherV(const Seat& seat, size_t elements);
Layout layReduceScatter(const Seat& seat, size_t elements);
Layout layReduceScatterV(const Seat& seat, size_t elements);
Layout layAllToAll(const Seat& seat, size_t elements);
Layout layAllToAllV(const Seat& seat, size_t elements);
Layout layGather(const Seat& seat, size_t elements);
Layout layGatherV(const Seat& seat, size_t elements);
Layout layScatter(const Seat& seat, size_t elements);
Layout layScatterV(const Seat& seat, size_t elements);
Layout layScan(const Seat& seat, size_t elements);
Layout layExscan(const Seat& seat, size_t elements);
Layout layRing(const Seat& seat, size_t elements);
Layout layBarrier(const Seat& seat, size_t elements);
Layout layPingPong(const Seat& seat, size_t elements);
Layout layWindow(const Seat& seat, size_t elements);
Layout layBothWays(const Seat& seat, size_t elements);
Layout layPairs(const Seat& seat, size_t elements);

}  // namespace rondo::bench
