#include "memory.h"

#include <cstdlib>

#include "errors.h"
#include "session.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

constexpr size_t kPage = 4096;

class HostMemory : public Memory {
 public:
  void* allocate(size_t bytes) override {
    void* block = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (block == nullptr) {
      throw RunError("cannot allocate " + formatSize(bytes) + " bytes of host memory for buffers");
    }
    return block;
  }
  void release(void* block) override { std::free(block); }
};

class RondoMemory : public Memory {
 public:
  void* allocate(size_t bytes) override {
    void* block = nullptr;
    checkRondo(rondoMemAlloc(&block, bytes), "rondoMemAlloc", nullptr);
    return block;
  }
  void release(void* block) override { rondoMemFree(block); }
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
