#include "coll/scaled_ops.h"

#include <cstring>

namespace rondo {

rondoRedOp_t ScaledOps::make(rondoDataType_t type, const void* scalar, size_t bytes,
                             bool immediate) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ScaledOp& op = ops_.emplace_back(ScaledOp{type, true, scalar, {}, false});
  if (immediate) {
    std::memcpy(op.value.data(), scalar, bytes);
    op.scalar = op.value.data();
  }
  return kFirst + static_cast<rondoRedOp_t>(ops_.size()) - 1;
}

ScaledOp* ScaledOps::at(rondoRedOp_t op) {
  if (op < kFirst) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto index = static_cast<size_t>(op - kFirst);
  return index < ops_.size() ? &ops_[index] : nullptr;
}

ScaledOp* ScaledOps::find(rondoRedOp_t op) {
  ScaledOp* found = at(op);
  return found != nullptr && found->alive ? found : nullptr;
}

const ScaledOp* ScaledOps::evenDestroyed(rondoRedOp_t op) { return at(op); }

}  // namespace rondo
