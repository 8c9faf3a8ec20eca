#pragma once
// A host copy of elements on a device, from the first to the last of their bytes.

#include <vector>

#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

class Image {
 public:
  /// `elements` are at least one, on a device. Throws Error, std::bad_alloc.
  explicit Image(const Elements& elements);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// Where the elements begin here; the same type describes them.
  char* begin() { return bytes_.data() - first_; }
  Elements onHost() { return {begin(), elements_.count, elements_.type, elements_.layout}; }
  /// To the device again, what lies between the elements as it was. Throws Error.
  void bringBack();

 private:
  Elements elements_;
  ptrdiff_t first_;
  std::vector<char> bytes_;
};

}  // namespace rondo::drop_in
