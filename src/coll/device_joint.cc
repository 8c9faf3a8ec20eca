#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "coll/device_joint.h"

#include <algorithm>

#include "api/types.h"
#include "base/error.h"
#include "coll/device_predict.h"

namespace rondo {
namespace {

/// Longer ones have more to gain from lanes of their own.
constexpr Count kMostBytes = 128u << 10;

const char* formOf(Collective collective) {
  switch (collective) {
    case Collective::AllReduce:
      return "oneshot";
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return "direct";
    default:
      return nullptr;
  }
}

/// Lines, and data in each.
Count lineBytes(const DeviceRequest& request) {
  return request.reduces == Reduces::kAll ? 112 : 120;
}

Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

/// What several calls have in common, or at most.
struct Calls {
  explicit Calls(std::span<const DeviceRequest> calls) : count(calls.size()), first(calls.front()) {
    for (const DeviceRequest& call : calls) {
      const Count bytes = call.count * call.elementBytes;
      longest = std::max(longest, bytes);
      all += bytes;
    }
  }
  size_t count;
  const DeviceRequest& first;
  Count longest = 0, all = 0;  ///< Bytes.
};

/// 16-byte vectors, or lines of eight, of so many bytes.
Count vectorsOf(const Calls& calls, Protocol protocol, Count bytes) {
  return protocol == Protocol::kLL ? divideUp(bytes, 8)
                                   : divideUp(bytes, 4 * lineBytes(calls.first)) * 32;
}

/// With the choice's lanes and threads; the longest one decides.
uint64_t timeTogether(const Calls& calls, const JointChoice& choice, const DeviceFacts& facts) {
  const Count perLane = divideUp(calls.longest, static_cast<Count>(choice.lanes));
  const Count exchange = std::min<Count>(perLane, choice.chunkBytes);
  const auto peers = static_cast<Count>(facts.ranks - 1);
  const bool scatters = calls.first.collective == Collective::ReduceScatter;
  const WindowWork work{.ranks = facts.ranks,
                        .exchanges = 1,
                        .copiesOwn = false,
                        .oneWay = false,
                        .linesOf128 = choice.protocol != Protocol::kLL,
                        .lanes = static_cast<int>(calls.count) * choice.lanes,
                        .threads = choice.threads,
                        .packets = vectorsOf(calls, choice.protocol, exchange),
                        .blockBytes = exchange,
                        .periods = divideUp(perLane, choice.chunkBytes),
                        .slotBytes = calls.longest,
                        .sentBytes = calls.all * peers,
                        .foldedBytes = scatters ? calls.all * peers : 0,
                        .close = facts.closeOf(static_cast<int>(calls.count) * choice.lanes)};
  // Rounds of every exchange count, and its kernels are for any number of ranks.
  const Count rounds = divideUp(work.packets, static_cast<Count>(choice.threads)) * work.periods;
  return windowTime(work, facts.costs) + (rounds - 1) * 2 * facts.costs.round;
}

/// The lanes and threads that take the least time.
uint64_t cutBest(const Calls& calls, int most, const DeviceFacts& facts, JointChoice* choice) {
  JointChoice best = *choice;
  uint64_t least = ~uint64_t{0};
  for (int lanes = 1; lanes * static_cast<int>(calls.count) <= most; lanes *= 2) {
    JointChoice now = *choice;
    now.lanes = lanes;
    const Count longest =
        std::min<Count>(divideUp(calls.longest, static_cast<Count>(lanes)), choice->chunkBytes);
    const Count vectors = vectorsOf(calls, choice->protocol, longest);
    now.threads = static_cast<int>(std::min<Count>(divideUp(vectors, 32) * 32, kBlockThreads));
    const uint64_t time = timeTogether(calls, now, facts);
    if (time < least) {
      least = time;
      best = now;
    }
  }
  *choice = best;
  return least;
}

struct Span {
  uintptr_t begin, end;
  bool meets(const Span& other) const { return begin < other.end && other.begin < end; }
};

}  // namespace

bool joinable(const DeviceRequest& first, const DeviceRequest& call) {
  return formOf(first.collective) != nullptr && first.reduces != Reduces::kScaled &&
         call.collective == first.collective && call.reduces == first.reduces &&
         call.count * call.elementBytes <= kMostBytes;
}

std::string explainJoint(const JointChoice& choice) {
  return format("rondo: %d calls of a group as one launch: %s %s, %d lane%s of %d threads each\n",
                choice.calls, choice.algorithm, protocolName(choice.protocol), choice.lanes,
                choice.lanes == 1 ? "" : "s", choice.threads);
}

bool touchEachOther(std::span<const DeviceCall> calls, int ranks) {
  if (calls.empty()) return false;
  const SlotUse use = slotUse(calls.front().collective, 0, 0);
  const auto spanOf = [&](const void* at, Slots slots, const DeviceCall& call) {
    const uint64_t slot = call.count * typeSize(call.type);
    const auto begin = reinterpret_cast<uintptr_t>(at);
    return Span{begin, begin + (slots == Slots::All ? slot * static_cast<uint64_t>(ranks) : slot)};
  };
  for (size_t i = 1; i < calls.size(); ++i) {
    const Span read = spanOf(calls[i].send, use.src, calls[i]);
    const Span written = spanOf(calls[i].recv, use.dst, calls[i]);
    for (const DeviceCall& earlier : calls.first(i)) {
      const Span out = spanOf(earlier.recv, use.dst, earlier);
      if (out.meets(read) || out.meets(written)) return true;
      if (spanOf(earlier.send, use.src, earlier).meets(written)) return true;
    }
  }
  return false;
}

JointWindowCall jointCall(const JointChoice& choice, std::span<const DeviceCall> calls,
                          const WindowView& window, const FaultView& fault, int rank, int size) {
  const SlotUse use = slotUse(calls.front().collective, rank, 0);
  JointWindowCall out{};
  out.window = window;
  out.args.rank = rank;
  out.args.size = size;
  out.args.fault = fault;
  out.lanes = choice.lanes;
  out.srcSlots = use.src == Slots::All ? 1 : 0;
  out.dstSlots = use.dst == Slots::All ? 1 : 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const DeviceCall& call = calls[i];
    const auto element = static_cast<uint32_t>(typeSize(call.type));
    const uint32_t divisor = call.op == rondoAvg ? static_cast<uint32_t>(size) : 0;
    const Count align = std::max<Count>(1, 16 / element);
    const Count perLane =
        divideUp(divideUp(Count{call.count}, static_cast<Count>(choice.lanes)), align) * align;
    out.item[i] = {static_cast<const unsigned char*>(call.send),
                   static_cast<unsigned char*>(call.recv),
                   static_cast<uint32_t>(call.count),
                   static_cast<uint32_t>(perLane),
                   choice.chunkBytes / element,
                   element,
                   Reduction{call.type, call.op, divisor}};
  }
  return out;
}

