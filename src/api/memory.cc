// Memory that peers read in place: of the host, and of devices.

#include "api/comm_create.h"
#include "base/error.h"
#include "p2p/device_heap.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

void checkPlace(void** ptr) {
  if (ptr != nullptr) return;
  throw Error(rondoInvalidArgument, "argument ptr is NULL; allowed: where to write the address");
}

void refuseParents() {
  if (!Segment::isParents()) return;
  throw Error(rondoInvalidUsage,
              "this process was forked from one that uses Rondo, whose shared memory it has; "
              "allowed: in that process, or after exec");
}

void* allocateOnHost(size_t bytes) {
  void* memory = nullptr;
  refuseParents();
  if (bytes > 0 && (memory = Segment::own().allocate(bytes)) == nullptr) {
    throw Error(rondoOutOfMemory,
                format("argument bytes is %zu, and no free range of shared memory is that long; "
                       "allowed: less, or after rondoMemFree of other memory",
                       bytes));
  }
  return memory;
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoMemAlloc(void** ptr, size_t bytes) {
  return rondo::guarded(nullptr, "rondoMemAlloc", [&] {
    rondo::checkPlace(ptr);
    *ptr = rondo::allocateOnHost(bytes);
  });
}

rondoResult_t rondoMemAllocDevice(void** ptr, size_t bytes, int device) {
  return rondo::guarded(nullptr, "rondoMemAllocDevice", [&] {
    rondo::checkPlace(ptr);
    if (device == RONDO_DEVICE_NONE) {
      *ptr = rondo::allocateOnHost(bytes);
    } else {
      *ptr = bytes == 0 ? nullptr : rondo::DeviceHeap::own().allocate(device, bytes);
    }
  });
}

rondoResult_t rondoMemFree(void* ptr) {
  return rondo::guarded(nullptr, "rondoMemFree", [&] {
    if (ptr == nullptr) return;
    rondo::refuseParents();
    if (rondo::DeviceHeap::own().release(ptr)) return;
    if (!rondo::Segment::own().release(ptr)) {
      throw rondo::Error(
          rondoInvalidArgument,
          rondo::format("argument ptr is %p; allowed: NULL, or memory of rondoMemAlloc or "
                        "rondoMemAllocDevice that was not freed yet",
                        ptr));
    }
  });
}
