// Host memory that peers read in place.

#include "api/comm_create.h"
#include "base/error.h"
#include "p2p/segment.h"

rondoResult_t rondoMemAlloc(void** ptr, size_t bytes) {
  return rondo::guarded(nullptr, "rondoMemAlloc", [&] {
    if (ptr == nullptr) {
      throw rondo::Error(rondoInvalidArgument,
                         "argument ptr is NULL; allowed: where to write the address");
    }
    void* memory = nullptr;
    if (bytes > 0 && (memory = rondo::Segment::own().allocate(bytes)) == nullptr) {
      throw rondo::Error(
          rondoOutOfMemory,
          rondo::format("argument bytes is %zu, and no free range of shared memory is that long; "
                        "allowed: less, or after rondoMemFree of other memory",
                        bytes));
    }
    *ptr = memory;
  });
}

rondoResult_t rondoMemFree(void* ptr) {
  return rondo::guarded(nullptr, "rondoMemFree", [&] {
    if (ptr != nullptr && !rondo::Segment::own().release(ptr)) {
      throw rondo::Error(
          rondoInvalidArgument,
          rondo::format(
              "argument ptr is %p; allowed: NULL, or memory of rondoMemAlloc that was not "
              "freed yet",
              ptr));
    }
  });
}
