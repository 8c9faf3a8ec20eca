#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/graph_places.h"

#include <algorithm>
#include <utility>

namespace rondo {

GraphPlaces::GraphPlaces(const CudaDevice& device, std::function<uint64_t()> mostKept,
                         KeptMemory* kept)
    : mostKept_(std::move(mostKept)),
      kept_(kept),
      words_(device, kMost * sizeof(GraphPlace)),
      known_(
          allocateDevice(device, kMost * sizeof(GraphPlace), DeviceMemory::Sharing::kLegacyIpc)) {}

GraphPlaces::~GraphPlaces() {
  for (const uint64_t id : keep_) kept_->remove(id);
}

uint64_t GraphPlaces::add(int peer, const UserAllocation& allocation, bool* fresh) {
  *fresh = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.peer == peer && row.allocation.id == allocation.id;
  });
  const auto index = static_cast<uint64_t>(known - rows_.begin());
  if (known == rows_.end()) {
    if (rows_.size() == kMost) return 0;
    rows_.push_back({peer, allocation, State::kFresh});
    *fresh = true;
  }
  return kGraphPlace | index;
}

std::vector<GraphPlaces::Wanted> GraphPlaces::takeWanted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Wanted> out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    if (row.state != State::kFresh) continue;
    const uint64_t id = row.allocation.id;
    bool keeps = std::find(keep_.begin(), keep_.end(), id) != keep_.end();
    if (!keeps && kept_->add(id, row.allocation.bytes, mostKept_())) {
      keep_.push_back(id);
      keeps = true;
    }
    row.state = State::kAsked;
    if (keeps) {
      out.push_back({static_cast<int>(i), row.peer, row.allocation});
    } else {
      close(i);
    }
  }
  return out;
}

void GraphPlaces::answer(int index, int peer, uint64_t id, uint64_t at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto i = static_cast<size_t>(index);
  if (index < 0 || i >= rows_.size()) return;
  Row& row = rows_[i];
  if (row.state != State::kAsked || row.peer != peer || row.allocation.id != id) return;
  if (at == 0) return close(i);
  row.state = State::kThere;
  const auto here = reinterpret_cast<uint64_t>(row.allocation.base);
  way(i).store(packWay(at, here), std::memory_order_release);
}

void GraphPlaces::close(size_t index) {
  way(index).store(kNoWay, std::memory_order_release);
  rows_[index].state = State::kNowhere;
}

void GraphPlaces::closedAll(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].peer == peer) close(i);
  }
}

void GraphPlaces::sweep(const std::function<bool(const unsigned char*, uint64_t)>& isFreed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.state == State::kThere && isFreed(row.allocation.base, row.allocation.id)) close(i);
  }
}

int GraphPlaces::filled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(std::count_if(rows_.begin(), rows_.end(),
                                        [](const Row& row) { return row.state == State::kThere; }));
}

int GraphPlaces::used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  int out = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    uint64_t& word = static_cast<GraphPlace*>(words_.host())[i].used;
    if (std::atomic_ref<uint64_t>(word).load(std::memory_order_relaxed) != 0) ++out;
  }
  return out;
}

int GraphPlaces::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(rows_.size());
}

}  // namespace rondo

#endif  // HAVE_CUDA
