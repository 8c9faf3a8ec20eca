#include "drop_in/mpi/host_twin.h"

#include <algorithm>

#include "base/error.h"
#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {
namespace {

bool typesAreGood(const Argument& of) {
  if (of.types == nullptr) return layoutOf(of.type).valid;
  return std::all_of(of.types, of.types + of.ranks,
                     [](MPI_Datatype type) { return layoutOf(type).valid; });
}

/// then(type, count, place in bytes) of each block.
template <class Then>
void eachBlock(const Argument& of, const Then& then) {
  for (int r = 0; r < of.ranks; ++r) {
    const MPI_Datatype type = of.types == nullptr ? of.type : of.types[r];
    const ptrdiff_t scale = of.types == nullptr ? layoutOf(type).extent : 1;
    const ptrdiff_t place = of.displs == nullptr ? 0 : of.displs[r] * scale;
    then(type, of.counts[r], of.places == nullptr ? place : of.places[r]);
  }
}

}  // namespace

HostTwin::HostTwin(const Argument& of, bool receives, bool filled)
    : buffer_(static_cast<char*>(const_cast<void*>(of.buffer))), given_(buffer_) {
  if (of.buffer == MPI_IN_PLACE) return;  // and what stands beside it may be anything
  if (!countsAreGood(of.counts, of.ranks) || !typesAreGood(of)) return;
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
  if (filled) refill();
  if (receives) findRuns(of);
}

void HostTwin::refill() {
  if (!used()) return;
  for (const Range& block : blocks_) {
    copyFromDevice(bytes_.get() + (block.begin - first_), buffer_ + block.begin,
                   static_cast<size_t>(block.end - block.begin));
  }
}

void HostTwin::findBlocks(const Argument& of) {
  eachBlock(of, [this](MPI_Datatype type, int count, ptrdiff_t at) { addBlock(type, count, at); });
}

void HostTwin::findRuns(const Argument& of) {
  eachBlock(of, [this](MPI_Datatype type, int count, ptrdiff_t at) {
    addRuns(type, static_cast<size_t>(count), at, &runs_);
  });
}

void HostTwin::addBlock(MPI_Datatype type, int count, ptrdiff_t at) {
  MPI_Aint lower = 0, reach = 0;
  PMPI_Type_get_true_extent(type, &lower, &reach);
  if (count == 0 || reach == 0) return;
  const ptrdiff_t across = (count - 1) * layoutOf(type).extent;
  const Range block{at + lower + std::min<ptrdiff_t>(0, across),
                    at + lower + std::max<ptrdiff_t>(0, across) + reach};
  if (!blocks_.empty() && blocks_.back().end == block.begin) {
    blocks_.back().end = block.end;
  } else {
    blocks_.push_back(block);
  }
}

void HostTwin::bringBack() {
  if (used()) copyToDevice(buffer_, bytes_.get() - first_, runs_);
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
