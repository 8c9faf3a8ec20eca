#pragma once
// A FarDevice without a GPU: kernels are the kernels' own code on threads, streams are queues with
// a thread each, device memory is memory.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "coll/far_device.h"
#include "coll/far_lines.h"
#include "kernels/far_exchange_visit.h"
#include "kernels/far_visit.h"

namespace rondo::testing {

/// What runs in order, one after the other, on a thread of its own; or is written down to be run
/// again.
class PretendedStream {
 public:
  using Work = std::function<void()>;

  PretendedStream() : thread_([this] { loop(); }) {}
  PretendedStream(const PretendedStream&) = delete;
  PretendedStream& operator=(const PretendedStream&) = delete;
  ~PretendedStream() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  rondoStream_t handle() { return reinterpret_cast<rondoStream_t>(this); }
  static PretendedStream& of(rondoStream_t stream) {
    return *reinterpret_cast<PretendedStream*>(stream);
  }

  void enqueue(Work work) {
    if (graph_ != nullptr) return graph_->push_back(std::move(work));
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  /// What is enqueued from now on goes into `graph`; nullptr: runs. Returns where it went before.
  std::vector<Work>* captureInto(std::vector<Work>* graph) { return std::exchange(graph_, graph); }
  bool captures() const { return graph_ != nullptr; }
  void replay(const std::vector<Work>& graph) {
    for (const Work& work : graph) enqueue(work);
  }
  void synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty(); });
  }
  bool idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return queue_.empty();
  }

 private:
  void loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work work = queue_.front();
      lock.unlock();
      work();
      lock.lock();
      queue_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::vector<Work>* graph_ = nullptr;
  bool ended_ = false;
  std::thread thread_;
};

/// What is enqueued on `later` from now on waits for what is on `first` by now.
inline void orderPretended(PretendedStream& first, PretendedStream& later) {
  const auto happened = std::make_shared<std::atomic<bool>>(false);
  first.enqueue([happened] { *happened = true; });
  later.enqueue([happened] {
    while (!happened->load()) std::this_thread::yield();
    *happened = false;  // for the next replay
  });
}

/// One block of a kernel (kernels/far_visit.h, far_exchange_visit.h).
class PretendedHands {
 public:
  PretendedHands(int block, int blocks, const FaultView& fault, bool together)
      : block_(block), blocks_(blocks), fault_(fault), together_(together) {}
  int block() const { return block_; }
  int blocks() const { return blocks_; }
  uint32_t count(const uint32_t* counts) const { return counts[block_]; }
  void toHost(void* to, const void* from, uint64_t bytes) const { copy(to, from, bytes); }
  void fromHost(void* to, const void* from, uint64_t bytes) const { copy(to, from, bytes); }
  void within(void* to, const void* from, uint64_t bytes) const { copy(to, from, bytes); }
  template <class T>
  void write(T* host, const T& value) const {
    *host = value;
  }
  void ring(uint32_t* word, uint32_t number) const {
    std::atomic_ref<uint32_t>(*word).store(number, std::memory_order_release);
  }
  bool await(uint32_t* word, uint32_t number) {
    while (!rang(word, number)) {
      if (!idle(false)) return false;
    }
    return true;
  }
  uint32_t answers(FarWord* answered, uint32_t from, uint32_t to) const {
    uint32_t together = 0;
    while (together < to - from &&
           rang(&answered[(from + together) % kFarSlots].value, from + together + 1)) {
      ++together;
    }
    return together;
  }
  void toLines(FarLine* lines, const FarLined& what, uint32_t tag, const void* from) const {
    putLines(lines, what, tag, static_cast<const unsigned char*>(from));
  }
  bool fromLines(FarLine* lines, const FarLined& what, uint32_t tag, void* to) const {
    while (!takeLines(lines, what, tag, static_cast<unsigned char*>(to))) {
      if (!idle(false)) return false;
    }
    return true;
  }
  void setCount(uint32_t* counts, uint32_t number) const {
    counts[block_] = number;
    for (int b = blocks_; block_ == 0 && b < kFarBlocks; ++b) counts[b] = number;
  }
  FarHeld held(int i) const { return held_[i]; }
  void keep(int i, const FarHeld& held, bool) { held_[i] = held; }
  bool rang(uint32_t* word, uint32_t number) const {
    return std::atomic_ref<uint32_t>(*word).load(std::memory_order_acquire) == number;
  }
  bool idle(bool) const {
    std::this_thread::yield();
    return std::atomic_ref<uint32_t>(fault_.words->abort).load() == 0;
  }
  bool gotLines(FarLine* lines, const FarLined& what, uint32_t tag, void* to) const {
    return takeLines(lines, what, tag, static_cast<unsigned char*>(to));
  }
  void endStrand(uint32_t* count, uint32_t number) const { *count = number; }

