#pragma once
// What the layer knows of requests that the program keeps from call to call.

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace rondo::drop_in {

template <class Kept>
class RequestTable {
 public:
  using Held = std::shared_ptr<Kept>;

  /// `count` is how many it has, which others may look at.
  explicit RequestTable(std::atomic<size_t>& count) : count_(count) {}

  void add(MPI_Request request, const Held& kept) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (all_.insert_or_assign(request, kept).second) count_.fetch_add(1);
  }
  /// nullptr: it has none.
  Held find(MPI_Request request) {
    if (empty()) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() ? nullptr : found->second;
  }
  void remove(MPI_Request request) {
    if (empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    count_.fetch_sub(all_.erase(request));
  }
  template <class Do>
  void each(const Do& act) {
    if (empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [request, kept] : all_) act(*kept);
  }

 private:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  std::mutex mutex_;
  std::unordered_map<MPI_Request, Held> all_;
  std::atomic<size_t>& count_;
};

}  // namespace rondo::drop_in
