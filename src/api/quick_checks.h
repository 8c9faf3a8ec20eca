#pragma once
// The checks of a collective call at a glance, for the usual call on host memory: what passes here
// would pass all of argument_checks.h, which takes several times as long. What does not pass may be
// right all the same, and goes there, where the sentences are.

#include <array>
#include <cstdint>

#include "api/run_collective.h"
#include "api/types.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace quick_checks {

/// What is known of a type: its size, and a bit for every operator below 64 that it has. Types are
/// numbered below 64; a size of 0 says that there is none.
struct TypeFacts {
  uint64_t ops = 0;
  uint32_t bytes = 0;
};

constexpr std::array<TypeFacts, 64> factsOfTypes() {
  std::array<TypeFacts, 64> facts{};
  for (const rondoDataType_t type : kAllTypes) {
    TypeFacts& at = facts[static_cast<size_t>(type)];
    at.bytes = static_cast<uint32_t>(typeSize(type));
    for (const rondoRedOp_t op : kAllOps) {
      if (opDefined(type, op)) at.ops |= uint64_t{1} << op;
    }
  }
  return facts;
}
inline constexpr std::array<TypeFacts, 64> kTypeFacts = factsOfTypes();

/// Lengths that cannot overflow, and addresses that cannot wrap with such lengths.
constexpr uint64_t kMostCount = uint64_t{1} << 32, kMostBlocks = uint64_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 60;
constexpr uintptr_t kMostAddress = uintptr_t{1} << 62;

}  // namespace quick_checks

/// Whether nothing is wrong with a call's buffers of so many bytes: separate or in place, and host
/// memory. False: perhaps. A length of 0 stands for a buffer that is not used.
inline bool plainlyPlaced(const CollectiveArgs& args, uint64_t sendBytes, uint64_t recvBytes) {
  using namespace quick_checks;
  const auto send = reinterpret_cast<uintptr_t>(args.send);
  const auto recv = reinterpret_cast<uintptr_t>(args.recv);
  const bool sends = args.usesSend && sendBytes > 0, receives = args.usesRecv && recvBytes > 0;
  if (args.stream != nullptr || args.comm->rehearsal != nullptr) return false;
  if ((sendBytes | recvBytes) >= kMostBytes) return false;
  if (sends && (send - 1 >= kMostAddress || pointerKind(args.send).memory != PointerKind::kHost)) {
    return false;
  }
  if (receives &&
      (recv - 1 >= kMostAddress || pointerKind(args.recv).memory != PointerKind::kHost)) {
    return false;
  }
  if (!sends || !receives) return sends || receives;
  if (send + sendBytes <= recv || recv + recvBytes <= send) [[likely]]
    return true;
  // Both may wrap.
  const uint64_t inPlace =
      static_cast<uint64_t>(args.alias) * kTypeFacts[static_cast<size_t>(args.type)].bytes;
  return args.mayAlias && send - recv == inPlace;
}

/// Whether nothing is wrong with a call with even counts above 0. False: perhaps.
inline bool plainlyRight(const CollectiveArgs& args, const CollectiveKind& kind) {
  using namespace quick_checks;
  const auto type = static_cast<uint32_t>(args.type), op = static_cast<uint32_t>(kind.op);
  if (type >= kTypeFacts.size() || kTypeFacts[type].bytes == 0) return false;
  if (kind.reduces && (op >= 64 || (kTypeFacts[type].ops >> op & 1) == 0)) return false;
  const auto ranks = static_cast<uint32_t>(args.comm->impl->place().size);
  if (kind.rooted && static_cast<uint32_t>(kind.root) >= ranks) return false;
  if (args.count - 1 >= kMostCount || (args.sendBlocks | args.recvBlocks) >= kMostBlocks) {
    return false;
  }
  const uint64_t bytes = args.count * kTypeFacts[type].bytes;
  return plainlyPlaced(args, bytes * args.sendBlocks, bytes * args.recvBlocks);
}

}  // namespace rondo
