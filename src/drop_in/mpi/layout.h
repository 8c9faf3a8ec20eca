#pragma once
// Movements know bytes only. Here the caller's elements become bytes that follow each other, in the
// caller's own memory where they lie so already, else in a packed copy. Which of the two is this
// rank's business alone: MPI lets ranks describe the same elements in different ways.

#include <mpi.h>

#include <cstddef>
#include <memory>

namespace rondo::drop_in {

struct Layout {
  bool valid = false;    ///< False: not a type; MPI is to say so.
  bool dense = false;    ///< Memory holds the elements in order and without gaps.
  size_t size = 0;       ///< Bytes of data in an element.
  ptrdiff_t extent = 0;  ///< Bytes from one element to the next.
};
Layout layoutOf(MPI_Datatype type);

/// Elements of the caller.
struct Elements {
  char* begin;
  size_t count;
  MPI_Datatype type;
  Layout layout;
  size_t bytes() const { return count * layout.size; }
  Elements part(ptrdiff_t first, size_t number) const {
    return {begin + first * layout.extent, number, type, layout};
  }
};

/// Packs and unpacks to and from `bytes()` bytes. Throw Error if MPI cannot.
void pack(const Elements& elements, char* packed);
void unpack(const char* packed, const Elements& elements);

/// A call's buffer as bytes.
class Bytes {
 public:
  /// `copy`: not in place, whatever the layout. Throws std::bad_alloc.
  explicit Bytes(const Elements& elements, bool copy = false);
  char* data() const { return copy_ ? copy_.get() : elements_.begin; }
  void load();                            ///< Before it is sent: packs what is copied.
  void store();                           ///< After it was received: unpacks.
  void load(size_t first, size_t count);  ///< Some elements only.

 private:
  Elements elements_;
  std::unique_ptr<char[]> copy_;
};

}  // namespace rondo::drop_in
