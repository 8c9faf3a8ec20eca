#pragma once
// One call of any collective as all ranks see it, and a plain account of what it must do: which
// elements of whose sendbuff come where in recvbuff. Shares nothing with the library.

#include <algorithm>
#include <string>
#include <vector>

#include "support/values.h"

namespace rondo::testing {

enum class Call {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  AllGatherV,
  ReduceScatter,
  ReduceScatterV,
  AllToAll,
  AllToAllV,
  Gather,
  GatherV,
  Scatter,
  ScatterV,
  Scan,
  Exscan
};
constexpr int kCalls = 15;

inline const char* callName(Call call) {
  constexpr const char* kNames[kCalls] = {
      "rondoAllReduce",  "rondoBroadcast",     "rondoReduce",         "rondoAllGather",
      "rondoAllGatherV", "rondoReduceScatter", "rondoReduceScatterV", "rondoAllToAll",
      "rondoAllToAllV",  "rondoGather",        "rondoGatherV",        "rondoScatter",
      "rondoScatterV",   "rondoScan",          "rondoExscan"};
  return kNames[static_cast<int>(call)];
}

inline bool reduces(Call call) {
  return call == Call::AllReduce || call == Call::Reduce || call == Call::ReduceScatter ||
         call == Call::ReduceScatterV || call == Call::Scan || call == Call::Exscan;
}
inline bool isScan(Call call) { return call == Call::Scan || call == Call::Exscan; }
inline bool isRooted(Call call) {
  return call == Call::Broadcast || call == Call::Reduce || call == Call::Gather ||
         call == Call::GatherV || call == Call::Scatter || call == Call::ScatterV;
}

/// Whether `op` is defined for `type` at all. Where the library has a table of that, it is asked.
template <class Type>
bool opMakesSense(Type type, rondoRedOp_t op) {
  if constexpr (requires { opDefined(type, op); }) {
    return opDefined(type, op);
  } else {
    return true;
  }
}

struct Case {
  Call call;
  rondoDataType_t type;
  rondoRedOp_t op;  ///< Of no meaning to calls that do not reduce.
  size_t count;     ///< v-collectives: the most.
  int root;
  bool inPlace;
  bool gaps;      ///< v-collectives: displacements with gaps, backwards; else NULL.
  unsigned salt;  ///< v-collectives: which counts.

  std::string text() const {
    return std::string(callName(call)) + " " + typeName(type) + " " + opName(op) + " count " +
           std::to_string(count) + " root " + std::to_string(root) + (inPlace ? " in place" : "") +
           (gaps ? " gaps" : "") + " salt " + std::to_string(salt);
  }
};

/// recvbuff[at + i] = op over ranks lo .. hi - 1 of their sendbuff[from + i], 0 <= i < count.
struct Block {
  size_t at, count, from;
  int lo, hi;
};

using Counts = std::vector<size_t>;

/// One rank's arguments of a call, and what becomes of its recvbuff.
struct Side {
  bool usesSend = true, usesRecv = true;
  size_t sendCount = 0, recvCount = 0;  ///< Elements from the buffer's begin to its end.
  bool mayAlias = true;                 ///< In place is possible at this rank, with
  ptrdiff_t alias = 0;                  ///< sendbuff so many elements past recvbuff.
  Counts sendCounts, sendDispls, recvCounts, recvDispls;
  std::vector<Block> blocks;
};

/// The count number `which` of a v-collective: some are 0, some the most.
inline size_t unevenCount(const Case& c, size_t which) {
  uint64_t hash = (which + 1) * 0x9e3779b97f4a7c15u ^ (c.salt + 1) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 29;
  hash *= 0x94d049bb133111ebu;
  hash ^= hash >> 32;
  switch (hash % 5) {
    case 0:
      return 0;
    case 1:
      return c.count;
    case 2:
      return c.count / 3;
    default:
      return (hash >> 8) % (c.count + 1);
  }
}

inline Counts displsOf(const Case& c, const Counts& counts, size_t* extent) {
  Counts displs(counts.size());
  size_t at = c.gaps ? 2 : 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const size_t r = c.gaps ? counts.size() - 1 - k : k;
    displs[r] = at;
    at += counts[r] + (c.gaps ? r % 3 : 0);
  }
  *extent = at;
  return displs;
}

/// Counts of a v-collective whose blocks have a length for each rank.
inline Counts countsByRank(const Case& c, int size) {
  Counts counts;
  for (int r = 0; r < size; ++r) counts.push_back(unevenCount(c, static_cast<size_t>(r)));
  return counts;
}

