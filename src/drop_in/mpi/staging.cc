#include "drop_in/mpi/staging.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <vector>

#include "drop_in/mpi/device_memory.h"

namespace rondo::drop_in {
namespace {

constexpr size_t kLeast = 4096, kMostLocked = size_t{64} << 20;

/// Blocks of powers of two, which stay locked for the process's life. Never destroyed, as
/// MPI_Finalize may run in an atexit handler.
struct Pool {
  std::mutex mutex;
  std::array<std::vector<char*>, 64> free;  ///< By the logarithm of their bytes.
  size_t locked = 0;
};
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

/// nullptr: there is none, and no more may be locked, or it failed.
char* lockedBlock(size_t bytes, const void* device) {
  Pool& self = pool();
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    std::vector<char*>& free = self.free[static_cast<size_t>(std::countr_zero(bytes))];
    if (!free.empty()) {
      char* const block = free.back();
      free.pop_back();
      return block;
    }
    if (bytes > kMostLocked - self.locked) return nullptr;
    self.locked += bytes;
  }
  // What fails once is not tried for ever: its bytes stay counted.
  return lockPages(bytes, device);
}

}  // namespace

void ReturnStaging::operator()(char* block) const noexcept {
  if (locked == 0) {
    delete[] block;
    return;
  }
  Pool& self = pool();
  const std::lock_guard<std::mutex> lock(self.mutex);
  try {
    self.free[static_cast<size_t>(std::countr_zero(locked))].push_back(block);
  } catch (const std::bad_alloc&) {
    // Lost, as nobody would find it again.
  }
}

StagingBytes stagingBytes(size_t bytes, const void* device) {
  const size_t whole = std::bit_ceil(std::max(bytes, kLeast));
  if (device != nullptr && whole <= kMostLocked) {
    if (char* const block = lockedBlock(whole, device)) return {block, ReturnStaging{whole}};
  }
  return {new char[std::max<size_t>(1, bytes)], ReturnStaging{}};
}

}  // namespace rondo::drop_in
