#pragma once
// Neighbourhood collectives' buffers: how many blocks this rank sends and receives, and where they
// lie.

#include <mpi.h>

#include "drop_in/mpi/passing.h"

namespace rondo::drop_in {

/// How many neighbours a rank hears from, and tells. None, too, where MPI is to refuse the call.
struct Degrees {
  int from = 0, to = 0;
};
Degrees degreesOf(MPI_Comm comm);

/// A call's buffer, in whatever way the call describes it: blocks of one length, or of several, or
/// of several types. One for all (`shared`) or one for each neighbour.
struct NeighbourBlocks {
  const void* buffer;
  int count;
  MPI_Datatype type;
  const int* counts = nullptr;
  const int* displs = nullptr;
  const MPI_Datatype* types = nullptr;
  const MPI_Aint* places = nullptr;
  bool shared = false;
};

/// Runs then(argument of `blocks`), of which there are `number`.
template <class Then>
int described(const NeighbourBlocks& blocks, int number, const Then& then) {
  if (blocks.counts != nullptr) {
    return then({blocks.buffer, blocks.type, blocks.counts, blocks.displs, number, blocks.types,
                 blocks.places});
  }
  const EvenBlocks even(blocks.buffer, blocks.count, blocks.type, blocks.shared ? 1 : number);
  return then(even.argument());
}

/// Runs then(send, recv), the arguments of what is sent to neighbours and received from them.
template <class Then>
int amongNeighbours(MPI_Comm comm, const NeighbourBlocks& in, const NeighbourBlocks& out,
                    const Then& then) {
  const Degrees degrees = degreesOf(comm);
  return described(in, degrees.to, [&](const Argument& send) {
    return described(out, degrees.from, [&](const Argument& recv) { return then(send, recv); });
  });
}

}  // namespace rondo::drop_in
