#include "coll/device_budget.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "kernels/far.h"

namespace rondo {
namespace {

struct Ledger {
  std::mutex mutex;
  // By ordinal.
  std::map<int, int> taken, processes, looking;
  std::map<int, std::atomic<int>> users;  // never erased

  int sharers(int ordinal) const {
    const auto found = processes.find(ordinal);
    return found == processes.end() ? 1 : found->second;
  }
  DeviceRoom room(int ordinal, int total) {
    return {total, taken[ordinal], sharers(ordinal), looking[ordinal]};
  }
};
Ledger& ledger() {
  static Ledger* one = new Ledger;  // outlives every static
  return *one;
}

}  // namespace

DeviceBudget::DeviceBudget(DeviceBudget&& other) noexcept
    : ordinal_(other.ordinal_),
      blocks_(std::exchange(other.blocks_, 0)),
      looks_(std::exchange(other.looks_, false)) {}

DeviceBudget& DeviceBudget::operator=(DeviceBudget&& other) noexcept {
  std::swap(ordinal_, other.ordinal_);
  std::swap(blocks_, other.blocks_);
  std::swap(looks_, other.looks_);
  return *this;
}

DeviceBudget::~DeviceBudget() {
  if (blocks_ == 0 && !looks_) return;
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  if (looks_) --ledger().looking[ordinal_];
  if (blocks_ == 0) return;
  ledger().taken[ordinal_] -= blocks_;
  --ledger().users[ordinal_];
}

DeviceRoom DeviceBudget::room(int ordinal, int total) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  return ledger().room(ordinal, total);
}

DeviceRoom DeviceBudget::look(int ordinal, int total) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  const DeviceRoom seen = ledger().room(ordinal, total);
  ++ledger().looking[ordinal];
  ordinal_ = ordinal;
  looks_ = true;
  return seen;
}

void DeviceBudget::sharedBy(int ordinal, int processes) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  const int before = ledger().sharers(ordinal);
  if (processes <= before) return;
  ledger().processes[ordinal] = processes;
  ledger().users[ordinal] += processes - before;
}

const std::atomic<int>& DeviceBudget::users(int ordinal) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  return ledger().users[ordinal];
}

int DeviceRoom::share(const DeviceSharers& sharers) const {
  const int mine = total / std::max(processes, sharers.processes);
  return std::max(0, mine - taken) / sharers.inProcess;
}

std::string DeviceRoom::text(const DeviceSharers& sharers) const {
  const int all = std::max(processes, sharers.processes);
  std::string text = format("has room for %d blocks of kernels at once", total);
  if (all > 1) text += format(", for %d processes", all);
  text += format(", of which %d are left", share(sharers));
  if (sharers.inProcess > 1) text += format(" to each of %d ranks", sharers.inProcess);
  return text;
}

int DeviceBudget::usual(int total, int free, int others) {
  if (free == total) return std::max(1, total / 2 >> std::min(others, 30));
  const int spare = std::clamp(total / 3, 28, 44);
  const auto next = [&] { return std::min(free, free > spare ? (free - spare) / 5 + 1 : 1); };
  for (int i = 0; i < others && free > 1; ++i) free -= next();
  return next();
}

int DeviceBudget::carrying(int share, int wanted, int most) {
  const int asked = wanted == 0 ? share / 16 : wanted;
  // As many for sends and receives.
  return std::clamp(most == 0 ? asked : std::min(asked, most), 2, 2 * kFarBlocks) / 2 * 2;
}

bool DeviceBudget::take(int ordinal, int total, int blocks) {
  const std::lock_guard<std::mutex> lock(ledger().mutex);
  if (std::exchange(looks_, false)) --ledger().looking[ordinal_];
  int& taken = ledger().taken[ordinal];
  if (total / ledger().sharers(ordinal) - taken < blocks) return false;
  taken += blocks;
  ++ledger().users[ordinal];
  ordinal_ = ordinal;
  blocks_ = blocks;
  return true;
}

}  // namespace rondo
