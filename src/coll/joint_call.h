#pragma once
// Several small collectives of one group as one: their blocks side by side in shared scratch.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coll/host_request.h"
#include "coll/reduce/reduce.h"

namespace rondo {

/// Calls of one group, run as one: one latency instead of many. Those that differ in nothing but
/// buffers and counts are one call on the sum of their counts, whose blocks are gathered in memory
/// that peers read in place, so that the gathering takes the place of the copy into staging. Others
/// are a MixedPass.
class JointCall {
 public:
  /// Most calls of one pass. Every one has a call record, of which a rank keeps two passes, so that
  /// each can be compared with the peers'.
  static constexpr size_t kMostCalls = 32;
  /// A longer call gains nothing from being joined, and bytes of a pass: both of the larger buffer.
  /// Two ranks, float32 sum, against one after the other (2 cores of an EPYC, 2026-11-21).
  static constexpr size_t kMostCallBytes = 16384;
  static constexpr size_t kMostPassBytes = 256u << 10;

  /// How many of the first of `waiting` run as one; the same on all ranks, because it depends on
  /// agreed arguments alone. At least 1.
  static size_t passOf(std::span<const HostRequest> waiting, int ranks);
  /// The one call that `pass` becomes.
  static PlanKey keyOf(std::span<const HostRequest> pass, const RankPlace& place);

  /// Two calls of a pass of one kind of which one writes what the other reads or writes, by their
  /// places in the pass. Calls of a mixed pass may do that.
  struct Clash {
    bool found = false;
    size_t writer = 0, other = 0;
  };
  Clash findClash(std::span<const HostRequest> pass, const RankPlace& place);

  /// The one call that `pass` becomes; src is filled. Requests stay where they are until finish().
  HostRequest begin(std::span<const HostRequest> pass, const RankPlace& place);
  /// After that call has run: hands the results out, and says of how many calls. Fewer than all:
  /// the next one needs them, on some rank, and runs after them; the same on all ranks.
  /// `tree`: ReduceArgs.
  size_t finish(CpuLevel cpu, bool tree);
  bool active() const { return !pass_.empty(); }
  void drop() { pass_ = {}; }

  /// A number that is the same on all ranks only if all calls of the pass are, buffers aside.
  static uint64_t callsHash(std::span<const HostRequest> pass);

 private:
  struct Span {
    const char *begin, *end;
    size_t call;
    bool written;
  };
  /// One buffer of the joint call: `slots` slots of `total` bytes.
  struct Side {
    char* memory;
    size_t slots;  ///< 0: this rank has no such buffer.
    bool direct;   ///< The callers' own memory, which lies side by side already.
  };
  void reserve();
  HostRequest beginMixed(std::span<const HostRequest> pass);
  void handOut();

  struct Scratch {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Scratch> shared_;  ///< Two buffers of kMostPassBytes.
  std::vector<char> own_;                  ///< Instead, where no shared memory is left.
  std::span<const HostRequest> pass_;
  RankPlace place_;
  Side dst_{};
  size_t total_ = 0, element_ = 0;
  std::vector<Span> spans_;
};

}  // namespace rondo
