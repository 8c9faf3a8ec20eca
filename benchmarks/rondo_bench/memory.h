#pragma once
// The kinds of memory that buffers can be of.

#include <cstddef>
#include <functional>
#include <memory>

#include "api/rondo.h"

namespace rondo::bench {

enum class MemoryKind { kHost, kRondo, kDevice };
const char* memoryName(MemoryKind kind);

class Memory {
 public:
  virtual ~Memory() = default;

  /// At a multiple of `align`, a power of two; of a device's up to 512 is left to its allocator.
  /// Throws RunError that names what it cannot have.
  virtual void* allocate(size_t bytes, size_t align) = 0;
  virtual void release(void* block) = 0;

  /// Lets `produce` write `bytes` at an address of the host that end up at `to`.
  virtual void write(void* to, size_t bytes, const std::function<void(void*)>& produce) {
    (void)bytes;
    produce(to);
  }
  /// Lets `consume` read the `bytes` at `from` at an address of the host.
  virtual void read(const void* from, size_t bytes,
                    const std::function<void(const void*)>& consume) {
    (void)bytes;
    consume(from);
  }
};

/// Ordinary memory of the C library (kHost) or rondoMemAlloc's (kRondo).
std::unique_ptr<Memory> makeHostMemory(MemoryKind kind);

/// One block, released when it goes out of scope.
class Block {
 public:
  Block(Memory& memory, size_t bytes, size_t align)
      : memory_(memory), data_(memory.allocate(bytes, align)) {}
  ~Block() { memory_.release(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Memory& memory() const { return memory_; }
  char* data() const { return static_cast<char*>(data_); }

 private:
  Memory& memory_;
  void* data_;
};

}  // namespace rondo::bench
