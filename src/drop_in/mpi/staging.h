#pragma once
// Host memory that device memory is copied to and from: page-locked where it can be, so that the
// device moves it by itself, and used again, as locking pages takes longer than most copies.

#include <cstddef>
#include <memory>

namespace rondo::drop_in {

/// Gives a block back.
struct ReturnStaging {
  size_t locked = 0;  ///< Bytes of a page-locked block; 0: plain memory.
  void operator()(char* block) const noexcept;
};
using StagingBytes = std::unique_ptr<char[], ReturnStaging>;

/// Not initialised. `device`: memory that it is for; nullptr: plain memory. Up to 64 MiB of a
/// process are page-locked, beyond it is plain memory too. Throws std::bad_alloc.
StagingBytes stagingBytes(size_t bytes, const void* device);

}  // namespace rondo::drop_in
