#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/symmetric_call.h"

#include "api/types.h"
#include "base/error.h"

namespace rondo {

const UserMemory::Entry* symmetricResult(const DeviceCall& call, uint64_t bytes,
                                         const UserMemory& memory, int rank) {
  const UserMemory::Entry* stale = nullptr;
  const UserMemory::Entry* const into = memory.findSymmetric(call.recv, bytes, &stale);
  if (into == nullptr && stale != nullptr && stale->everywhere) {
    throw Error(
        rondoInvalidUsage,
        format(
            "%s: rank %d: argument recvbuff (%p) lies in memory that was registered and has been "
            "freed since; allowed: rondoCommDeregister before it is freed",
            call.name, rank, call.recv));
  }
  return into != nullptr && into->everywhere ? into : nullptr;
}

uint32_t symmetricTag(const DeviceCall& call, const UserMemory::Entry& into) {
  const auto offset = static_cast<uint64_t>(static_cast<unsigned char*>(call.recv) - into.memory);
  uint64_t hash = into.number;
  for (const uint64_t word :
       {offset, static_cast<uint64_t>(call.count * typeSize(call.type)),
        static_cast<uint64_t>(call.collective) |
            static_cast<uint64_t>(isRooted(call.collective) ? call.root : 0) << 32}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  const auto tag = static_cast<uint32_t>(hash >> 40);
  return tag == kNowhere ? 1 : tag;
}

}  // namespace rondo

#endif  // HAVE_CUDA
