#pragma once
// A host copy of elements on a device, from the first to the last of their bytes.

#include <vector>

#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/runs.h"
#include "drop_in/mpi/staging.h"

namespace rondo::drop_in {

class Image {
 public:
  /// `elements` are at least one, on a device; `receives`: they will be brought back, even if their
  /// type is freed by then. `filled`: at once, else by refill(). Throws Error, std::bad_alloc.
  Image(const Elements& elements, bool receives, bool filled = true);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// Where the elements begin here; the same type describes them.
  char* begin() { return bytes_.get() - first_; }
  Elements onHost() { return {begin(), elements_.count, elements_.type, elements_.layout}; }
  /// What the device has now. Throws Error.
  void refill();
  /// The elements to the device again, and nothing of what lies between them. Throws Error.
  void bringBack();

 private:
  Elements elements_;
  ptrdiff_t first_;
  size_t length_;
  StagingBytes bytes_;
  std::vector<Run> runs_;
};

}  // namespace rondo::drop_in