/// What `rank` sends to each rank in an all-to-all-v. In place it is what it gets, too.
inline Counts countsFrom(const Case& c, int rank, int size) {
  Counts counts;
  for (int q = 0; q < size; ++q) {
    const int a = c.inPlace ? std::min(rank, q) : rank, b = c.inPlace ? std::max(rank, q) : q;
    counts.push_back(unevenCount(c, static_cast<size_t>(a * 64 + b)));
  }
  return counts;
}

/// What one rank's even calls without slots do.
inline Side plainSide(const Case& c, int rank, int size) {
  Side side;
  side.sendCount = side.recvCount = c.count;
  side.blocks.push_back({0, c.count, 0, 0, size});
  Block& block = side.blocks.front();
  if (c.call == Call::Broadcast) {
    side.usesSend = rank == c.root;
    block.lo = c.root;
    block.hi = c.root + 1;
  }
  if (c.call == Call::Reduce) side.usesRecv = rank == c.root;
  if (c.call == Call::Scan) block.hi = rank + 1;
  if (c.call == Call::Exscan) {
    block.hi = rank;
    side.usesRecv = rank > 0;
  }
  return side;
}

/// Blocks come together: all-gather and gather, even and uneven.
inline Side gatherSide(const Case& c, int rank, int size, const Counts& counts,
                       const Counts& displs, size_t extent) {
  Side side;
  const auto me = static_cast<size_t>(rank);
  const bool rooted = isRooted(c.call);
  side.usesRecv = !rooted || rank == c.root;
  side.mayAlias = side.usesRecv;
  side.sendCount = counts[me];
  side.recvCount = extent;
  side.alias = static_cast<ptrdiff_t>(displs[me]);
  side.recvCounts = counts;
  side.recvDispls = displs;
  for (int r = 0; r < size; ++r) {
    const auto k = static_cast<size_t>(r);
    side.blocks.push_back({displs[k], counts[k], 0, r, r + 1});
  }
  return side;
}

/// Every rank takes its block: scatter and reduce-scatter, even and uneven.
inline Side scatterSide(const Case& c, int rank, int size, const Counts& counts,
                        const Counts& displs, size_t extent) {
  Side side;
  const auto me = static_cast<size_t>(rank);
  const bool rooted = isRooted(c.call);
  side.usesSend = !rooted || rank == c.root;
  side.mayAlias = side.usesSend;
  side.sendCount = extent;
  side.recvCount = counts[me];
  side.alias = -static_cast<ptrdiff_t>(displs[me]);
  side.sendCounts = counts;
  side.sendDispls = displs;
  side.blocks.push_back(
      {0, counts[me], displs[me], rooted ? c.root : 0, rooted ? c.root + 1 : size});
  return side;
}

inline Side allToAllSide(const Case& c, int rank, int size) {
  Side side;
  const auto me = static_cast<size_t>(rank);
  const auto from = [&](int r) {
    return c.call == Call::AllToAll ? Counts(static_cast<size_t>(size), c.count)
                                    : countsFrom(c, r, size);
  };
  side.sendCounts = from(rank);
  side.sendDispls = displsOf(c, side.sendCounts, &side.sendCount);
  for (int r = 0; r < size; ++r) side.recvCounts.push_back(from(r)[me]);
  side.recvDispls = displsOf(c, side.recvCounts, &side.recvCount);
  for (int r = 0; r < size; ++r) {
    const auto k = static_cast<size_t>(r);
    size_t extent = 0;
    const size_t begin = displsOf(c, from(r), &extent)[me];
    side.blocks.push_back({side.recvDispls[k], side.recvCounts[k], begin, r, r + 1});
  }
  return side;
}

/// What the call is for `rank` of `size`. Only v-collectives may have gaps.
inline Side sideOf(const Case& c, int rank, int size) {
  Counts counts(static_cast<size_t>(size), c.count);
  size_t extent = 0;
  switch (c.call) {
    case Call::AllGatherV:
    case Call::GatherV:
    case Call::ScatterV:
    case Call::ReduceScatterV:
      counts = countsByRank(c, size);
      break;
    default:
      break;
  }
  const Counts displs = displsOf(c, counts, &extent);
  switch (c.call) {
    case Call::AllGather:
    case Call::AllGatherV:
    case Call::Gather:
    case Call::GatherV:
      return gatherSide(c, rank, size, counts, displs, extent);
    case Call::Scatter:
    case Call::ScatterV:
    case Call::ReduceScatter:
    case Call::ReduceScatterV:
      return scatterSide(c, rank, size, counts, displs, extent);
    case Call::AllToAll:
    case Call::AllToAllV:
      return allToAllSide(c, rank, size);
    default:
      return plainSide(c, rank, size);
  }
}

