#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "errors.h"
#include "session.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

constexpr size_t kPage = 4096;

class HostMemory : public Memory {
 public:
  void* allocate(size_t bytes, size_t align) override {
    align = std::max(align, kPage);
    void* block = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (block == nullptr) {
      throw RunError("cannot allocate " + formatSize(bytes) + " bytes of host memory for buffers");
    }
    return block;
  }
  void release(void* block) override { std::free(block); }
};

/// Begins at whole pages by itself.
class RondoMemory : public Memory {
 public:
  void* allocate(size_t bytes, size_t align) override {
    const size_t room = align > kPage ? align : 0;
    void* whole = nullptr;
    checkRondo(rondoMemAlloc(&whole, bytes + room), "rondoMemAlloc", nullptr);
    void* block = whole;
    size_t left = bytes + room;
    std::align(align, bytes, block, left);
    whole_[block] = whole;
    return block;
  }
  void release(void* block) override {
    rondoMemFree(whole_.at(block));
    whole_.erase(block);
  }

 private:
  std::map<void*, void*> whole_;
};

}  // namespace

const char* memoryName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kRondo:
      return "rondo";
    default:
      return "device";
  }
}

std::unique_ptr<Memory> makeHostMemory(MemoryKind kind) {
  if (kind == MemoryKind::kRondo) return std::make_unique<RondoMemory>();
  return std::make_unique<HostMemory>();
}

}  // namespace rondo::bench
