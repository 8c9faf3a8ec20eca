#pragma once
// Operators made at run time: a sum of inputs that each rank multiplies by a scalar of its own.

#include <array>
#include <mutex>
#include <unordered_map>

#include "api/rondo_types.h"

namespace rondo {

/// One premultiplied sum.
struct ScaledOp {
  rondoDataType_t type = rondoFloat32;
  const void* scalar = nullptr;  ///< `value`, or the caller's memory, read when a collective runs.
  alignas(16) std::array<unsigned char, 16> value = {};
  bool onDevice = false;  ///< `scalar` is memory of a device: the host cannot read it.

  /// For a call that may run after rondoRedOpDestroy.
  void copyTo(ScaledOp* other) const {
    *other = *this;
    if (scalar == value.data()) other->scalar = other->value.data();
  }
};

/// Those of one communicator, numbered in the order in which they were made. Numbers come again,
/// but none that an operator has. Thread safe but for an operator itself.
class ScaledOps {
 public:
  /// Handles below are not made at run time.
  static constexpr rondoRedOp_t kFirst = 1024;

  /// `bytes` of *scalar are copied if `immediate`.
  rondoRedOp_t make(rondoDataType_t type, const void* scalar, size_t bytes, bool immediate);
  /// nullptr if there is none (any more). Its address stays until it is destroyed.
  ScaledOp* find(rondoRedOp_t op);
  void destroy(rondoRedOp_t op);
  size_t alive();
  /// Tests: as if so many had been made.
  void startAt(uint64_t made);

 private:
  std::mutex mutex_;  // the progress thread looks operators up
  uint64_t made_ = 0;
  std::unordered_map<rondoRedOp_t, ScaledOp> ops_;
};

}  // namespace rondo
