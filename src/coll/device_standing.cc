#include "coll/device_standing.h"

#include <algorithm>
#include <atomic>

namespace rondo {
namespace {

constexpr uint64_t kMostWord = 0xffffffffu;

uint32_t low(const void* p) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)); }
uint32_t high(const void* p) {
  return static_cast<uint32_t>(uint64_t{reinterpret_cast<uintptr_t>(p)} >> 32);
}

}  // namespace

bool StandingKernel::serves(const StandingWork& work) const {
  const Cut& cut = work.window.args.cut;
  if (launched_ > 0 && work.stream != work_.stream && (answer(0) & 3) != kStandingLeft)
    return false;
  return work.kernel->standing != nullptr && work.lanes <= kMostStandingLanes &&
         work.window.args.srcSlot == 0 && work.window.args.dstSlot == 0 &&
         std::max({cut.chunk, cut.period, cut.fullPeriods, cut.left, cut.lastBlock}) <= kMostWord;
}

void StandingKernel::post(uint32_t number, int lane, bool ends) const {
  const CallArgs& args = work_.window.args;
  const Cut& cut = args.cut;
  const uint32_t words[kOrderWords] = {
      low(args.src),
      high(args.src),
      low(args.dst),
      high(args.dst),
      ends ? 0 : args.elementBytes,
      static_cast<uint32_t>(args.reduction.type),
      static_cast<uint32_t>(args.reduction.op),
      args.reduction.divisor,
      static_cast<uint32_t>(cut.chunk),
      static_cast<uint32_t>(cut.period),
      static_cast<uint32_t>(cut.fullPeriods),
      static_cast<uint32_t>(cut.left),
      static_cast<uint32_t>(cut.lastBlock),
      static_cast<uint32_t>(cut.blocks),
  };
  for (int i = 0; i < kOrderWords; ++i) {
    std::atomic_ref<uint64_t>(host_.orders[lane].word[i])
        .store(uint64_t{number} << 32 | words[i], std::memory_order_release);
  }
}

uint64_t StandingKernel::answer(int lane) const {
  return std::atomic_ref<uint64_t>(host_.answers[lane]).load(std::memory_order_acquire);
}

int StandingKernel::launch() {
  StandingCall call;
  static_cast<WindowCall&>(call) = work_.window;
  call.desk = device_;
  call.lingerNs = lingerNs_;
  call.order = call_;
  posted_ = false;
  came_ = 0;
  threads_ = std::max(work_.threads, kLeastThreads);
  const int error = launch_(*work_.kernel, call, work_.lanes, threads_, work_.stream);
  lanes_ = error == 0 ? work_.lanes : 0;
  ++launched_;
  return error;
}

int StandingKernel::begin(const StandingWork& work, uint64_t lingerNs) {
  const bool there = lanes_ != 0 && work.kernel == work_.kernel && work.stream == work_.stream &&
                     work.lanes == lanes_ && work.threads <= threads_ && lingerNs == lingerNs_ &&
                     came_ < kMostCalls;
  if (!there) end();
  work_ = work;
  lingerNs_ = lingerNs;
  call_ = ++order_;
  failed_ = 0;
  if (!there) {
    const int error = launch();
    runs_ = error == 0;
    return error;
  }
  // The first lane decides for all, so its order is the last one.
  for (int lane = lanes_ - 1; lane >= 0; --lane) post(call_, lane, false);
  runs_ = posted_ = true;
  ++came_;
  ++handedOver_;
  return 0;
}

void StandingKernel::end() {
  if (lanes_ == 0) return;
  post(++order_, 0, true);
  lanes_ = 0;
  policy_.left(came_);
}

StandingKernel::Begun StandingKernel::begun() const {
  const uint64_t word = answer(0);
  if (static_cast<uint32_t>(word >> 2) == call_) return Begun::kYes;
  return (word & 3) == kStandingLeft ? Begun::kMissed : Begun::kNotYet;
}

int StandingKernel::again() {
  ++late_;
  --handedOver_;
  --came_;
  policy_.left(came_);
  lanes_ = 0;
  // By a new number: the old one's orders are still there.
  call_ = ++order_;
  failed_ = launch();
  return failed_;
}

int StandingKernel::look(Awaited* state) {
  *state = Awaited::kDone;
  if (!runs_) return 0;
  *state = Awaited::kRuns;
  if (failed_ != 0) return failed_;
  for (int lane = 0; lane < work_.lanes; ++lane) {
    const uint64_t word = answer(lane);
    if (static_cast<uint32_t>(word >> 2) == call_ && (word & 3) >= kStandingDone) continue;
    return posted_ && begun() == Begun::kMissed ? again() : 0;
  }
  runs_ = posted_ = false;
  policy_.ended(std::chrono::steady_clock::now());
  *state = Awaited::kDone;
  return 0;
}

bool StandingKernel::leave(int* error) {
  *error = 0;
  if (lanes_ == 0) return true;
  if (runs_ && posted_) {
    const auto until = std::chrono::steady_clock::now() + kMostSilence;
    Begun now = begun();
    for (int polls = 1; now == Begun::kNotYet; ++polls, now = begun()) {
      if (polls % 1024 == 0 && std::chrono::steady_clock::now() > until) return false;
    }
    if (now == Begun::kMissed) *error = again();
    posted_ = false;
  }
  end();
  return true;
}

}  // namespace rondo
