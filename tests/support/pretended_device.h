#pragma once
// A FarDevice without a GPU: kernels are the kernels' own code on threads, streams are queues with
// a thread each, device memory is memory.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
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
#include "kernels/far_hands.h"
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

/// What the threads of a block share.
struct PretendedBlock {
  /// More than a letter has lines; but under the thread sanitizer all of them take too long.
#ifdef __SANITIZE_THREAD__
  static constexpr uint32_t kThreads = 2;
#else
  static constexpr uint32_t kThreads = 6;
#endif
  std::barrier<> barrier{kThreads};
  bool said[kThreads] = {};
  FarHeld held[kMostFarHeld] = {};
};

/// One thread of a block of a kernel (kernels/far_hands.h).
class PretendedThreads {
 public:
  static constexpr uint32_t kThreads = PretendedBlock::kThreads;
  PretendedThreads(PretendedBlock& shared, uint32_t thread, uint32_t block, uint32_t blocks)
      : shared_(shared), thread_(thread), block_(block), blocks_(blocks) {}

  uint32_t thread() const { return thread_; }
  uint32_t threads() const { return kThreads; }
  uint32_t block() const { return block_; }
  uint32_t blocks() const { return blocks_; }
  /// Now and then a thread is late behind it: others have changed by then what they may.
  void sync() const {
    shared_.barrier.arrive_and_wait();
    static thread_local uint32_t syncs = 0;
    constexpr uint32_t kSometimes = 7;
    if ((++syncs + thread_) % kSometimes == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(30));
    }
  }
  bool any(bool mine) const {
    const std::array<bool, kThreads> all = told(mine);
    return std::find(all.begin(), all.end(), true) != all.end();
  }
  bool all(bool mine) const { return !any(!mine); }
  uint32_t leading(bool mine) const {
    const std::array<bool, kThreads> all = told(mine);
    return static_cast<uint32_t>(std::find(all.begin(), all.end(), false) - all.begin());
  }
  /// Now and then a thread is so late that the network has brought the next thing to where it
  /// reads, if the others have let it.
  template <bool kFromHost>
  void copy(void* to, const void* from, uint64_t bytes, uint32_t part, uint32_t parts) const {
    static thread_local uint32_t reads = 0;
    constexpr uint32_t kSeldom = 17;
    if (kFromHost && (++reads + 5 * thread_) % kSeldom == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const uint64_t at = part * kThreads + thread_, of = uint64_t{parts} * kThreads;
    const uint64_t begin = bytes * at / of, end = bytes * (at + 1) / of;
    if (begin == end) return;
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  }
  void fence() const {}
  uint32_t acquire(const uint32_t* word) const {
    return std::atomic_ref(const_cast<uint32_t&>(*word)).load(std::memory_order_acquire);
  }
  void store(uint32_t* word, uint32_t value) const {
    std::atomic_ref(*word).store(value, std::memory_order_release);
  }
  FarLine load(const FarLine* line) const {
    FarLine out;
    for (const int h : {0, 1}) {
      out.half[h] =
          std::atomic_ref(const_cast<uint64_t&>(line->half[h])).load(std::memory_order_acquire);
    }
    return out;
  }
  void store(FarLine* to, const FarLine& line) const {
    for (const int h : {0, 1}) {
      std::atomic_ref(to->half[h]).store(line.half[h], std::memory_order_release);
    }
  }
  template <class Ready>
  bool await(const FaultView& fault, const Ready& ready) const {
    while (!ready()) {
      uint64_t since = 0;
      if (mustGiveUp(fault, &since)) return false;
    }
    return true;
  }
  bool mustGiveUp(const FaultView& fault, uint64_t*) const {
    std::this_thread::yield();
    return std::atomic_ref<uint32_t>(fault.words->abort).load() != 0;
  }

 private:
  /// What each thread says.
  std::array<bool, kThreads> told(bool mine) const {
    std::array<bool, kThreads> all;
    shared_.said[thread_] = mine;
    sync();
    std::copy(std::begin(shared_.said), std::end(shared_.said), all.begin());
    sync();
    return all;
  }

  PretendedBlock& shared_;
  const uint32_t thread_, block_, blocks_;
};

