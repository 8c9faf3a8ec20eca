#pragma once
// One side of a v-collective as the communicator's latest call of its kind had it. Programs mostly
// make the same call again: to see that it is the same takes less time than to check its arguments
// and to turn them into bytes.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace rondo::drop_in {

/// Blocks of a predefined type without gaps. Such a type's handle is never freed, and so never
/// another type's. Counts and displacements are compared, not their addresses:
/// the program may write others into its arrays. All of it is this rank's own business; who answers
/// a call is not decided here.
class KeptBlocks {
 public:
  /// Whether the blocks are of that kind, and then those that this is of from now on. Not while
  /// devicesOn, as buffers are not looked at. Throws nothing.
  bool have(MPI_Datatype type, const int* counts, const int* displs, int ranks) {
    return areSame(type, counts, displs, ranks) || renew(type, counts, displs, ranks);
  }

  // After have() was true.
  const size_t* bytes() const { return bytes_; }  ///< Of each block.
  /// Of each block's begin behind data().
  const size_t* places() const { return places_; }
  /// Where the lowest block begins in the call's buffer.
  char* data(const void* buffer) const {
    return static_cast<char*>(const_cast<void*>(buffer)) + first_;
  }
  size_t all() const { return all_; }        ///< Bytes of all blocks.
  size_t mean() const { return mean_; }      ///< Of one, at the mean.
  bool even() const { return even_; }        ///< Of one length: the same on all ranks.
  bool inOrder() const { return inOrder_; }  ///< And one behind the other by rank, here.
  /// As Blocks::overlaps(), where data() is `data`.
  bool overlaps(const char* data, const char* begin, size_t bytes) const {
    const auto mine = reinterpret_cast<uintptr_t>(data), its = reinterpret_cast<uintptr_t>(begin);
    return mine < its + bytes && its < mine + extent_;
  }
  size_t extent() const { return extent_; }  ///< From data() to the last block's end.

 private:
  bool areSame(MPI_Datatype type, const int* counts, const int* displs, int ranks) const {
    if (type != type_ || ranks != ranks_ || counts == nullptr || displs == nullptr) return false;
    const auto number = static_cast<size_t>(ranks);
    return same(counts_, counts, number) && same(displs_, displs, number);
  }
  /// Few are compared here, as a call of memcmp takes 27 instructions.
  static bool same(const int* kept, const int* given, size_t number) {
    constexpr size_t kFew = 16;
    if (number > kFew) return std::memcmp(kept, given, number * sizeof *kept) == 0;
    int differs = 0;
    for (size_t i = 0; i < number; ++i) differs |= kept[i] ^ given[i];
    return differs == 0;
  }
  bool renew(MPI_Datatype type, const int* counts, const int* displs, int ranks);
  bool makeRoom(int ranks);

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int ranks_ = 0;  ///< 0: it is of none.
  int room_ = 0;
  int *counts_ = nullptr, *displs_ = nullptr;  ///< As they were given.
  size_t *bytes_ = nullptr, *places_ = nullptr;
  ptrdiff_t first_ = 0;
  size_t extent_ = 0, all_ = 0, mean_ = 0;
  bool even_ = false, inOrder_ = false;
  std::unique_ptr<int[]> given_;
  std::unique_ptr<size_t[]> made_;
};

/// A communicator's.
struct KeptCalls {
  KeptBlocks gathered, sent, received;
};

}  // namespace rondo::drop_in
