#pragma once
// The blocks of one side of a v-collective, one a rank, as bytes.

#include <cstdint>

#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

class Blocks {
 public:
  /// `at`: buffer, type and layout; its count is not used. Throws std::bad_alloc.
  Blocks(const Elements& at, const int* counts, const int* displs, int ranks);

  /// Works on a packed copy from now on, whatever the layout: before load(). Throws
  /// std::bad_alloc.
  void copy();
  /// The program may free the type before store().
  void outlast() {
    if (copy_) at_.type = kept_.keep(at_.type);
  }

  char* data() const { return copy_ ? copy_.get() : first_; }
  const size_t* counts() const { return counts_.data(); }  ///< Bytes.
  const size_t* displs() const { return displs_.data(); }  ///< Bytes, from data().
  size_t bytes(int rank) const { return counts_[rank]; }
  char* block(int rank) const { return data() + displs_[rank]; }

  /// Before they are sent: packs what is copied. As in Bytes, what is usual costs no call.
  void load() {
    if (copy_) [[unlikely]]
      packAll();
  }
  void load(int rank);  ///< One of them.
  /// After they were received: unpacks.
  void store() {
    if (copy_) [[unlikely]]
      unpackAll();
  }

  /// Whether memory between the first block's begin and the last one's end is the elements' too, in
  /// a gap for instance, or in both places, which Rondo does not take. Never for copies.
  bool overlaps(const Elements& elements) const {
    return elements.layout.dense && !elements.device && overlaps(elements.begin, elements.bytes());
  }
  bool overlaps(const Blocks& other) const {
    return !other.copy_ && overlaps(other.first_, other.extent_);
  }

 private:
  Elements callers(int rank) const;
  void packAll();
  void unpackAll();
  bool overlaps(const char* begin, size_t bytes) const {
    if (copy_) return false;
    const auto mine = reinterpret_cast<uintptr_t>(first_), its = reinterpret_cast<uintptr_t>(begin);
    return mine < its + bytes && its < mine + extent_;
  }

  Elements at_;
  const int* callersCounts_;
  const int* callersDispls_;
  int ranks_;
  Counts counts_, displs_;
  char* first_;        ///< The lowest block's begin, if nothing is copied.
  size_t extent_ = 0;  ///< From there to the end of the last one.
  StagingBytes copy_;
  KeptType kept_;
};
/// Makes a Movement's side; see bytesOf().
inline auto blocksIn(const Elements& at, const int* counts, const int* displs, int ranks) {
  return [&at, counts, displs, ranks] { return Blocks(at, counts, displs, ranks); };
}

}  // namespace rondo::drop_in
