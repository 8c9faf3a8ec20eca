#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/offered_memory.h"

#include <algorithm>
#include <utility>

namespace rondo {

bool KeptMemory::add(uint64_t id, uint64_t bytes, uint64_t most) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = kept_.find(id);
  if (known != kept_.end()) {
    ++known->second.tables;
    return true;
  }
  if (bytes > most - std::min(most, bytes_)) return false;
  kept_.emplace(id, Kept{bytes, 1});
  bytes_ += bytes;
  return true;
}

void KeptMemory::remove(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = kept_.find(id);
  if (known == kept_.end() || --known->second.tables > 0) return;
  bytes_ -= known->second.bytes;
  kept_.erase(known);
}

OfferedMemory::OfferedMemory(int ranks, std::function<uint64_t()> mostKept, KeptMemory* kept)
    : ranks_(ranks),
      mostKept_(std::move(mostKept)),
      there_(new std::atomic<uint64_t>[static_cast<size_t>(kMost) * static_cast<size_t>(ranks)]()),
      kept_(kept) {
  for (Row& row : rows_) row.holds.resize(static_cast<size_t>(ranks));
}

OfferedMemory::~OfferedMemory() {
  for (const Row& row : rows_) {
    if (row.number != 0 && row.counts) kept_->remove(row.number);
  }
}

/// A row that is found becomes another's only after its id has changed, and no id comes back: what
/// was read of it counts if the id is the same afterwards. Whoever reads a new base sees that.
uint64_t OfferedMemory::find(int peer, const unsigned char* data, uint64_t bytes,
                             bool* unknown) const {
  *unknown = false;
  const uint64_t id = allocationId(data);
  if (id == 0) return 0;
  const auto reach = static_cast<size_t>(reach_.load(std::memory_order_acquire));
  for (size_t r = 0; r < reach; ++r) {
    const Row& row = rows_[r];
    if (row.id.load(std::memory_order_acquire) != id) continue;
    const uint64_t there = at(r, peer).load(std::memory_order_acquire);
    const unsigned char* const base = row.base.load(std::memory_order_acquire);
    const uint64_t length = row.bytes.load(std::memory_order_acquire);
    if (row.id.load(std::memory_order_acquire) != id) return 0;  // asked for the next time
    *unknown = there == kUnasked;
    const auto offset = static_cast<uint64_t>(data - base);
    if (there <= kNowhere || offset > length || bytes > length - offset) return 0;
    return there + offset;
  }
  *unknown = !full_.load(std::memory_order_relaxed);
  return 0;
}

OfferedMemory::Row* OfferedMemory::rowOf(uint64_t id) {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.number == id; });
  return found == rows_.end() ? nullptr : &*found;
}

OfferedMemory::Row* OfferedMemory::freshRow(const UserAllocation& allocation,
                                            ExportedAllocation::How how) {
  Row* const row = rowOf(0);
  if (row == nullptr) {
    full_ = true;
    return nullptr;
  }
  row->base.store(allocation.base, std::memory_order_release);
  row->bytes.store(allocation.bytes, std::memory_order_release);
  row->number = allocation.id;
  row->counts = how == ExportedAllocation::kIpc && keep(allocation);
  row->lacksRoom = how == ExportedAllocation::kIpc && !row->counts;
  row->since = Clock::now();
  const bool offered = how != ExportedAllocation::kNone && !row->lacksRoom;
  const auto index = static_cast<size_t>(row - rows_.data());
  for (int peer = 0; peer < ranks_; ++peer) at(index, peer) = offered ? kUnasked : kNowhere;
  ++used_;
  row->id.store(allocation.id, std::memory_order_release);
  const int reach = static_cast<int>(index) + 1;
  if (reach > reach_) reach_.store(reach, std::memory_order_release);
  return row;
}

bool OfferedMemory::keep(const UserAllocation& allocation) {
  if (!kept_->add(allocation.id, allocation.bytes, mostKept_())) return false;
  keptHere_ += allocation.bytes;
  return true;
}

bool OfferedMemory::offer(int peer, const UserAllocation& allocation, ExportedAllocation::How how) {
  Row* row = rowOf(allocation.id);
  if (row == nullptr) row = freshRow(allocation, how);
  if (row == nullptr) return false;
  auto& there = at(static_cast<size_t>(row - rows_.data()), peer);
  if (there != kUnasked) return false;
  there = kNowhere;
  row->holds[static_cast<size_t>(peer)] = 1;
  return true;
}

bool OfferedMemory::lacksRoom(uint64_t id) {
  const Row* const row = rowOf(id);
  return row != nullptr && row->lacksRoom;
}

void OfferedMemory::answer(int peer, uint64_t id, uint64_t address) {
  Row* const row = id == 0 ? nullptr : rowOf(id);
  if (row == nullptr || row->holds[static_cast<size_t>(peer)] == 0) return;
  if (address <= kNowhere) {
    release(row, peer);
  } else if (row->id.load(std::memory_order_relaxed) != 0) {
    at(static_cast<size_t>(row - rows_.data()), peer).store(address, std::memory_order_release);
  }
}

void OfferedMemory::closed(int peer, uint64_t id) {
  Row* const row = id == 0 ? nullptr : rowOf(id);
  if (row != nullptr) release(row, peer);
}

void OfferedMemory::closedAll(int peer) {
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].number == 0) continue;
    at(r, peer) = kNowhere;
    release(&rows_[r], peer);
  }
}

bool OfferedMemory::isHeld(const Row& row) {
  return std::any_of(row.holds.begin(), row.holds.end(), [](char has) { return has != 0; });
}

void OfferedMemory::release(Row* row, int peer) {
  row->holds[static_cast<size_t>(peer)] = 0;
  if (row->id.load(std::memory_order_relaxed) == 0 && !isHeld(*row)) clear(row);
}

void OfferedMemory::clear(Row* row) {
  if (row->counts) {
    kept_->remove(row->number);
    keptHere_ -= row->bytes;
  }
  row->number = 0;
  --used_;
  full_ = false;
}

void OfferedMemory::sweep(const std::function<bool(const unsigned char*, uint64_t)>& isFreed,
                          const std::function<void(int, uint64_t)>& tell, Clock::time_point now) {
  for (Row& row : rows_) {
    if (row.number == 0) continue;
    const bool again = now - row.since >= kAgain;
    if (row.id.load(std::memory_order_relaxed) != 0) {
      if (!(row.lacksRoom && again) && !isFreed(row.base, row.number)) continue;
      row.id.store(0, std::memory_order_release);
    } else if (!again) {
      continue;
    }
    row.since = now;
    for (int peer = 0; peer < ranks_; ++peer) {
      if (row.holds[static_cast<size_t>(peer)] != 0) tell(peer, row.number);
    }
    if (!isHeld(row)) clear(&row);
  }
}

}  // namespace rondo

#endif  // HAVE_CUDA
