#pragma once
// What the v-collectives share: blocks as MPI's arguments give them.

#include <mpi.h>

#include <numeric>

#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/blocks.h"
#include "drop_in/mpi/kept_blocks.h"
#include "drop_in/mpi/transfers.h"

namespace rondo::drop_in {

/// One block, as MPI's arguments give it.
struct Triple {
  const void* buffer;
  int count;
  MPI_Datatype type;
};
/// A block a rank.
struct Uneven {
  const void* buffer;
  const int* counts;
  const int* displs;
  MPI_Datatype type;
  bool good(int ranks) const { return countsAreGood(counts, ranks) && displs != nullptr; }
  /// Without counts.
  operator Triple() const { return {buffer, 0, type}; }
};

inline Elements elementsOf(const Triple& of, const Layout& layout) {
  return {static_cast<char*>(const_cast<void*>(of.buffer)),
          static_cast<size_t>(of.count > 0 ? of.count : 0), of.type, layout,
          liesOnDevice(of.buffer, of.type)};
}
inline Elements elementsOf(const Triple& of) { return elementsOf(of, layoutOf(of.type)); }
/// Of a call whose other side, mostly of the same type, is known.
inline Elements elementsOf(const Triple& of, const Elements& other) {
  return elementsOf(of, of.type == other.type ? other.layout : layoutOf(of.type));
}
/// A rank's block.
inline Elements blockOf(const Uneven& of, int rank) {
  const ptrdiff_t from = of.displs[rank] * layoutOf(of.type).extent;
  return elementsOf({static_cast<const char*>(of.buffer) + from, of.counts[rank], of.type});
}

/// One block from or to every rank; `but`: a rank that needs none, or -1.
inline void sendEach(Transfers& transfers, const Uneven& of, int ranks, int but = -1) {
  for (int r = 0; r < ranks; ++r) {
    if (r != but) transfers.send(blockOf(of, r), r);
  }
}
inline void receiveEach(Transfers& transfers, const Uneven& of, int ranks, int but = -1) {
  for (int r = 0; r < ranks; ++r) {
    if (r != but) transfers.receive(blockOf(of, r), r);
  }
}

inline bool bothValid(Attempt& call, const Elements& one, const Elements& other) {
  call.saw(one.device || other.device);
  return call.need(one.layout.valid && other.layout.valid, Why::Arguments);
}

/// See KeptBlocks::have().
inline bool isKept(KeptBlocks& kept, const Uneven& of, const KnownComm& known) {
  return kept.have(of.type, of.counts, of.displs, known.size);
}

/// Bytes.
inline size_t allBlocks(const Elements& of, const int* counts, int ranks) {
  return std::accumulate(counts, counts + ranks, size_t{0}) * of.layout.size;
}

}  // namespace rondo::drop_in
