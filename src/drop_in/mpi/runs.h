#pragma once
// The bytes that elements consist of. What lies between them is none of the buffer: the program, or
// another message, may write there while the elements are on their way.

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace rondo::drop_in {

/// Bytes from the buffer's address that follow each other.
struct Run {
  ptrdiff_t begin;
  size_t bytes;
};

/// Adds those of `count` elements of `type`, which lie at `at`. Neighbours are one run. Throws
/// Error, std::bad_alloc.
void addRuns(MPI_Datatype type, size_t count, ptrdiff_t at, std::vector<Run>* runs);

}  // namespace rondo::drop_in