JointChoice chooseJoint(std::span<const DeviceRequest> calls, const DeviceFacts& facts,
                        const std::vector<TuneRule>& rules,
                        const std::function<uint64_t(const DeviceRequest&)>& alone) {
  if (calls.size() < 2 || facts.ranks < 2 || facts.ranks > kMaxWindowRanks) return {};
  const DeviceRequest& first = calls.front();
  if (!joinable(first, calls[1])) return {};
  const bool ruled = std::any_of(rules.begin(), rules.end(), [&](const TuneRule& rule) {
    return rule.device && rule.collective == first.collective;
  });
  if (ruled) return {};
  JointChoice choice;
  choice.protocol = facts.lineStores ? Protocol::kLL128 : Protocol::kLL;
  const bool isLL = choice.protocol == Protocol::kLL;
  if (isLL && first.reduces == Reduces::kAll) return {};  // it cuts elements of 16 bytes
  const WindowShape shape = isLL ? facts.windowLL : facts.windowLL128;
  const Count place = shape.placeBytes(facts.ranks);
  choice.chunkBytes =
      static_cast<uint32_t>((isLL ? place / 2 : place / 128 * lineBytes(first)) / 16 * 16);
  const int lanes = std::min(shape.lanes, facts.lanes);
  const auto most = static_cast<size_t>(std::min(kMostJoined, lanes));
  size_t count = 0;
  uint64_t apart = 0;
  while (count < std::min(most, calls.size()) && joinable(first, calls[count])) {
    apart += alone(calls[count]);
    ++count;
  }
  if (count < 2) return {};
  choice.picoseconds = cutBest(Calls(calls.first(count)), lanes, facts, &choice);
  if (choice.picoseconds >= apart) return {};
  choice.calls = static_cast<int>(count);
  choice.algorithm = formOf(first.collective);
#ifdef HAVE_CUDA
  choice.kernel = findKernel(collectiveName(first.collective), kJoint, choice.protocol,
                             first.reduces, facts.ranks);
#endif
  return choice;
}

}  // namespace rondo
