#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_scaled.h"

#include <algorithm>
#include <cstring>

#include "kernels/launch.h"
#include "kernels/scale.h"
#include "p2p/cuda_device.h"

namespace rondo {

Scale scaleOf(const DeviceCall& call) {
  if (call.scaled == nullptr) return {};
  Scale scale{static_cast<const unsigned char*>(call.scaled->scalar), 0};
  if (pointerKind(scale.scalar).memory != PointerKind::kHost) return scale;
  std::memcpy(&scale.value, scale.scalar, std::min(typeSize(call.type), sizeof scale.value));
  scale.scalar = nullptr;
  return scale;
}

int multiplyOnDevice(const DeviceCall& call, void* into, uint64_t count) {
  const auto bytes = static_cast<uint32_t>(typeSize(call.type));
  ScaleCall scale{static_cast<const unsigned char*>(call.send),
                  static_cast<unsigned char*>(into),
                  count,
                  call.type,
                  bytes,
                  static_cast<const unsigned char*>(call.scaled->scalar),
                  {}};
  if (pointerKind(scale.scalar).memory == PointerKind::kHost) {
    std::memcpy(&scale.value, scale.scalar, bytes);
    scale.scalar = nullptr;
  }
  return launchScale(scale, call.stream);
}

}  // namespace rondo

#endif  // HAVE_CUDA