 private:
  void copy(void* to, const void* from, uint64_t bytes) const {
    const auto part = static_cast<uint64_t>(together_ ? block_ : 0);
    const auto parts = static_cast<uint64_t>(together_ ? blocks_ : 1);
    const uint64_t begin = bytes * part / parts, end = bytes * (part + 1) / parts;
    if (begin == end) return;
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  }
  int block_, blocks_;
  const FaultView& fault_;
  bool together_;
  FarHeld held_[kMostFarHeld] = {};
};

class PretendedDevice : public FarDevice {
 public:
  static constexpr int kBlocks = 2;

  /// `arrived` counts what the network has written into its memory by itself; may be nullptr.
  explicit PretendedDevice(std::atomic<int>* arrived = nullptr) : arrived_(arrived) {}

  int ordinal() const override { return 0; }
  int blocks() const override { return kBlocks; }
  Memory pinned(uint64_t bytes) override {
    unsigned char* const at = take(bytes);
    return {at, at};
  }
  uint32_t* counters(uint64_t words) override {
    return reinterpret_cast<uint32_t*>(take(words * sizeof(uint32_t)));
  }
  void setCounters(uint32_t* at, uint32_t value, uint64_t words) override {
    for (uint64_t w = 0; w < words; ++w) at[w] = value;
  }
  void launch(const FarCall& call, int blocks, rondoStream_t stream) override {
    enqueue(stream, [call, blocks] {
      onBlocks(blocks, [&](int b) {
        PretendedHands hands(b, blocks, call.fault, true);
        FarVisit<PretendedHands>(hands, call).run();
      });
    });
  }
  void launch(const char*, const FarExchangeCall& call, int blocks, rondoStream_t stream) override {
    enqueue(stream, [call, blocks] {
      onBlocks(blocks, [&](int b) {
        PretendedHands hands(b, blocks, call.fault, false);
        FarExchangeVisit<PretendedHands>(hands, call).run();
      });
    });
  }
  void copy(const char*, void* to, const void* from, uint64_t bytes,
            rondoStream_t stream) override {
    enqueue(stream, [=] { std::memmove(to, from, bytes); });
  }
  void multiply(const DeviceCall& call, void* into, uint64_t count) override {  // of int32_t
    const auto* from = static_cast<const int32_t*>(call.send);
    const auto* scalar = static_cast<const int32_t*>(call.scaled->scalar);
    enqueue(call.stream, [=] {
      for (uint64_t i = 0; i < count; ++i) static_cast<int32_t*>(into)[i] = from[i] * *scalar;
    });
  }
  void* allocate(const DeviceCall&, uint64_t bytes) override { return take(bytes); }
  void release(const DeviceCall&, void*) override {}
  void order(const char*, rondoStream_t first, rondoStream_t later) override {
    orderPretended(known(first), known(later));
  }
  void beside(const char*, rondoStream_t stream, const std::function<void(rondoStream_t)>& branch,
              const std::function<void()>& main) override {
    PretendedStream& to = known(stream);
    if (to.captures()) return besideInGraph(to, branch, main);
    orderPretended(to, side_);
    branch(side_.handle());
    main();
    orderPretended(side_, to);
  }
  bool captures(rondoStream_t stream) override { return PretendedStream::of(stream).captures(); }
  void synchronize() override {
    for (PretendedStream* stream : streams_) stream->synchronize();
    side_.synchronize();
  }
  MemoryKind memoryKind() const override { return MemoryKind::Host; }
  bool seesCardWrites() const override { return true; }
  void settleCardWrites() override {
    if (arrived_ != nullptr) ++*arrived_;
  }

 private:
  PretendedStream& known(rondoStream_t stream) {
    PretendedStream* const to = &PretendedStream::of(stream);
    if (std::find(streams_.begin(), streams_.end(), to) == streams_.end()) streams_.push_back(to);
    return *to;
  }
  void enqueue(rondoStream_t stream, PretendedStream::Work work) {
    known(stream).enqueue(std::move(work));
  }
  /// A step of the graph that has two branches.
  void besideInGraph(PretendedStream& stream, const std::function<void(rondoStream_t)>& branch,
                     const std::function<void()>& main) {
    std::vector<PretendedStream::Work> left, right;
    std::vector<PretendedStream::Work>* const graph = stream.captureInto(&left);
    branch(stream.handle());
    stream.captureInto(&right);
    main();
    stream.captureInto(graph);
    stream.enqueue([left, right] {
      std::thread beside([&] {
        for (const auto& work : left) work();
      });
      for (const auto& work : right) work();
      beside.join();
    });
  }
  template <class Body>
  static void onBlocks(int blocks, const Body& body) {
    std::vector<std::thread> others;
    for (int b = 1; b < blocks; ++b) others.emplace_back(body, b);
    body(0);
    for (std::thread& other : others) other.join();
  }
  unsigned char* take(uint64_t bytes) {
    memory_.emplace_back((bytes + 63) / 64);
    return memory_.back().data()->bytes;
  }
  struct alignas(64) Line {
    unsigned char bytes[64] = {};
  };
  std::atomic<int>* const arrived_;
  std::deque<std::vector<Line>> memory_;
  std::vector<PretendedStream*> streams_;
  PretendedStream side_;
};

}  // namespace rondo::testing
