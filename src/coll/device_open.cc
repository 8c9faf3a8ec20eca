#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_open.h"

#include <cstring>
#include <random>
#include <utility>

#include "base/error.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"
#include "kernels/scale.h"

namespace rondo {
namespace {

// Differs between processes, also of different process id name spaces.
std::array<uint64_t, 2> processTag() {
  static const std::array<uint64_t, 2> tag = [] {
    std::random_device random;
    const auto word = [&] { return uint64_t{random()} << 32 | random(); };
    return std::array<uint64_t, 2>{word(), word()};
  }();
  return tag;
}

OpenedDevice open(const DeviceConfig& config, DeviceCard* card) {
  if (config.device == RONDO_DEVICE_NONE) {
    throw Error(rondoUnsupported, "it was made without a device");
  }
  OpenedDevice opened;
  opened.device = std::make_unique<CudaDevice>(CudaDevice::open(config.device, config.localRank));
  const ContextScope scope(opened.device->context());
  card->device = opened.device->uuid();
  card->ordinal = opened.device->ordinal();
  card->context = reinterpret_cast<uint64_t>(opened.device->context());
  card->descriptors = !config.legacyIpc && opened.device->exportsDescriptors();
  int processors = 1;
  int error = loadKernels(&card->blocksAtOnce, &processors);
  if (error == 0) error = loadScale();
  if (error == 0) error = loadDirect(&card->blocksAtOnce, processors);
  if (error != 0) {
    throw Error(rondoUnhandledCudaError,
                format("loading the kernels on device %d: %s (%s)", opened.device->ordinal(),
                       cudaErrorName(error), cudaErrorText(error)));
  }
  card->together = opened.device->runsProcessesTogether() ? 1 : 0;
  // Where nobody else has any, the communicator is the device's first.
  const int left = DeviceBudget::free(opened.device->ordinal(), card->blocksAtOnce);
  const bool first = left + config.blocksHeld >= card->blocksAtOnce;
  card->blocksFree = first ? card->blocksAtOnce : left;
  card->blocksWanted = config.smBudget * (card->blocksAtOnce / processors);
  opened.faults = std::make_unique<PinnedMemory>(*opened.device, sizeof(FaultWords));
  return opened;
}

}  // namespace

OpenedDevice openDevice(const DeviceConfig& config, DeviceCard* card) {
  card->process = processTag();
  card->order = nextOrderCard();
  card->noLines = config.noLineStores ? 1 : 0;
  card->noSms = config.noSms ? 1 : 0;
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
