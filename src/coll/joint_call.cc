#include "coll/joint_call.h"

#include <algorithm>
#include <cstring>

#include "api/types.h"
#include "coll/mixed_pass.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

size_t slotsOf(Slots use, int ranks) {
  if (use == Slots::None) return 0;
  return use == Slots::All ? static_cast<size_t>(ranks) : 1;
}

uint64_t bytesOf(const HostRequest& request) {
  return request.key.count * typeSize(request.key.type);
}

/// Bytes of the larger buffer of any rank.
uint64_t mostBytes(const HostRequest& request, int ranks) {
  const bool slots = hasSlots(request.key.collective);
  return bytesOf(request) * (slots ? static_cast<uint64_t>(ranks) : 1);
}

bool joins(const HostRequest& request, int ranks) {
  return !request.key.uneven && ranks > 1 && request.key.count <= JointCall::kMostCallBytes &&
         mostBytes(request, ranks) <= JointCall::kMostCallBytes;
}

/// Whether the blocks of the calls follow each other in memory.
template <class Pointer>
bool sideBySide(std::span<const HostRequest> pass, Pointer pointer) {
  for (size_t i = 1; i < pass.size(); ++i) {
    const auto* end = static_cast<const char*>(pointer(pass[i - 1])) + bytesOf(pass[i - 1]);
    if (pointer(pass[i]) != end) return false;
  }
  return true;
}

const void* srcOf(const HostRequest& request) { return request.src; }
const void* dstOf(const HostRequest& request) { return request.dst; }

/// The furthest ends so far of two different calls.
struct Furthest {
  struct {
    const char* end;
    size_t call;
  } first{nullptr, 0}, second{nullptr, 0};

  void add(const char* end, size_t call) {
    if (first.end == nullptr || end > first.end) {
      if (first.call != call) second = first;
      first = {end, call};
    } else if (first.call != call && (second.end == nullptr || end > second.end)) {
      second = {end, call};
    }
  }
  /// A call other than `call` that reaches past `begin`; `call` itself: none.
  size_t past(const char* begin, size_t call) const {
    if (first.end != nullptr && first.call != call && first.end > begin) return first.call;
    if (second.end != nullptr && second.call != call && second.end > begin) return second.call;
    return call;
  }
};

/// Those that differ in nothing but buffers and counts.
size_t alikeOf(std::span<const HostRequest> waiting, int ranks) {
  if (!joins(waiting[0], ranks)) return 1;
  PlanKey like = waiting[0].key;
  uint64_t bytes = mostBytes(waiting[0], ranks);
  size_t n = 1;
  for (; n < waiting.size() && n < JointCall::kMostCalls && joins(waiting[n], ranks); ++n) {
    like.count = waiting[n].key.count;
    bytes += mostBytes(waiting[n], ranks);
    if (like != waiting[n].key || bytes > JointCall::kMostPassBytes) break;
  }
  return n;
}

}  // namespace

size_t JointCall::passOf(std::span<const HostRequest> waiting, int ranks) {
  if (waiting.size() < 2) return 1;
  return std::max(alikeOf(waiting, ranks), MixedPass::passOf(waiting, ranks));
}

PlanKey JointCall::keyOf(std::span<const HostRequest> pass, const RankPlace& place) {
  if (MixedPass::differ(pass)) return MixedPass(pass, place).key();
  PlanKey all = pass[0].key;
  all.count = 0;
  for (const HostRequest& request : pass) all.count += request.key.count;
  return all;
}

