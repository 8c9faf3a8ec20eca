#pragma once
// What things cost on host memory: the numbers that the planner ranks by, apart from its code.
// rondo-tune measures them (docs/calibration.md).

#include <cstdint>
#include <span>

namespace rondo {

/// Integer picoseconds, so that every rank computes the same. Where each default comes from is
/// said in costFields().
struct HostCosts {
  uint64_t hop = 90'000;      ///< A message's flag from one rank to another, once it is expected.
  uint64_t step = 12'000;     ///< Dispatch of a step and its port.
  uint64_t message = 50'000;  ///< Taking a message: its header's line, and its release.
  uint64_t lane = 120'000;    ///< Each lane beyond the first: lines and polls of its own.
  uint64_t copyPerKiB = 30'000;    ///< Copy between a private buffer and shared memory, in caches.
  uint64_t reducePerKiB = 40'000;  ///< Each operand of a reduction that came in a message.
  uint64_t handOnPerKiB = 38'000;  ///< A result that goes to shared memory as it is made.
  uint64_t againPerKiB = 38'000;   ///< A result of an earlier step that goes there.
  /// Either of them more where a call's results are written past the caches.
  uint64_t pastPerKiB = 0;
  /// Another rank's turn, where ranks outnumber cores. Of 1.5 to 4.5 us the one with which four and
  /// eight ranks on two cores chose best (2026-11-23, docs/tried.md).
  uint64_t yield = 2'500'000;
  // What a message costs more that comes from another group of near ranks, so that no cache holds
  // its lines for both.
  uint64_t farMessage = 300'000;  ///< Its flag and header.
  uint64_t farPerKiB = 60'000;    ///< Its data.
  // Nothing in shared memory, where who reads pays.
  uint64_t farHop = 0;         ///< A flag's way there on top of `hop`, while this rank waits.
  uint64_t farSend = 0;        ///< Sending a message there, to each reader.
  uint64_t farSendPerKiB = 0;  ///< Its data.
  // The same five where the groups are hosts.
  uint64_t hostsMessage = 5'500'000;
  uint64_t hostsPerKiB = 180'000;
  uint64_t hostsHop = 2'000'000;
  uint64_t hostsSend = 5'500'000;
  uint64_t hostsSendPerKiB = 180'000;
  // What a KiB of the caller's buffers costs more, read or written, in calls that touch so many
  // bytes of them on a rank: successive calls use different buffers, so longer ones find theirs in
  // farther caches, and in the end in memory. Between two of these sizes by the logarithm.
  uint64_t cold128K = 0;
  uint64_t cold1M = 20'000;
  uint64_t cold8M = 35'000;
  uint64_t cold64M = 40'000;
  uint64_t cold512M = 40'000;

  /// The groups are hosts.
  void acrossHosts() {
    farMessage = hostsMessage;
    farPerKiB = hostsPerKiB;
    farHop = hostsHop;
    farSend = hostsSend;
    farSendPerKiB = hostsSendPerKiB;
  }

  /// More for each KiB, where a call touches `bytes` of the caller's buffers.
  uint64_t coldPerKiB(uint64_t bytes) const;

  bool operator==(const HostCosts&) const = default;
};

/// One number of the costs, for files and tables.
struct CostField {
  const char* name;  ///< As in a file.
  uint64_t HostCosts::*at;
  const char* meaning;
  const char* source;  ///< Of the default.
  bool perKiB;
  uint64_t most() const { return perKiB ? 1'000'000'000 : 100'000'000'000; }
};
std::span<const CostField> costFields();

}  // namespace rondo
