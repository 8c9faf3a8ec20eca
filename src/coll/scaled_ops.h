#pragma once
// Operators made at run time: a sum of inputs that each rank multiplies by a scalar of its own.

#include <array>
#include <deque>
#include <mutex>

#include "api/rondo_types.h"

namespace rondo {

/// One premultiplied sum.
struct ScaledOp {
  rondoDataType_t type;
  bool alive;
  const void* scalar;  ///< `value`, or the caller's memory, read when a collective runs.
  alignas(16) std::array<unsigned char, 16> value;
  bool onDevice = false;  ///< `scalar` is memory of a device: the host cannot read it.
};

/// Those of one communicator, numbered in the order in which they were made. Thread safe but for an
/// operator itself.
class ScaledOps {
 public:
  /// Handles below are not made at run time.
  static constexpr rondoRedOp_t kFirst = 1024;

  /// `bytes` of *scalar are copied if `immediate`.
  rondoRedOp_t make(rondoDataType_t type, const void* scalar, size_t bytes, bool immediate);
  /// nullptr if there is none (any more).
  ScaledOp* find(rondoRedOp_t op);
  /// For calls of groups, which may run after rondoRedOpDestroy.
  const ScaledOp* evenDestroyed(rondoRedOp_t op);

 private:
  ScaledOp* at(rondoRedOp_t op);

  std::mutex mutex_;          // the progress thread looks operators up
  std::deque<ScaledOp> ops_;  // addresses stay
};

}  // namespace rondo