class PretendedDevice : public FarDevice {
 public:
  static constexpr int kBlocks = 2;
  static constexpr int kMostSharers = 3;

  /// `arrived` counts what the network has written into its memory by itself; may be nullptr.
  explicit PretendedDevice(std::atomic<int>* arrived = nullptr, int blocks = kBlocks)
      : arrived_(arrived), blocks_(blocks) {}
  /// Which device it is, and where the answer goes to how many share it; may be nullptr.
  void is(int number, DeviceSharers* told) {
    number_ = number;
    told_ = told;
  }

  int ordinal() const override { return 0; }
  DeviceTenant tenant() const override {
    DeviceTenant mine{{}, processTag(), 1};
    mine.device.front() = static_cast<unsigned char>(number_);
    return mine;
  }
  void claim(const DeviceSharers& sharers) override {
    if (sharers.inProcess > kMostSharers) throw Error(rondoUnhandledCudaError, "it is too small");
    if (told_ != nullptr) *told_ = sharers;
  }
  int blocks() const override { return blocks_; }
  Memory pinned(uint64_t bytes) override {
    unsigned char* const at = take(bytes);
    return {at, at, nullptr};
  }
  uint32_t* counters(uint64_t words) override {
    return reinterpret_cast<uint32_t*>(take(words * sizeof(uint32_t)));
  }
  void setCounters(uint32_t* at, uint32_t value, uint64_t words) override {
    for (uint64_t w = 0; w < words; ++w) at[w] = value;
  }
  void launch(const FarCall& call, int blocks, rondoStream_t stream) override {
    enqueue(stream, [call, blocks] {
      onThreads(blocks, [&](const PretendedThreads& threads, FarHeld*) {
        using Hands = FarHands<PretendedThreads, true>;
        Hands hands(threads, call.fault, nullptr);
        FarVisit<Hands>(hands, call).run();
      });
    });
  }
  void launch(const char*, const FarExchangeCall& call, int blocks, rondoStream_t stream) override {
    enqueue(stream, [call, blocks] {
      onThreads(blocks, [&](const PretendedThreads& threads, FarHeld* held) {
        using Hands = FarHands<PretendedThreads, false>;
        Hands hands(threads, call.fault, held);
        FarExchangeVisit<Hands>(hands, call).run();
      });
    });
  }
  void copy(const char*, void* to, const void* from, uint64_t bytes,
            rondoStream_t stream) override {
    enqueue(stream, [=] { std::memmove(to, from, bytes); });
  }
  void multiply(const DeviceCall& call, void* into, uint64_t count) override {  // of int32_t
    const auto* from = static_cast<const int32_t*>(call.send);
    const int32_t scalar = *static_cast<const int32_t*>(call.scaled->scalar);
    enqueue(call.stream, [=] {
      for (uint64_t i = 0; i < count; ++i) static_cast<int32_t*>(into)[i] = from[i] * scalar;
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
  /// Now and then all blocks but one come so late that the host has seen all of that.
  template <class Body>
  static void onThreads(int blocks, const Body& body) {
    static std::atomic<uint32_t> launches{0};
    const uint32_t first = launches++ % 5,
                   inTime = first < static_cast<uint32_t>(blocks) ? first : 0;
    std::deque<PretendedBlock> shared(static_cast<size_t>(blocks));
    std::vector<std::thread> others;
    const auto run = [&](uint32_t block, uint32_t thread) {
      PretendedBlock& mine = shared[block];
      if (first < 2 && block != inTime) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      body(PretendedThreads(mine, thread, block, static_cast<uint32_t>(blocks)), mine.held);
    };
    for (uint32_t b = 0; b < static_cast<uint32_t>(blocks); ++b) {
      for (uint32_t t = 0; t < PretendedBlock::kThreads; ++t) {
        if (b + t != 0) others.emplace_back(run, b, t);
      }
    }
    run(0, 0);
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
  const int blocks_;
  int number_ = 0;
  DeviceSharers* told_ = nullptr;
  std::deque<std::vector<Line>> memory_;
  std::vector<PretendedStream*> streams_;
  PretendedStream side_;
};

}  // namespace rondo::testing
