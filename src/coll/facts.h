#pragma once
// What all ranks of a communicator agree on when it is made. The planner chooses from these and
// from the call's own agreed arguments alone, so that every rank chooses the same.

#include <cstdint>

#include "coll/rank_groups.h"

namespace rondo {

/// What things cost on host memory, in integer picoseconds.
struct HostCosts {
  // Measured on 2 cores of an AMD EPYC with AVX-512 by benchmarks/bare_allreduce and rondo-bench
  // under RONDO_TUNE, 2026-11-21.
  uint64_t hop = 90'000;      ///< A message's flag from one rank to another, once it is expected.
  uint64_t step = 12'000;     ///< Dispatch of a step and its port.
  uint64_t message = 50'000;  ///< Taking a message: its header's line, and its release.
  uint64_t lane = 120'000;    ///< Each lane beyond the first: lines and polls of its own.
  uint64_t copyPerKiB = 30'000;    ///< Copy between a private buffer and shared memory, in caches.
  uint64_t reducePerKiB = 40'000;  ///< Each operand of a reduction that came in a message.
  uint64_t handOnPerKiB = 38'000;  ///< A result that goes to shared memory.
  uint64_t yield = 1'500'000;      ///< Another rank's turn, where ranks outnumber cores.
  // What a message costs more that comes from another group of near ranks, so that no cache holds
  // its lines for both. Measured where the two cores of the machine of the other costs share no
  // cache, as they do for hours: 0.53 against 0.20 us for 64 B of all-reduce, 6.7 against 2.9 for
  // 64 KiB. Between sockets it may be more.
  uint64_t farMessage = 300'000;  ///< Its flag and header.
  uint64_t farPerKiB = 60'000;    ///< Its data.
  // Nothing in shared memory, where who reads pays.
  uint64_t farHop = 0;         ///< A flag's way there on top of `hop`, while this rank waits.
  uint64_t farSend = 0;        ///< Sending a message there, to each reader.
  uint64_t farSendPerKiB = 0;  ///< Its data.

  /// The groups are hosts: between them is UCX over TCP. Two hosts of a veth on 2 cores: 11.5 us
  /// for 64 B of all-reduce, 8 ms for 16 MiB, in which either rank sends and receives all of it.
  void acrossHosts() {
    farMessage = 2'000'000;
    farPerKiB = 220'000;
    farHop = 8'000'000;
    farSend = 2'000'000;
    farSendPerKiB = 220'000;
  }
};

struct CommFacts {
  int ranks = 1;
  int lanes = 1;            ///< Most lanes a plan may have.
  uint64_t chunkBytes = 0;  ///< Longest message of a channel.
  uint32_t cpus = 1;        ///< Processing units that the ranks of a node may use together.
  int localRanks = 0;       ///< Ranks that share them; 0: all.
  uint64_t l3Bytes = 0;
  bool reproducible = false;  ///< Reductions have one association.
  RankGroups groups;          ///< Which ranks lie close together.
  HostCosts costs;
};

}  // namespace rondo
