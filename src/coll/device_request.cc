#include "coll/device_request.h"

#include <algorithm>

#include "api/types.h"
#include "base/error.h"
#include "coll/plan.h"

namespace rondo {

DeviceRequest requestOf(const DeviceCall& call, int ranks) {
  const bool fused =
      call.scaled != nullptr && ranks > 1 && !isScan(call.collective) && isHot(call.type, rondoSum);
  const Reduces what = !isReduction(call.collective) ? Reduces::kNothing
                       : fused                       ? Reduces::kScaled
                       : isHot(call.type, call.op)   ? Reduces::kHot
                                                     : Reduces::kAll;
  return {call.collective, call.count, static_cast<uint32_t>(typeSize(call.type)), what};
}

void asTransfers(const DeviceCall& call, int rank, int size, std::vector<Transfer>* transfers) {
  transfers->clear();
  const uint64_t slot = call.count * typeSize(call.type);
  const bool root = rank == call.root;
  switch (call.collective) {
    case Collective::Gather:
      transfers->push_back(
          {call.root, true, static_cast<char*>(const_cast<void*>(call.send)), slot});
      if (root) addSlots(transfers, call.recv, slot, size, false);
      break;
    case Collective::Scatter:
      transfers->push_back({call.root, false, static_cast<char*>(call.recv), slot});
      if (root) addSlots(transfers, call.send, slot, size, true);
      break;
    default:
      addSlots(transfers, call.send, slot, size, true);
      addSlots(transfers, call.recv, slot, size, false);
  }
  const bool scattered = call.collective == Collective::Scatter;
  for (Transfer& each : *transfers) each.scattered = scattered;
}

void checkDeviceCall(const DeviceCall& call, int rank) {
  const bool plain = isReduction(call.collective) && call.scaled == nullptr;
  if (plain && !opDefined(call.type, call.op)) {
    throw Error(
        rondoUnsupported,
        format("%s: rank %d: argument op is %d (%s), which is not available on %s of device "
               "memory; allowed there: the library's own operators",
               call.name, rank, call.op, opName(call.op), typeName(call.type)));
  }
  const uint32_t aligned = std::min(static_cast<uint32_t>(typeSize(call.type)), 8u);
  const SlotUse use = slotUse(call.collective, rank, call.root);
  const auto checkPlace = [&](const char* name, const void* pointer, Slots used) {
    if (used == Slots::None || reinterpret_cast<uintptr_t>(pointer) % aligned == 0) return;
    throw Error(
        rondoInvalidArgument,
        format("%s: rank %d: argument %s is %p; allowed: addresses that are multiples of %u",
               call.name, rank, name, pointer, aligned));
  };
  checkPlace("sendbuff", call.send, use.src);
  checkPlace("recvbuff", call.recv, use.dst);
}

}  // namespace rondo
