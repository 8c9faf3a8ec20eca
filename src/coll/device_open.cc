#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_open.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "kernels/direct_call.h"
#include "kernels/fold.h"
#include "kernels/launch.h"
#include "kernels/scale.h"

namespace rondo {
namespace {

OpenedDevice open(const DeviceConfig& config, DeviceCard* card) {
  if (config.device == RONDO_DEVICE_NONE) {
    throw Error(rondoUnsupported, "it was made without a device");
  }
  OpenedDevice opened;
  opened.device = std::make_unique<CudaDevice>(CudaDevice::open(config.device, config.localRank));
  const CapturesAlone alone;
  const ContextScope scope(opened.device->context());
  endStage(config.times, "context");
  card->device = opened.device->uuid();
  card->ordinal = opened.device->ordinal();
  card->context = reinterpret_cast<uint64_t>(opened.device->context());
  card->descriptors = !config.legacyIpc && opened.device->exportsDescriptors();
  int blocksAtOnce = 0, processors = 1;
  int error = loadKernels(&blocksAtOnce, &processors);
  if (error == 0) error = loadScale();
  if (error == 0) error = loadFold();
  if (error == 0) error = loadDirect(&blocksAtOnce, processors);
  if (error != 0) {
    throw Error(rondoUnhandledCudaError,
                format("loading the kernels on device %d: %s (%s)", opened.device->ordinal(),
                       cudaErrorName(error), cudaErrorText(error)));
  }
  opened.launchesClose = launchesClose();
  const bool only = DeviceBudget::users(card->ordinal).load(std::memory_order_relaxed) == 0;
  card->close = !opened.launchesClose || config.dependentLaunch != DependentLaunch::On ? Close::kNot
                : only ? Close::kBeside
                       : Close::kAtItsEnd;
  endStage(config.times, "kernels");
  card->together = opened.device->runsProcessesTogether() ? 1 : 0;
  card->room = opened.budget.look(opened.device->ordinal(), blocksAtOnce);
  card->blocksHeld = config.blocksHeld;
  card->sharers = config.sharers;
  card->blocksWanted = config.smBudget * (blocksAtOnce / processors);
  card->blocksMost = config.smMost * (blocksAtOnce / processors);
  opened.faults = std::make_unique<PinnedMemory>(*opened.device, DeviceFaults::kBytes);
  endStage(config.times, "pinned memory");
  return opened;
}

}  // namespace

OpenedDevice openDevice(const DeviceConfig& config, DeviceCard* card) {
  card->process = processTag();
  card->order = nextOrderCard();
  card->noLines = config.noLineStores ? 1 : 0;
  card->noSms = config.noSms ? 1 : 0;
  card->noBackground = config.noBackground ? 1 : 0;
  card->registeredOnly = config.registeredOnly ? 1 : 0;
  try {
    return open(config, card);
  } catch (const Error& error) {
    card->code = error.code();
    std::strncpy(card->why.data(), error.what(), card->why.size() - 1);
    return {};
  }
}

}  // namespace rondo

#endif  // HAVE_CUDA
