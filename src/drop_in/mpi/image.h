#pragma once
// A host copy of elements on a device, from the first to the last of their bytes.

#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/staging.h"

namespace rondo::drop_in {

class Image {
 public:
  /// `elements` are at least one, on a device. Throws Error, std::bad_alloc.
  explicit Image(const Elements& elements);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// Where the elements begin here; the same type describes them.
  char* begin() { return bytes_.get() - first_; }
  Elements onHost() { return {begin(), elements_.count, elements_.type, elements_.layout}; }
  /// To the device again, what lies between the elements as it was. Throws Error.
  void bringBack();

 private:
  Elements elements_;
  ptrdiff_t first_;
  size_t length_;
  StagingBytes bytes_;
};

}  // namespace rondo::drop_in
