// What writing down an operation costs: the flight recorder's ring, and with it the call log that
// peers compare. The time of a call has both.

#include <benchmark/benchmark.h>

#include <memory>

#include "base/log.h"
#include "coll/call_log.h"
#include "coll/flight_recorder.h"
#include "p2p/call_record.h"

namespace rondo {
namespace {

void readClock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ticks());
}
BENCHMARK(readClock);

OpFacts facts(uint64_t count) {
  OpFacts out;
  out.count = count;
  out.type = rondoFloat32;
  return out;
}

/// The recorder, at most 30 ns: two readings of the clock and a cache line.
void recordOperation(benchmark::State& state) {
  FlightRecorder recorder({1, "bench", {}, {}, 0});
  uint64_t count = 0;
  for (auto _ : state) {
    recorder.begin(facts(++count), 0);
    recorder.finish();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(recordOperation);

/// The call log's record, by itself.
void logCall(benchmark::State& state) {
  const auto records = std::make_unique<CallRecord[]>(64);
  uint64_t completed = 0;
  Call call;
  for (auto _ : state) {
    ++call.sequence;
    call.words[0] = call.sequence * 3;
    records[call.sequence % 64].write(call);
    std::atomic_ref(completed).store(call.sequence, std::memory_order_release);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(logCall);

/// What it takes to see that ranks make different calls, at most 10 ns: the call's record, its
/// stamp, and the comparison with the stamp of a message that came.
void detectMismatch(benchmark::State& state) {
  const auto records = std::make_unique<CallRecord[]>(64);
  PlanKey key{1024, rondoFloat32, rondoSum, 0, Collective::AllReduce};
  uint64_t sequence = 0, completed = 0, different = 0;
  uint32_t planStamp = 0x5bd1e995, message = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(key);
    benchmark::DoNotOptimize(planStamp);
    records[++sequence % 64].write(callOf(key, sequence, 1));
    const uint32_t stamp = planStamp ^ static_cast<uint32_t>(sequence * 0x9e3779b1u);
    std::atomic_ref(message).store(stamp, std::memory_order_release);
    if (std::atomic_ref(message).load(std::memory_order_acquire) != stamp) ++different;
    std::atomic_ref(completed).store(sequence, std::memory_order_release);
    benchmark::ClobberMemory();
  }
  if (different != 0) state.SkipWithError("a stamp differs");
}
BENCHMARK(detectMismatch);

/// Both, as a call has them.
void recordAndLog(benchmark::State& state) {
  FlightRecorder recorder({1, "bench", {}, {}, 0});
  const auto records = std::make_unique<CallRecord[]>(64);
  uint64_t completed = 0;
  Call call;
  for (auto _ : state) {
    ++call.sequence;
    call.words[0] = call.sequence * 3;
    recorder.begin(facts(call.sequence), 0);
    records[call.sequence % 64].write(call);
    std::atomic_ref(completed).store(call.sequence, std::memory_order_release);
    recorder.finish();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(recordAndLog);

/// A line that nobody reads.
void silentLog(benchmark::State& state) {
  uint64_t count = 0;
  for (auto _ : state) {
    logLine(LogPart::Call, LogLevel::Debug, 0, [&] { return std::to_string(count); });
    benchmark::DoNotOptimize(++count);
  }
}
BENCHMARK(silentLog);

}  // namespace
}  // namespace rondo
