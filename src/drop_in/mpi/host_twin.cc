#include "drop_in/mpi/host_twin.h"

#include <algorithm>

#include "base/error.h"
#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

HostTwin::HostTwin(const Argument& of)
    : buffer_(static_cast<char*>(const_cast<void*>(of.buffer))), given_(buffer_) {
  if (of.buffer == MPI_IN_PLACE) return;  // and what stands beside it may be anything
  if (!countsAreGood(of.counts, of.ranks) || !layoutOf(of.type).valid) return;
  findBlocks(of);
  if (blocks_.empty() || !onDevice(buffer_ + blocks_.front().begin)) return;
  first_ = blocks_.front().begin;
  ptrdiff_t last = first_;
  for (const Range& block : blocks_) {
    first_ = std::min(first_, block.begin);
    last = std::max(last, block.end);
  }
  bytes_ = stagingBytes(static_cast<size_t>(last - first_), buffer_ + first_);
  given_ = bytes_.get() - first_;
  for (const Range& block : blocks_) {
    copyFromDevice(bytes_.get() + (block.begin - first_), buffer_ + block.begin,
                   static_cast<size_t>(block.end - block.begin));
  }
}

void HostTwin::findBlocks(const Argument& of) {
  MPI_Aint lower = 0, reach = 0;
  PMPI_Type_get_true_extent(of.type, &lower, &reach);
  const ptrdiff_t extent = layoutOf(of.type).extent;
  for (int r = 0; r < of.ranks; ++r) {
    if (of.counts[r] == 0 || reach == 0) continue;
    const ptrdiff_t at = (of.displs == nullptr ? 0 : of.displs[r]) * extent + lower;
    const ptrdiff_t across = (of.counts[r] - 1) * extent;
    const Range block{at + std::min<ptrdiff_t>(0, across),
                      at + std::max<ptrdiff_t>(0, across) + reach};
    if (!blocks_.empty() && blocks_.back().end == block.begin) {
      blocks_.back().end = block.end;
    } else {
      blocks_.push_back(block);
    }
  }
}

void HostTwin::bringBack() {
  if (!used()) return;
  for (const Range& block : blocks_) {
    copyToDevice(buffer_ + block.begin, bytes_.get() + (block.begin - first_),
                 static_cast<size_t>(block.end - block.begin));
  }
}

int holdUntilEnd(MPI_Request request, const HeldMessage& blocks) {
  int over = request == MPI_REQUEST_NULL;
  if (!over) PMPI_Request_get_status(request, &over, MPI_STATUS_IGNORE);
  if (over) return blocks->end();
  addStaged(request, blocks);
  return MPI_SUCCESS;
}

int raiseCopy(MPI_Comm comm, const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return raise(comm, ours != nullptr ? ours->code() : rondoOutOfMemory,
               std::string("copying buffers between host and device: ") +
                   (ours != nullptr ? ours->sentence() : "no memory for a copy"));
}

}  // namespace rondo::drop_in
