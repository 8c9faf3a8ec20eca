// What one message costs between two threads: the bare flag, and a channel of shared memory around
// it. Both threads need a core of their own; two that share one measure the scheduler.

#include <benchmark/benchmark.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "p2p/shm_ports.h"

namespace rondo {
namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Keeps this thread on the `which`-th core that the process may use, if there are so many, until
/// the end of the block.
class Pinned {
 public:
  explicit Pinned(int which) {
    sched_getaffinity(0, sizeof before_, &before_);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_) || which-- != 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
    }
  }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
};

/// A rank's lease with a channel to the other one, in this process's segment.
class Channel {
 public:
  Channel()
      : layout_{2, 1, ShmLayout::kMostArea * 2},
        offset_(
            Segment::own().lease(layout_.leaseBytes(), layout_.controlBytes(), ~uint64_t{0} / 2)) {}
  ~Channel() { Segment::own().endLease(offset_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  ShmSendPort sender() {
    return ShmSendPort(layout_, layout_.channel(0, 0, 1), 1, at(), Segment::own().base(), &stamp_);
  }
  ShmRecvPort receiver() {
    return ShmRecvPort(layout_, layout_.channel(0, 0, 1), 0, at(), Segment::own().base());
  }

 private:
  char* at() const { return Segment::own().base() + offset_; }
  ShmLayout layout_;
  uint64_t offset_;
  uint32_t stamp_ = 0;
};

void send(ShmSendPort& port, const std::vector<char>& from) {
  void* space;
  while ((space = port.tryAcquire(from.size())) == nullptr) relax();
  std::memcpy(space, from.data(), from.size());
  port.post(from.size(), nullptr);
}

void receive(ShmRecvPort& port, std::vector<char>& to) {
  Message message;
  while (!port.tryPeek(&message)) relax();
  std::memcpy(to.data(), message.data, message.bytes);
  port.release();
}

/// Half of a round trip: copied in, posted, seen, copied out, released.
void handOver(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Channel there, back;
  std::atomic<bool> over{false};
  std::thread peer([&] {
    const Pinned pinned(1);
    ShmRecvPort in = there.receiver();
    ShmSendPort out = back.sender();
    std::vector<char> data(bytes);
    for (;;) {
      receive(in, data);
      if (over.load(std::memory_order_acquire)) return;
      send(out, data);
    }
  });
  const Pinned pinned(0);
  ShmSendPort out = there.sender();
  ShmRecvPort in = back.receiver();
  std::vector<char> data(bytes, 1);
  for (auto _ : state) {
    send(out, data);
    receive(in, data);
  }
  over.store(true, std::memory_order_release);
  send(out, data);
  peer.join();
  state.counters["one_way"] =
      benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(handOver)->Arg(8)->Arg(96)->Arg(4096)->Arg(65536)->UseRealTime();

/// Half of a round trip of two cache lines that hold a number each: what no channel can beat.
void flagLatency(benchmark::State& state) {
  struct alignas(128) Line {
    std::atomic<uint64_t> number{0};
  };
  Line there, back;
  constexpr uint64_t kOver = ~uint64_t{0};
  std::thread peer([&] {
    const Pinned pinned(1);
    for (uint64_t next = 1;; ++next) {
      uint64_t seen;
      while ((seen = there.number.load(std::memory_order_acquire)) < next) relax();
      if (seen == kOver) return;
      back.number.store(next, std::memory_order_release);
    }
  });
  const Pinned pinned(0);
  uint64_t number = 0;
  for (auto _ : state) {
    there.number.store(++number, std::memory_order_release);
    while (back.number.load(std::memory_order_acquire) < number) relax();
  }
  there.number.store(kOver, std::memory_order_release);
  peer.join();
  state.counters["one_way"] =
      benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(flagLatency)->UseRealTime();

}  // namespace
}  // namespace rondo
