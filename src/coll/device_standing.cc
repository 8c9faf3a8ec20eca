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

uint64_t bitsOf(int lanes) { return (uint64_t{1} << lanes) - 1; }

}  // namespace

bool StandingKernel::serves(const StandingWork& work) {
  const Cut& cut = work.window.args.cut;
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

int StandingKernel::launch(uint64_t lanes) {
  StandingCall call;
  static_cast<WindowCall&>(call) = work_.window;
  call.desk = device_;
  call.lanes = lanes;
  call.lingerNs = lingerNs_;
  call.order = order_;
  call.last = numbers_;
  posted_ = false;
  came_ = 0;
  threads_ = std::max(work_.threads, kLeastThreads);
  const int error = launch_(*work_.kernel, call, work_.lanes, threads_, work_.stream);
  lanes_ = error == 0 ? work_.lanes : 0;
  runs_ = error == 0;
  ++launched_;
  return error;
}

int StandingKernel::begin(const StandingWork& work, uint64_t lingerNs) {
  const bool there = lanes_ != 0 && work.kernel == work_.kernel && work.stream == work_.stream &&
                     work.lanes <= lanes_ && work.threads <= threads_ && lingerNs == lingerNs_;
  if (!there && lanes_ != 0) endOf(bitsOf(lanes_));
  work_ = work;
  lingerNs_ = lingerNs;
  order_ = ++numbers_;
  if (!there) return launch(bitsOf(work.lanes));
  for (int lane = 0; lane < work.lanes; ++lane) post(order_, lane, false);
  runs_ = posted_ = true;
  ++came_;
  return 0;
}

void StandingKernel::endOf(uint64_t lanes) {
  ++numbers_;
  for (int lane = 0; lane < lanes_; ++lane) {
    if ((lanes >> lane & 1) != 0) post(numbers_, lane, true);
  }
  lanes_ = 0;
  policy_.left(came_);
}

StandingKernel::Begun StandingKernel::begun(uint64_t* gone) const {
  *gone = 0;
  for (int lane = 0; lane < work_.lanes; ++lane) {
    const uint64_t word = answer(lane);
    if (static_cast<uint32_t>(word >> 2) == order_) continue;
    if ((word & 3) != kStandingLeft) return Begun::kNotYet;
    *gone |= uint64_t{1} << lane;
  }
  return *gone == 0 ? Begun::kAll : Begun::kMissed;
}

/// The lanes that had seen the call do it; a kernel for the others comes behind them. By a new
/// number, so that each of its lanes is known to be there once the call has ended.
int StandingKernel::again(uint64_t gone) {
  ++late_;
  --came_;
  endOf(bitsOf(lanes_) & ~gone);
  order_ = ++numbers_;
  return launch(gone);
}

int StandingKernel::look(Awaited* state) {
  *state = Awaited::kDone;
  if (!runs_) return 0;
  *state = Awaited::kRuns;
  for (int lane = 0; lane < work_.lanes; ++lane) {
    const uint64_t word = answer(lane);
    if (word == standingWord(order_, kStandingDone) || word == standingWord(order_, kStandingLeft))
      continue;
    if (!posted_ || (word & 3) != kStandingLeft) return 0;
    uint64_t gone = 0;
    return begun(&gone) == Begun::kMissed ? again(gone) : 0;
  }
  if (posted_) ++handedOver_;
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
    uint64_t gone = 0;
    Begun now = begun(&gone);
    for (int polls = 1; now == Begun::kNotYet; ++polls, now = begun(&gone)) {
      if (polls % 1024 == 0 && std::chrono::steady_clock::now() > until) return false;
    }
    if (now == Begun::kMissed) *error = again(gone);
    posted_ = false;
    if (*error != 0) return true;
  }
  endOf(bitsOf(lanes_));
  return true;
}

}  // namespace rondo
