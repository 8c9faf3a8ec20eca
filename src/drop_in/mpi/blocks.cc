#include "drop_in/mpi/blocks.h"

#include <algorithm>
#include <cstdint>

namespace rondo::drop_in {

Blocks::Blocks(const Elements& at, const int* counts, const int* displs, int ranks)
    : at_(at),
      callersCounts_(counts),
      callersDispls_(displs),
      ranks_(ranks),
      counts_(counts, ranks, at.layout.size),
      displs_(ranks),
      first_(at.begin) {
  if (!at.layout.dense || at.device) {
    copy();
    return;
  }
  // Displacements may be negative, and those of empty blocks may be anything.
  ptrdiff_t lowest = PTRDIFF_MAX;
  for (int r = 0; r < ranks; ++r) {
    if (counts_[r] > 0) lowest = std::min<ptrdiff_t>(lowest, displs[r]);
  }
  if (lowest == PTRDIFF_MAX) lowest = 0;
  for (int r = 0; r < ranks; ++r) {
    displs_[r] = counts_[r] == 0 ? 0 : static_cast<size_t>(displs[r] - lowest) * at.layout.size;
    extent_ = std::max(extent_, displs_[r] + counts_[r]);
  }
  if (extent_ > 0) first_ += lowest * at.layout.extent;
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

void Blocks::load() {
  for (int r = 0; r < ranks_; ++r) load(r);
}

void Blocks::load(int rank) {
  if (copy_) pack(callers(rank), block(rank));
}

void Blocks::store() {
  if (!copy_) return;
  for (int r = 0; r < ranks_; ++r) unpack(block(r), callers(r));
}

bool Blocks::overlaps(const char* begin, size_t bytes) const {
  if (copy_) return false;
  const auto mine = reinterpret_cast<uintptr_t>(first_), its = reinterpret_cast<uintptr_t>(begin);
  return mine < its + bytes && its < mine + extent_;
}

bool Blocks::overlaps(const Elements& elements) const {
  return elements.layout.dense && !elements.device && overlaps(elements.begin, elements.bytes());
}

bool Blocks::overlaps(const Blocks& other) const {
  return !other.copy_ && overlaps(other.first_, other.extent_);
}

}  // namespace rondo::drop_in