inline bool hasDispls(Call call) {
  return call == Call::AllGatherV || call == Call::GatherV || call == Call::ScatterV ||
         call == Call::AllToAllV;
}

/// kValuePeriod elements that a rank's sendbuff repeats: exact numbers where they are reduced, else
/// any bytes.
inline std::vector<char> inputPattern(const Case& c, int rank) {
  if (reduces(c.call)) return contribution(c.type, c.op, rank);
  std::vector<char> bytes(kValuePeriod * typeSize(c.type));
  uint32_t state = static_cast<uint32_t>(rank) * 2654435761u + 12345u;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// kValuePeriod elements of op over the inputs of ranks lo .. hi - 1.
inline std::vector<char> outputPattern(const Case& c, int lo, int hi) {
  if (!reduces(c.call)) return inputPattern(c, lo);
  std::vector<std::vector<char>> parts;
  std::vector<const char*> inputs;
  for (int r = lo; r < hi; ++r) parts.push_back(inputPattern(c, r));
  for (const auto& part : parts) inputs.push_back(part.data());
  return plainReduce(c.type, c.op, kValuePeriod, inputs);
}

/// Writes `count` elements of the repeating pattern, from its element `from` on.
inline void lay(char* out, size_t count, const std::vector<char>& pattern, size_t from) {
  const size_t element = pattern.size() / kValuePeriod;
  size_t skip = from % kValuePeriod;
  while (count > 0) {
    const size_t part = std::min(count, kValuePeriod - skip);
    std::memcpy(out, pattern.data() + skip * element, part * element);
    out += part * element;
    count -= part;
    skip = 0;
  }
}

/// What the call must leave in recvbuff, which held `image` before.
inline void applyBlocks(const Case& c, const Side& side, char* image) {
  if (!side.usesRecv) return;
  const size_t element = typeSize(c.type);
  for (const Block& block : side.blocks) {
    if (block.count == 0) continue;
    lay(image + block.at * element, block.count, outputPattern(c, block.lo, block.hi), block.from);
  }
}

/// The call on the C API. `send` and `recv` as the caller has them; NULL counts.
inline rondoResult_t invoke(const Case& c, const Side& s, const void* send, void* recv, int rank,
                            rondoComm_t comm, rondoStream_t stream = nullptr) {
  const auto me = static_cast<size_t>(rank);
  const bool root = rank == c.root;
  const auto displs = [&](const Counts& all) { return c.gaps ? all.data() : nullptr; };
  switch (c.call) {
    case Call::AllReduce:
      return rondoAllReduce(send, recv, c.count, c.type, c.op, comm, stream);
    case Call::Broadcast:
      return rondoBroadcast(send, recv, c.count, c.type, c.root, comm, stream);
    case Call::Reduce:
      return rondoReduce(send, recv, c.count, c.type, c.op, c.root, comm, stream);
    case Call::AllGather:
      return rondoAllGather(send, recv, c.count, c.type, comm, stream);
    case Call::AllGatherV:
      return rondoAllGatherV(send, s.recvCounts[me], recv, s.recvCounts.data(),
                             displs(s.recvDispls), c.type, comm, stream);
    case Call::ReduceScatter:
      return rondoReduceScatter(send, recv, c.count, c.type, c.op, comm, stream);
    case Call::ReduceScatterV:
      return rondoReduceScatterV(send, recv, s.sendCounts.data(), c.type, c.op, comm, stream);
    case Call::AllToAll:
      return rondoAllToAll(send, recv, c.count, c.type, comm, stream);
    case Call::AllToAllV:
      return rondoAllToAllV(send, s.sendCounts.data(), displs(s.sendDispls), recv,
                            s.recvCounts.data(), displs(s.recvDispls), c.type, comm, stream);
    case Call::Gather:
      return rondoGather(send, recv, c.count, c.type, c.root, comm, stream);
    case Call::GatherV:
      return rondoGatherV(send, s.recvCounts[me], recv, root ? s.recvCounts.data() : nullptr,
                          root ? displs(s.recvDispls) : nullptr, c.type, c.root, comm, stream);
    case Call::Scatter:
      return rondoScatter(send, recv, c.count, c.type, c.root, comm, stream);
    case Call::ScatterV:
      return rondoScatterV(send, root ? s.sendCounts.data() : nullptr,
                           root ? displs(s.sendDispls) : nullptr, recv, s.sendCounts[me], c.type,
                           c.root, comm, stream);
    case Call::Scan:
      return rondoScan(send, recv, c.count, c.type, c.op, comm, stream);
    case Call::Exscan:
      return rondoExscan(send, recv, c.count, c.type, c.op, comm, stream);
  }
  return rondoInternalError;
}

}  // namespace rondo::testing
