#include "coll/device_budget.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace rondo {
namespace {

struct Ledger {
  std::mutex mutex;
  std::map<int, int> taken;  // by ordinal
};
Ledger& ledger() {
  static Ledger* one = new Ledger;  // outlives every static
  return *one;
}

}  // namespace

DeviceBudget::DeviceBudget(DeviceBudget&& other) noexcept
    : ordinal_(other.ordinal_), blocks_(std::exchange(other.blocks_, 0)) {}

DeviceBudget& DeviceBudget::operator=(DeviceBudget&& other) noexcept {
  std::swap(ordinal_, other.ordinal_);
  std::swap(blocks_, other.blocks_);
  return *this;
}

DeviceBudget::~DeviceBudget() {
  if (blocks_ == 0) return;
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  ledger().taken[ordinal_] -= blocks_;
}

int DeviceBudget::free(int ordinal, int total) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  return std::max(0, total - ledger().taken[ordinal]);
}

int DeviceBudget::usual(int total, int free) {
  if (free == total) return std::max(1, total / 2);
  return std::min(free, std::max(1, free / 16));
}

bool DeviceBudget::take(int ordinal, int total, int blocks) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  int& taken = ledger().taken[ordinal];
  if (total - taken < blocks) return false;
  taken += blocks;
  ordinal_ = ordinal;
  blocks_ = blocks;
  return true;
}

}  // namespace rondo
