#include "coll/scaled_ops.h"

#include <climits>
#include <cstring>

namespace rondo {

rondoRedOp_t ScaledOps::make(rondoDataType_t type, const void* scalar, size_t bytes,
                             bool immediate) {
  // The same on all ranks, which may destroy theirs in another order. An operator that lasts stays
  // what it is when all numbers have been had: of one a call there are two billion in some hours.
  constexpr uint64_t kNumbers = INT_MAX - kFirst;
  const std::lock_guard<std::mutex> lock(mutex_);
  rondoRedOp_t number = 0;
  do {
    number = kFirst + static_cast<rondoRedOp_t>(made_++ % kNumbers);
  } while (ops_.count(number) != 0);
  ScaledOp& op = ops_[number];
  op = ScaledOp{type, scalar, {}, false};
  if (immediate) {
    std::memcpy(op.value.data(), scalar, bytes);
    op.scalar = op.value.data();
  }
  return number;
}

ScaledOp* ScaledOps::find(rondoRedOp_t op) {
  if (op < kFirst) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = ops_.find(op);
  return found != ops_.end() ? &found->second : nullptr;
}

void ScaledOps::destroy(rondoRedOp_t op) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ops_.erase(op);
}

void ScaledOps::startAt(uint64_t made) {
  const std::lock_guard<std::mutex> lock(mutex_);
  made_ = made;
}

size_t ScaledOps::alive() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ops_.size();
}

}  // namespace rondo
