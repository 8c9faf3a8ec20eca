#include "coll/scaled_ops.h"

#include <cstring>

namespace rondo {

rondoRedOp_t ScaledOps::make(rondoDataType_t type, const void* scalar, size_t bytes,
                             bool immediate) {
  ScaledOp& op = ops_.emplace_back(ScaledOp{type, true, scalar, {}});
  if (immediate) {
    std::memcpy(op.value.data(), scalar, bytes);
    op.scalar = op.value.data();
  }
  return kFirst + static_cast<rondoRedOp_t>(ops_.size()) - 1;
}

ScaledOp* ScaledOps::find(rondoRedOp_t op) {
  const auto index = static_cast<size_t>(op) - static_cast<size_t>(kFirst);
  if (op < kFirst || index >= ops_.size() || !ops_[index].alive) return nullptr;
  return &ops_[index];
}

}  // namespace rondo
