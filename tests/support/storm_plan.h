#pragma once
// Random programs for random arrangements of ranks on hosts: what all ranks draw alike. Run by
// support/storm_rank.h.

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/collective_case.h"
#include "support/far_world.h"

namespace rondo::testing {

class StormDraw {
 public:
  explicit StormDraw(uint32_t seed) : random_(seed) {}
  uint32_t raw() { return static_cast<uint32_t>(random_()); }
  uint32_t below(uint32_t n) { return raw() % n; }
  int from(int least, int most) {
    return least + static_cast<int>(below(static_cast<uint32_t>(most - least + 1)));
  }
  bool oneIn(uint32_t n) { return below(n) == 0; }
  template <class T, size_t n>
  const T& of(const T (&all)[n]) {
    return all[below(n)];
  }

 private:
  std::mt19937 random_;
};

/// Lengths at which something changes: lines, blocks, chunks, pieces, slots of the staging, what
/// the network moves by itself; a little more or less, or some of them.
inline size_t stormBytes(StormDraw& draw, size_t most) {
  constexpr size_t kEdges[] = {8,         64,        1024,      2048,       4096,
                               16u << 10, 32u << 10, 64u << 10, 128u << 10, 512u << 10,
                               1u << 20,  2u << 20,  4u << 20};
  constexpr int kBeside[] = {-512, -8, -4, -1, 0, 0, 1, 4, 8, 512};
  size_t bytes = 0;
  switch (draw.below(8)) {
    case 0:
      bytes = draw.below(20);
      break;
    case 1:
    case 2:
      bytes = draw.below(6000);
      break;
    case 3:
      bytes = draw.below(200'000);
      break;
    case 4:
      bytes = draw.below(static_cast<uint32_t>(std::min<size_t>(most, 5u << 20)) + 1);
      break;
    default:
      bytes = draw.of(kEdges) * (draw.oneIn(3) ? draw.below(5) + 1 : 1) +
              static_cast<size_t>(draw.of(kBeside));
  }
  return bytes <= most ? bytes : draw.below(3000);
}

/// One call of all ranks of a communicator; what depends on their number is drawn from `draw`.
struct StormCall {
  int serial = 0;
  int comm = 0;
  int stream = 0;  ///< 0 or 1
  bool onHost = false;
  bool transfers = false;
  bool barrier = false;
  uint32_t draw = 0;
  size_t bytes = 0;  ///< Of a rank's longer buffer, or of a message at most.
  Call call = Call::AllReduce;
  rondoDataType_t type = rondoInt32;
  rondoRedOp_t op = rondoSum;
  bool scaled = false;
  bool inPlace = false;

  Case caseOf(int size) const;
  std::string text(int size) const {
    std::string what = barrier     ? "barrier"
                       : transfers ? "transfers"
                       : scaled    ? "scaled " + caseOf(size).text()
                                   : caseOf(size).text();
    return "call " + std::to_string(serial) + " on communicator " + std::to_string(comm) +
           (onHost ? ", host memory" : ", stream " + std::to_string(stream)) + ": " + what;
  }
};

inline bool slotted(Call call) {
  return call != Call::AllReduce && call != Call::Broadcast && call != Call::Reduce &&
         !isScan(call);
}

inline Case StormCall::caseOf(int size) const {
  StormDraw own(draw);
  const size_t slots = slotted(call) && !own.oneIn(4) ? static_cast<size_t>(size) : 1;
  const size_t count = bytes / typeSize(type) / slots;
  const int root = own.from(0, size - 1);
  return {call, type, op, count, root, inPlace, hasDispls(call) && own.oneIn(2), own.below(1000)};
}

/// Bytes that one rank sends another.
struct StormMessage {
  int from, to;
  size_t bytes;
  int stream;
  size_t out, in;  ///< Where they begin in the sender's buffer, and in the receiver's.
};

/// The same on all ranks.
inline std::vector<StormMessage> messagesOf(const StormCall& call, int size) {
  StormDraw draw(call.draw);
  std::vector<StormMessage> all;
  const auto rank = [&] { return draw.from(0, size - 1); };
  const auto add = [&](int from, int to, size_t bytes) {
    all.push_back({from, to, bytes, draw.oneIn(2) ? call.stream : 1 - call.stream, 0, 0});
  };
  const size_t most = call.bytes;
  switch (draw.below(5)) {
    case 0:  // each to its next ones
      for (int r = 0; r < size; ++r) add(r, (r + 1) % size, stormBytes(draw, most));
      for (int r = 0; r < size; ++r) add(r, (r + size - 1) % size, stormBytes(draw, most));
      break;
    case 1:  // all to all
      for (int r = 0; r < size * size; ++r) add(r / size, r % size, stormBytes(draw, most / 4));
      break;
    case 2: {  // more of a pair than one launch takes, in lines or in pieces
      const int a = rank(), b = rank();
      const uint32_t length = draw.of({3000u, 10'000u, 100'000u});
      for (int k = draw.from(10, 400'000 / static_cast<int>(length) + 12); k > 0; --k) {
        const bool there = draw.oneIn(2);
        const size_t bytes = draw.oneIn(8) ? stormBytes(draw, most / 8) : draw.below(length);
        add(there ? a : b, there ? b : a, bytes);
      }
      break;
    }
    default:
      for (int k = draw.from(1, 4 * size); k > 0; --k) {
        add(rank(), rank(), draw.oneIn(6) ? 0 : stormBytes(draw, most));
      }
  }
  std::vector<size_t> outs(static_cast<size_t>(size), 0), ins = outs;
  for (StormMessage& each : all) {
    size_t &out = outs[static_cast<size_t>(each.from)], &in = ins[static_cast<size_t>(each.to)];
    each.out = out += draw.below(4);
    each.in = in += draw.below(4);
    out += each.bytes;
    in += each.bytes;
  }
  return all;
}

/// Calls that are issued one after the other, as a group, or captured and replayed.
struct StormStep {
  enum How { kAlone, kGroup, kGraph, kGroupInGraph };
  How how = kAlone;
  int replays = 1;
  bool finish = false;  ///< Results are looked at, before the next.
  std::vector<StormCall> calls;
  std::vector<StormCall> between;  ///< Replays, one each.
};

enum class StormStreams { kOne, kBoth, kOneEach };  ///< kOneEach: a communicator has its own.

struct StormPlan {
  uint32_t seed;
  std::vector<int> hostOf;
  FarWorld world;
  std::string tune;
  StormStreams streams = StormStreams::kOne;
  uint32_t counters = 0;          ///< Numbers of chunks and pieces begin here.
  std::vector<int> colors, keys;  ///< Of a second communicator; empty: there is none.
  std::vector<StormStep> steps;

  std::string text() const;
  std::string program() const;
};

inline std::string StormPlan::program() const {
  constexpr const char* kHows[] = {"alone", "group", "graph", "group in a graph"};
  std::string all = text() + "\n";
  for (size_t k = 0; k < steps.size(); ++k) {
    const StormStep& step = steps[k];
    all += "step " + std::to_string(k) + ": " + kHows[step.how] + " x " +
           std::to_string(step.replays) + (step.finish ? ", finished\n" : "\n");
    for (const auto* calls : {&step.calls, &step.between}) {
      for (const StormCall& call : *calls) {
        all += (calls == &step.calls ? "  " : "  between: ") +
               call.text(static_cast<int>(hostOf.size())) + ", " + std::to_string(call.bytes) +
               " bytes\n";
      }
    }
  }
  return all;
}

inline std::string StormPlan::text() const {
  std::string all = "seed " + std::to_string(seed) + ", hosts";
  for (const int host : hostOf) all += " " + std::to_string(host);
  if (!colors.empty()) all += ", colors";
  for (const int color : colors) all += " " + std::to_string(color);
  return all + ", " + std::to_string(world.lanes) + " lanes, " + std::to_string(world.blocks) +
         " blocks, zero copy " + std::to_string(static_cast<int>(world.zeroCopy)) +
         (world.near ? ", near" : "") + (world.reproducible ? ", reproducible" : "") +
         ", streams " + std::to_string(static_cast<int>(streams)) + ", from " +
         std::to_string(counters) + ", calls before " + std::to_string(world.callsBefore) +
         ", tune \"" + tune + "\"";
}

/// Numbers in the order in which they first come.
inline std::vector<int> numberedByFirst(const std::vector<int>& names) {
  std::vector<int> seen, out;
  for (const int name : names) {
    const auto at = std::find(seen.begin(), seen.end(), name);
    out.push_back(static_cast<int>(at - seen.begin()));
    if (at == seen.end()) seen.push_back(name);
  }
  return out;
}

/// Ranks of one color, in the order of their keys.
inline std::vector<int> stormMembers(const StormPlan& plan, int color) {
  std::vector<int> members;
  for (size_t r = 0; r < plan.colors.size(); ++r) {
    if (plan.colors[r] == color) members.push_back(static_cast<int>(r));
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return plan.keys[static_cast<size_t>(a)] < plan.keys[static_cast<size_t>(b)];
  });
  return members;
}
inline std::vector<int> hostsOfMembers(const StormPlan& plan, const std::vector<int>& members) {
  std::vector<int> hosts;
  for (const int r : members) hosts.push_back(plan.hostOf[static_cast<size_t>(r)]);
  return numberedByFirst(hosts);
}

StormPlan drawStorm(uint32_t seed, size_t budget, int calls);

}  // namespace rondo::testing
