#pragma once
// Random calls of collectives and messages, which all ranks draw alike.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/collective_case.h"

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

/// A type, and an operator that is defined for it.
inline void drawTypeOf(StormDraw& draw, StormCall* call) {
  call->type = draw.oneIn(2) ? rondoInt32 : draw.of(kAllTypes);
  if (!reduces(call->call)) return;
  call->op = draw.oneIn(2) ? static_cast<rondoRedOp_t>(rondoSum) : someOp(call->type, draw.raw());
  if (!opDefined(call->type, call->op)) call->op = someOp(call->type, draw.raw());
  if (isScan(call->call) && call->op == rondoAvg) call->op = rondoSum;
  call->scaled = call->type == rondoInt32 && draw.oneIn(4);
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

}  // namespace rondo::testing
