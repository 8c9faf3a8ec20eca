#include "drop_in/mpi/blocks.h"

#include <algorithm>
#include <climits>
#include <cstddef>

namespace rondo::drop_in {

Blocks::Blocks(const Elements& at, const int* counts, const int* displs, int ranks)
    : at_(at),
      callersCounts_(counts),
      callersDispls_(displs),
      ranks_(ranks),
      counts_(ranks),
      displs_(ranks),
      first_(at.begin) {
  size_t* const bytes = counts_.data();
  // Displacements may be negative, and those of empty blocks may be anything.
  int lowest = INT_MAX;
  for (int r = 0; r < ranks; ++r) {
    bytes[r] = static_cast<size_t>(counts[r]) * at.layout.size;
    if (bytes[r] > 0) lowest = std::min(lowest, displs[r]);
  }
  if (!at.layout.dense || at.device) [[unlikely]] {
    copy();
    return;
  }
  size_t* const places = displs_.data();
  size_t extent = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto from = static_cast<size_t>(ptrdiff_t{displs[r]} - lowest);
    places[r] = bytes[r] == 0 ? 0 : from * at.layout.size;
    extent = std::max(extent, places[r] + bytes[r]);
  }
  extent_ = extent;
  if (extent > 0) first_ += lowest * at.layout.extent;
}

void Blocks::copy() {
  if (copy_) return;
  size_t total = 0;
  for (int r = 0; r < ranks_; ++r) {
    displs_[r] = total;
    total += counts_[r];
  }
  copy_ = stagingBytes(total + 1, at_.device ? at_.begin : nullptr);
}

Elements Blocks::callers(int rank) const {
  Elements block = at_;
  block.begin += callersDispls_[rank] * at_.layout.extent;
  block.count = static_cast<size_t>(callersCounts_[rank]);
  return block;
}

void Blocks::packAll() {
  for (int r = 0; r < ranks_; ++r) pack(callers(r), block(r));
}

void Blocks::load(int rank) {
  if (copy_) pack(callers(rank), block(rank));
}

void Blocks::unpackAll() {
  for (int r = 0; r < ranks_; ++r) unpack(block(r), callers(r));
}

}  // namespace rondo::drop_in