uint64_t JointCall::callsHash(std::span<const HostRequest> pass) {
  uint64_t hash = pass.size();
  for (const HostRequest& request : pass) {
    hash = (hash ^ request.key.hash()) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

JointCall::Clash JointCall::findClash(std::span<const HostRequest> pass, const RankPlace& place) {
  const PlanKey& key = pass[0].key;
  const SlotUse use = slotUse(key.collective, place.rank, key.root);
  const size_t srcSlots = slotsOf(use.src, place.size), dstSlots = slotsOf(use.dst, place.size);
  spans_.clear();
  for (size_t i = 0; i < pass.size(); ++i) {
    const auto add = [&](const void* at, size_t slots, bool written) {
      const char* begin = static_cast<const char*>(at);
      if (slots > 0 && bytesOf(pass[i]) > 0)
        spans_.push_back({begin, begin + slots * bytesOf(pass[i]), i, written});
    };
    add(pass[i].src, srcSlots, false);
    add(pass[i].dst, dstSlots, true);
  }
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  Furthest written, any;
  for (const Span& span : spans_) {
    const size_t writer = written.past(span.begin, span.call);
    if (writer != span.call) return {true, writer, span.call};
    const size_t other = span.written ? any.past(span.begin, span.call) : span.call;
    if (other != span.call) return {true, span.call, other};
    if (span.written) written.add(span.end, span.call);
    any.add(span.end, span.call);
  }
  return {};
}

void JointCall::Scratch::operator()(char* memory) const { Segment::own().release(memory); }

void JointCall::reserve() {
  if (shared_ || !own_.empty()) return;
  shared_.reset(static_cast<char*>(Segment::own().allocate(2 * kMostPassBytes)));
  if (!shared_) own_.resize(2 * kMostPassBytes);
}

/// A rank's block and, behind it, all ranks'.
HostRequest JointCall::beginMixed(std::span<const HostRequest> pass) {
  const MixedPass mixed(pass, place_);
  char* const scratch = shared_ ? shared_.get() : own_.data();
  dst_ = {scratch + kMostPassBytes, 1, false};
  mixed.fill(scratch);
  HostRequest all = pass[0];
  all.key = mixed.key();
  all.src = scratch;
  all.dst = dst_.memory;
  return all;
}

HostRequest JointCall::begin(std::span<const HostRequest> pass, const RankPlace& place) {
  reserve();
  pass_ = pass;
  place_ = place;
  if (MixedPass::differ(pass)) return beginMixed(pass);
  HostRequest all = pass[0];
  all.key = keyOf(pass, place);
  element_ = typeSize(all.key.type);
  total_ = all.key.count * element_;
  const SlotUse use = slotUse(all.key.collective, place.rank, all.key.root);
  char* const scratch = shared_ ? shared_.get() : own_.data();
  const bool oneSlot = !hasSlots(all.key.collective);

  const size_t srcSlots = slotsOf(use.src, place.size);
  const bool srcDirect = srcSlots == 0 || (oneSlot && sideBySide(pass, srcOf));
  if (!srcDirect) {
    all.src = scratch;
    char* to = scratch;
    for (const HostRequest& request : pass) {
      const size_t bytes = bytesOf(request);
      if (bytes == 0) continue;  // its buffers may be null
      const char* from = static_cast<const char*>(request.src);
      for (size_t s = 0; s < srcSlots; ++s) {
        std::memcpy(to + s * total_, from + s * bytes, bytes);
      }
      to += bytes;
    }
  }
  const size_t dstSlots = slotsOf(use.dst, place.size);
  const bool dstDirect = dstSlots == 0 || (oneSlot && sideBySide(pass, dstOf));
  dst_ = {scratch + kMostPassBytes, dstSlots, dstDirect};
  if (!dstDirect) all.dst = dst_.memory;
  return all;
}

size_t JointCall::finish(CpuLevel cpu, bool tree) {
  size_t ended = pass_.size();
  if (MixedPass::differ(pass_)) {
    ended = MixedPass(pass_, place_).finish(dst_.memory, cpu, tree);
  } else {
    handOut();
  }
  pass_ = {};
  return ended;
}

void JointCall::handOut() {
  const char* from = dst_.memory;
  for (const HostRequest& request : pass_) {
    if (dst_.direct) break;
    const size_t bytes = bytesOf(request);
    if (bytes == 0) continue;
    char* to = static_cast<char*>(request.dst);
    for (size_t s = 0; s < dst_.slots; ++s) {
      std::memcpy(to + s * bytes, from + s * total_, bytes);
    }
    from += bytes;
  }
}

}  // namespace rondo
