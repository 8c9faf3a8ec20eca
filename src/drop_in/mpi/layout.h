#pragma once
// Movements know bytes only. Here the caller's elements become bytes that follow each other, in the
// caller's own memory where they lie so already, and on the host, else in a packed copy. Which of
// the two is this rank's business alone: MPI lets ranks describe the same elements in different
// ways.

#include <mpi.h>

#include <cstddef>

#include "drop_in/mpi/staging.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

Layout layoutOfDerived(MPI_Datatype type);
inline Layout layoutOf(MPI_Datatype type) {
  const TypeRow* const row = predefined(type);
  return row != nullptr ? row->layout : layoutOfDerived(type);
}
/// What packing needs, from MPI's begin to its end.
void beginPacking();
void endPacking();

/// Elements of the caller.
struct Elements {
  char* begin;
  size_t count;
  MPI_Datatype type;
  Layout layout;
  bool device = false;  ///< Memory that the host cannot read.
  size_t bytes() const { return count * layout.size; }
  Elements part(ptrdiff_t first, size_t number) const {
    return {begin + first * layout.extent, number, type, layout, device};
  }
};

/// Whether elements of `type` at `begin` lie on a device.
bool liesOnDevice(const void* begin, MPI_Datatype type);

/// Packs and unpacks to and from `bytes()` bytes. Throw Error if MPI cannot.
void pack(const Elements& elements, char* packed);
void unpack(const char* packed, const Elements& elements);

/// Throws Error if the blocks that this rank sends and receives differ, a mistake that MPI does not
/// look for. Other ranks may not have made it: it ends the call on all of them.
void requireSameBytes(size_t sent, size_t received);

/// A type that outlives the program's handle of it.
class KeptType {
 public:
  KeptType() = default;
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;
  ~KeptType() {
    if (kept_ != MPI_DATATYPE_NULL) PMPI_Type_free(&kept_);
  }
  /// What may be used instead of `type` from now on. Throws Error.
  MPI_Datatype keep(MPI_Datatype type);

 private:
  MPI_Datatype kept_ = MPI_DATATYPE_NULL;
};

/// A call's buffer as bytes. What is usual, that nothing is copied, costs small calls no call here.
class Bytes {
 public:
  /// Throws std::bad_alloc.
  explicit Bytes(const Elements& elements) : elements_(elements) {
    if (!elements.layout.dense || elements.device) [[unlikely]]
      copy();
  }
  /// Not in place, whatever the layout: before load(). Throws std::bad_alloc.
  void copy();
  /// The program may free the type before store().
  void outlast();
  char* data() const { return copy_ ? copy_.get() : elements_.begin; }
  /// Before it is sent: packs what is copied.
  void load() {
    if (copy_) [[unlikely]]
      pack(elements_, copy_.get());
  }
  /// Some elements only.
  void load(size_t first, size_t count) {
    if (copy_) [[unlikely]]
      pack(elements_.part(static_cast<ptrdiff_t>(first), count),
           copy_.get() + first * elements_.layout.size);
  }
  /// After it was received: unpacks.
  void store() {
    if (copy_) [[unlikely]]
      unpack(copy_.get(), elements_);
  }

 private:
  Elements elements_;
  StagingBytes copy_;
  KeptType kept_;
};
/// Make a Movement's side of `elements`, which stay until then; of none, unless `used`.
inline auto bytesOf(const Elements& elements) {
  return [&elements] { return Bytes(elements); };
}
inline auto bytesIf(bool used, const Elements& elements) {
  return [used, &elements] {
    return used ? Bytes(elements) : Bytes({nullptr, 0, MPI_BYTE, {true, true, 1, 1}});
  };
}

}  // namespace rondo::drop_in
