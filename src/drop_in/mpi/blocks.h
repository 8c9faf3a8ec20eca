#pragma once
// The blocks of one side of a v-collective, one a rank, as bytes.

#include <memory>

#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

class Blocks {
 public:
  /// `at`: buffer, type and layout; its count is not used. Throws std::bad_alloc.
  Blocks(const Elements& at, const int* counts, const int* displs, int ranks);

  /// Works on a packed copy from now on, whatever the layout: before load().
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

  void load();          ///< Before they are sent: packs what is copied.
  void load(int rank);  ///< One of them.
  void store();         ///< After they were received: unpacks.

  /// Whether memory between the first block's begin and the last one's end is the elements' too, in
  /// a gap for instance, or in both places, which Rondo does not take. Never for copies.
  bool overlaps(const Elements& elements) const;
  bool overlaps(const Blocks& other) const;

 private:
  Elements callers(int rank) const;
  bool overlaps(const char* begin, size_t bytes) const;

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
