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

namespace {

/// Where kernels read the scalar when they run; nullptr: it is read now, as it is the operator's
/// copy, or memory that no device reaches.
const unsigned char* runsWith(const ScaledOp& op) {
  if (op.scalar == op.value.data()) return nullptr;
  if (pointerKind(op.scalar).memory != PointerKind::kHost)
    return static_cast<const unsigned char*>(op.scalar);
  // Kernels read whole elements, the host any bytes.
  const bool aligned = reinterpret_cast<uintptr_t>(op.scalar) % typeSize(op.type) == 0;
  return static_cast<const unsigned char*>(aligned ? pinnedOnDevice(op.scalar) : nullptr);
}

}  // namespace

Scale scaleOf(const DeviceCall& call) {
  if (call.scaled == nullptr) return {};
  Scale scale{runsWith(*call.scaled), 0};
  if (scale.scalar == nullptr) {
    std::memcpy(&scale.value, call.scaled->scalar,
                std::min(typeSize(call.type), sizeof scale.value));
  }
  return scale;
}

int multiplyOnDevice(const DeviceCall& call, void* into, uint64_t count) {
  const auto bytes = static_cast<uint32_t>(typeSize(call.type));
  ScaleCall scale{static_cast<const unsigned char*>(call.send),
                  static_cast<unsigned char*>(into),
                  count,
                  call.type,
                  bytes,
                  runsWith(*call.scaled),
                  {}};
  if (scale.scalar == nullptr) std::memcpy(&scale.value, call.scaled->scalar, bytes);
  return launchScale(scale, call.stream);
}

}  // namespace rondo

#endif  // HAVE_CUDA
