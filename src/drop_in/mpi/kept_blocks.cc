#include "drop_in/mpi/kept_blocks.h"

#include <algorithm>
#include <climits>
#include <new>

#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

bool KeptBlocks::makeRoom(int ranks) {
  if (ranks <= room_) return true;
  const auto number = static_cast<size_t>(ranks);
  given_.reset(new (std::nothrow) int[2 * number]);
  made_.reset(new (std::nothrow) size_t[2 * number]);
  room_ = given_ != nullptr && made_ != nullptr ? ranks : 0;
  counts_ = given_.get();
  displs_ = counts_ + number;
  bytes_ = made_.get();
  places_ = bytes_ + number;
  return room_ > 0;
}

bool KeptBlocks::renew(MPI_Datatype type, const int* counts, const int* displs, int ranks) {
  const TypeRow* const row = predefined(type);
  if (row == nullptr || !row->layout.dense || displs == nullptr || !countsAreGood(counts, ranks)) {
    return false;
  }
  ranks_ = 0;
  if (!makeRoom(ranks)) return false;
  const size_t size = row->layout.size;
  // As in Blocks: displacements may be negative, and those of empty blocks may be anything.
  int lowest = INT_MAX;
  even_ = inOrder_ = true;
  all_ = extent_ = 0;
  for (int r = 0; r < ranks; ++r) {
    counts_[r] = counts[r];
    displs_[r] = displs[r];
    bytes_[r] = static_cast<size_t>(counts[r]) * size;
    all_ += bytes_[r];
    if (counts[r] > 0) lowest = std::min(lowest, displs[r]);
    even_ &= counts[r] == counts[0];
    inOrder_ &= even_ && ptrdiff_t{displs[r]} == displs[0] + ptrdiff_t{r} * counts[0];
  }
  for (int r = 0; r < ranks; ++r) {
    const auto from = static_cast<size_t>(ptrdiff_t{displs[r]} - lowest);
    places_[r] = bytes_[r] == 0 ? 0 : from * size;
    extent_ = std::max(extent_, places_[r] + bytes_[r]);
  }
  first_ = all_ > 0 ? lowest * row->layout.extent : 0;
  mean_ = all_ / static_cast<size_t>(ranks);
  type_ = type;
  ranks_ = ranks;
  return true;
}

}  // namespace rondo::drop_in
