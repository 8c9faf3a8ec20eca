// What one message costs between two threads: the bare flag, and a channel of shared memory around
// it. Both threads need a core of their own; two that share one measure the scheduler.

#include <benchmark/benchmark.h>

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

/// Rank 0's and rank 1's lease, each with a channel to the other, in this process's segment.
class Channel {
 public:
  Channel()
      : layout_{2, 1, ShmLayout::kMostArea * 2},
        offset_(
            Segment::own().lease(layout_.leaseBytes(), layout_.controlBytes(), ~uint64_t{0} / 2)) {}
  ~Channel() { Segment::own().endLease(offset_, 0); }
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
    ShmRecvPort in = there.receiver();
    ShmSendPort out = back.sender();
    std::vector<char> data(bytes);
    for (;;) {
      receive(in, data);
      if (over.load(std::memory_order_acquire)) return;
      send(out, data);
    }
  });
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
    for (uint64_t next = 1;; ++next) {
      uint64_t seen;
      while ((seen = there.number.load(std::memory_order_acquire)) < next) relax();
      if (seen == kOver) return;
      back.number.store(next, std::memory_order_release);
    }
  });
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
