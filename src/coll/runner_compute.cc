// What the steps of a bound plan compute, once their messages are there.

#include <algorithm>
#include <utility>

#include "coll/runner.h"
#include "coll/runner_short.h"
#include "coll/staging_copy.h"

namespace rondo {
namespace {

/// From this many bytes on a result that goes to staging is made in a scratch and copied from
/// there. 4 MiB of all-reduce in two shots: 0.69 of the time where cores share no cache, else 0.97
/// (2 cores of an EPYC, 2026-11-21). A result for dst alone is made there: through the scratch it
/// took 1.2 x.
constexpr uint64_t kLeastDetour = 4096;
/// Copies that are owed, made before a block is put: so the readers wait no longer than for two.
constexpr int kMostCaughtUp = 2;
/// Of two outputs past the caches, as staging begins.
constexpr uintptr_t kPastAlign = 64;

}  // namespace

ReduceArgs Runner::arguments(void* first, void* second, const void* const* inputs, int n, int own,
                             const BoundStep& step, uint32_t divisor, bool stream) const {
  ReduceArgs args{first, second, inputs, n, step.count, divisor, stream};
  args.tree = plan_->tree;
  if (plan_->scale != nullptr) [[unlikely]] {
    args.scaled = own;
    args.scalar = call_.scalar;
  }
  return args;
}

/// Which input of a Reduce step is this rank's src; -1: none.
int Runner::ownInput(const BoundStep& step) const {
  return step.lo <= plan_->rank && plan_->rank < step.hi ? plan_->rank - step.lo : -1;
}

/// dst (or nullptr) and `space` (or nullptr) = the reduction of the inputs, of which number `own`
/// (-1: none) is this rank's src.
void Runner::reduceInto(char* dst, void* space, const void* const* inputs, int n, int own,
                        const BoundStep& step, uint32_t divisor) {
  if (space != nullptr && step.bytes >= kLeastDetour) {
    return reduceThroughScratch(dst, space, inputs, n, own, step, divisor);
  }
  void* const first = dst == nullptr ? space : dst;
  void* const second = dst == nullptr ? nullptr : space;
  plan_->reduce(
      arguments(first, second, inputs, n, own, step, divisor, call_.stream && space == nullptr));
}

/// Part by part into dst, or for want of it into a scratch that stays in the first cache, and from
/// there to `space`: a string copy takes lines that another core holds without reading them, a
/// reduction cannot. Through the scratch to both, two-shot on ordinary memory took 1.11 to 1.25 of
/// the best algorithm's time from 128 KiB to 4 MiB, so 1.02 to 1.14 (2 cores of an EPYC,
/// 2026-11-22). What goes past the caches goes in one piece, because each ends with a fence that
/// waits for its stores: 256 KiB took 51 us in parts and 43 so, where cores share no cache (family
/// 25, 2026-11-22).
void Runner::reduceThroughScratch(char* dst, void* space, const void* const* inputs, int n, int own,
                                  const BoundStep& step, uint32_t divisor) {
  const void** parts = scratchInputs_.data();
  const StagingWay* const way = step.send->way();
  const uint64_t most =
      dst != nullptr && way != nullptr && way->past() ? step.bytes : kScratchBytes;
  for (uint64_t done = 0; done < step.bytes; done += most) {
    const uint64_t bytes = std::min<uint64_t>(most, step.bytes - done);
    for (int k = 0; k < n; ++k) parts[k] = static_cast<const char*>(inputs[k]) + done;
    BoundStep part = step;
    part.count = bytes / plan_->elementBytes;
    char* const here = dst != nullptr ? dst + done : scratch_.bytes;
    plan_->reduce(arguments(here, nullptr, parts, n, own, part, divisor, false));
    copyToStaging(plan_->copy, *step.send, static_cast<char*>(space) + done, here, bytes);
  }
}

/// dst and `space` (if any) = all ranks' inputs, in rank order; then the landings; then the inputs'
/// messages are released.
void Runner::combine(Lane& lane, const BoundStep& step, char* dst, void* space) {
  const int n = plan_->ranks;
  const void* const* inputs = lane.inputs.data() + step.lo;
  int landed = 0;  // landings below are done
  if (space == nullptr) {
    void* second = nullptr;
    for (; second == nullptr && landed < n; ++landed) {
      second = lane.landings[static_cast<size_t>(landed)];
    }
    plan_->reduce(arguments(dst, second, inputs, step.hi - step.lo, ownInput(step), step,
                            plan_->divisor, call_.stream));
  } else {
    reduceInto(dst, space, inputs, step.hi - step.lo, ownInput(step), step, plan_->divisor);
  }
  for (int r = landed; r < n; ++r) {
    void* landing = lane.landings[static_cast<size_t>(r)];
    if (landing != nullptr) plan_->copy(landing, nullptr, dst, step.bytes, toUser());
  }
  releaseInputs(step);
}

/// Posts a block of src: where it is, if the readers can see it there, else a copy. `keep`: where
/// another copy may be made with it, and then whether it was; nullptr: nowhere.
bool Runner::postSource(const BoundStep& step, const char* src, void* answer, char** keep) {
  char* const second = keep != nullptr ? std::exchange(*keep, nullptr) : nullptr;
  if (call_.announceSrc && step.bytes >= kLeastInPlace && step.send->reaches(src, step.bytes)) {
    return step.send->tryPostInPlace(src, step.bytes, answer, {});
  }
  void* space = step.send->tryAcquire(step.bytes);
  if (space == nullptr) return false;
  if (plan_->scale != nullptr) [[unlikely]] {
    plan_->scale(space, src, call_.scalar, step.count);
  } else if (second != nullptr && goesPast(*step.send, step.bytes)) {
    copyPastTwice(plan_->copy, *step.send, space, second, src, step.bytes);
    *keep = second;
  } else {
    copyToStaging(plan_->copy, *step.send, space, src, step.bytes);
  }
  step.send->post(step.bytes, answer);
  return true;
}

/// Where the block of a Put `ahead` periods on may be copied to with it: its place in dst, where
/// that can be written past the caches with it and no copy before it is owed; else nullptr. One
/// pass over src instead of two: 64 MiB of all-gather take 10.7 ms so and 13.4 otherwise, in loops
/// without a library (two cores of an EPYC that share no cache, family 25, 2026-11-23).
char* Runner::keepTo(const Lane& lane, const BoundStep& step, uint64_t ahead) const {
  if (!step.keeps || !call_.stream || !counts(lane, step)) return nullptr;
  if (lane.counts[lane.next + 1] != 0 || (ahead == 1 && (lane.kept & 1) == 0)) return nullptr;
  const uint64_t base = lane.base + ahead * plan_->periodBytes;
  char* const dst = call_.dst + base + step.dstOffset;
  if (reinterpret_cast<uintptr_t>(dst) % kPastAlign != 0) return nullptr;
  return dst == call_.src + base + step.srcOffset ? nullptr : dst;
}

/// The Put of the period `ahead` periods on, in staging or where its block is.
bool Runner::putBlock(Lane& lane, const BoundStep& step, uint64_t ahead, char* answer) {
  const char* const src = call_.src + lane.base + ahead * plan_->periodBytes + step.srcOffset;
  if (step.keeps && call_.stream && counts(lane, step) && goesPast(*step.send, step.bytes)) {
    // Of a message that went another way, or who never waits would keep nothing from then on.
    for (int k = 0; k < kMostCaughtUp && lane.counts[lane.next + 1] > 0; ++k) copyLate(lane);
  }
  char* keep = keepTo(lane, step, ahead);
  if (!postSource(step, src, answer, &keep)) return false;
  if (keep != nullptr) lane.kept |= 1u << ahead;
  return true;
}

/// What a move does with its messages, if it receives any: into dst and `space`, where not nullptr;
/// what is in `space` is posted as soon as it is there.
void Runner::compute(Lane& lane, const BoundStep& step, const Message* received, char* dst,
                     void* space) {
  const int bits = step.bits;
  const char* src = call_.src + lane.base + step.srcOffset;
  if ((bits & algo::kRecv) != 0 && (bits & (algo::kSrc | algo::kOwn)) != 0) {
    const char* own = (bits & algo::kOwn) != 0 ? call_.dst + lane.base + step.dstOffset : src;
    const void* inputs[3] = {received[0].data, step.recv2 != nullptr ? received[1].data : own, own};
    if ((bits & algo::kFirst) != 0) std::swap(inputs[0], inputs[1]);
    const int n = step.recv2 != nullptr ? 3 : 2;
    const uint32_t divisor = (bits & algo::kFinal) != 0 ? plan_->divisor : 0;
    const bool before = (bits & algo::kBefore) != 0;
    const int mine = (bits & algo::kFirst) != 0 ? 0 : n - 1;
    reduceInto(before ? nullptr : dst, space, inputs, n, (bits & algo::kSrc) != 0 ? mine : -1, step,
               divisor);
    if (space != nullptr) step.send->post(step.bytes, nullptr);
    if (before)
      plan_->copy(dst, nullptr, received[0].data, step.bytes, rondo::toUser(received[0], false));
    return;
  }
  const void* from = (bits & algo::kRecv) != 0 ? received[0].data : src;
  if (plan_->scale != nullptr && from == src) [[unlikely]] {
    plan_->scale(dst, src, call_.scalar, step.count);
    from = dst;
  }
  if (space != nullptr) {
    copyToStaging(plan_->copy, *step.send, space, from, step.bytes);
    step.send->post(step.bytes, nullptr);
  }
  if (dst != nullptr && dst != from) {
    const Message none{};
    const bool came = (bits & algo::kRecv) != 0;
    plan_->copy(dst, nullptr, from, step.bytes,
                rondo::toUser(came ? received[0] : none, call_.stream));
  }
}

/// A block of several slots, which lie apart in the caller's memory and follow each other in a
/// message: sends, takes or copies it.
bool Runner::moveSlots(const Lane& lane, const BoundStep& step) {
  const bool own = (step.bits & algo::kOwn) != 0;
  const auto slots = static_cast<uint64_t>(step.slots);
  const uint64_t each = step.bytes / slots;
  const char* from =
      own ? call_.dst + lane.base + step.dstOffset : call_.src + lane.base + step.srcOffset;
  uint64_t fromPitch = own ? step.dstPitch : step.srcPitch;
  char* to = call_.dst + lane.base + step.dstOffset;
  uint64_t toPitch = step.dstPitch;
  CopyTo how = toUser();
  Message message{};
  if ((step.bits & algo::kRecv) != 0) {
    if (!peek(step.recv, &message, step.bytes)) return false;
    from = static_cast<const char*>(message.data);
    fromPitch = each;
    how = rondo::toUser(message, call_.stream);
  } else if ((step.bits & algo::kSend) != 0) {
    to = static_cast<char*>(step.send->tryAcquire(step.bytes));
    if (to == nullptr) return false;
    toPitch = each;
    how = CopyTo::kStaging;
  }
  for (uint64_t slot = 0; slot < slots && to != from; ++slot) {
    plan_->copy(to + slot * toPitch, nullptr, from + slot * fromPitch, each, how);
  }
  if ((step.bits & algo::kRecv) != 0) step.recv->release();
  if ((step.bits & algo::kSend) != 0) step.send->post(step.bytes, nullptr);
  return true;
}

/// Makes the oldest copy that was put off, if there is one: while a lane waits, and at its end. So
/// who sends is not kept waiting by what this rank does for itself.
bool Runner::copyLate(Lane& lane) {
  if (plan_->fullPeriods <= 1 || call_.uneven != nullptr) return false;
  const auto& steps = lane.program->full;
  const bool full = lane.period < fullPeriods_;
  for (size_t i = 0; i < steps.size(); ++i) {
    const BoundStep& step = steps[i];
    if (step.kind != StepKind::Move || lane.counts[i] == 0) continue;
    const uint64_t begun = full ? lane.period + (i < lane.next ? 1 : 0) : fullPeriods_;
    const uint64_t base = (begun - lane.counts[i]--) * plan_->periodBytes;
    const char* const src = call_.src + base + step.srcOffset;
    char* const dst = call_.dst + base + step.dstOffset;
    if (dst != src) plan_->copy(dst, nullptr, src, step.bytes, toUser());
    return true;
  }
  return false;
}

}  // namespace rondo
