#pragma once
// Small collectives of one group that differ in kind, as one all-gather.

#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/host_request.h"
#include "coll/reduce/reduce.h"

namespace rondo {

/// Neighbours in a group, whatever their kind, datatype, operator and root, of which every rank
/// gathers what all ranks put in and makes its results alone: one latency instead of many. What a
/// rank puts in is its *block*: a count, then for each call as much as any rank puts into it.
///
/// A call may take what another one of the pass makes. Only the rank itself sees that, so its block
/// says how many of the calls it could begin with, and the pass ends with the fewest of all ranks.
class MixedPass {
 public:
  /// Bytes of all ranks' blocks: what is gathered beyond that costs more than the latency it saves.
  /// Two and four ranks (2 cores of an EPYC, 2026-11-23, docs/tried.md).
  static constexpr uint64_t kMostBytes = 16384;
  static constexpr size_t kMostCalls = 32;

  /// How many of the first of `waiting` run as one; the same on all ranks. 1: none is joined.
  static size_t passOf(std::span<const HostRequest> waiting, int ranks);
  /// Whether calls that run as one differ in more than buffers and counts.
  static bool differ(std::span<const HostRequest> pass);

  MixedPass(std::span<const HostRequest> pass, const RankPlace& place);
  /// The one call it becomes.
  PlanKey key() const;
  /// Writes this rank's block.
  void fill(char* block) const;
  /// Hands out results from all ranks' `blocks`, in place or not; says of how many calls, at least
  /// 1. `tree`: ReduceArgs.
  size_t finish(const char* blocks, CpuLevel cpu, bool tree) const;

 private:
  size_t ready() const;
  uint64_t bytesOf(const HostRequest& request) const;
  void handOut(const HostRequest& request, const char* first, CpuLevel cpu, bool tree) const;
  void reduce(const HostRequest& request, const char* first, int ranks, CpuLevel cpu,
              bool tree) const;

  std::span<const HostRequest> pass_;
  RankPlace place_;
  uint64_t blockBytes_;
};

}  // namespace rondo
