#include "coll/costs.h"

#include <bit>
#include <iterator>

namespace rondo {
namespace {

constexpr char kPair[] =
    "benchmarks/bare_allreduce and rondo-bench under RONDO_TUNE, 2 cores of an AMD EPYC with "
    "AVX-512, 2026-11-21";
constexpr char kApart[] =
    "the same two cores while they share no cache, as they do for hours: 0.53 against 0.20 us for "
    "64 B of all-reduce, 6.7 against 2.9 for 64 KiB; between sockets it may be more";
constexpr char kShared[] = "nothing in shared memory, where who reads pays";
constexpr char kPast[] =
    "rondo-tune finds some 20 ns; 0, because memory that peers read in place does not have it";
constexpr char kVeth[] =
    "rondo-tune over UCX's TCP (cubic) between two hosts of a veth, a rank and a core each, 3 "
    "runs, "
    "2026-11-23";
constexpr char kCold[] = "rondo-tune on 2 cores of an AMD EPYC, 2026-11-21";

constexpr CostField kFields[] = {
    {"hop", &HostCosts::hop, "a flag's way to a rank that waits", kPair, false},
    {"step", &HostCosts::step, "dispatch of a step", kPair, false},
    {"message", &HostCosts::message, "taking a message", kPair, false},
    {"lane", &HostCosts::lane, "each further lane", kPair, false},
    {"copy_per_kib", &HostCosts::copyPerKiB, "copies to and from shared memory", kPair, true},
    {"reduce_per_kib", &HostCosts::reducePerKiB, "each received operand", kPair, true},
    {"hand_on_per_kib", &HostCosts::handOnPerKiB, "results that are sent on", kPair, true},
    {"again_per_kib", &HostCosts::againPerKiB, "results that are sent later", kPair, true},
    {"past_per_kib", &HostCosts::pastPerKiB, "these two more, in calls past the caches", kPast,
     true},
    {"yield", &HostCosts::yield, "another rank's turn on a core", kPair, false},
    {"far_message", &HostCosts::farMessage, "more for a message from a far group", kApart, false},
    {"far_per_kib", &HostCosts::farPerKiB, "more for its data", kApart, true},
    {"far_hop", &HostCosts::farHop, "more for a flag's way there", kShared, false},
    {"far_send", &HostCosts::farSend, "sending a message there", kShared, false},
    {"far_send_per_kib", &HostCosts::farSendPerKiB, "its data", kShared, true},
    {"hosts_message", &HostCosts::hostsMessage, "far_message between hosts", kVeth, false},
    {"hosts_per_kib", &HostCosts::hostsPerKiB, "far_per_kib between hosts", kVeth, true},
    {"hosts_hop", &HostCosts::hostsHop, "far_hop between hosts", kVeth, false},
    {"hosts_send", &HostCosts::hostsSend, "far_send between hosts", kVeth, false},
    {"hosts_send_per_kib", &HostCosts::hostsSendPerKiB, "far_send_per_kib between hosts", kVeth,
     true},
    {"cold_128k_per_kib", &HostCosts::cold128K, "buffers of calls that touch 128 KiB", kCold, true},
    {"cold_1m_per_kib", &HostCosts::cold1M, "the same of 1 MiB", kCold, true},
    {"cold_8m_per_kib", &HostCosts::cold8M, "the same of 8 MiB", kCold, true},
    {"cold_64m_per_kib", &HostCosts::cold64M, "the same of 64 MiB", kCold, true},
    {"cold_512m_per_kib", &HostCosts::cold512M, "the same of 512 MiB", kCold, true},
};

/// 1024 x log2, linear between powers of two.
uint64_t log2Of(uint64_t bytes) {
  const auto whole = static_cast<unsigned>(std::bit_width(bytes)) - 1;
  const uint64_t rest = bytes - (uint64_t{1} << whole);
  return 1024 * whole + (whole >= 10 ? rest >> (whole - 10) : rest << (10 - whole));
}

}  // namespace

std::span<const CostField> costFields() { return kFields; }

uint64_t HostCosts::coldPerKiB(uint64_t bytes) const {
  const struct {
    unsigned log2;
    uint64_t cost;
  } knots[] = {{17, cold128K}, {20, cold1M}, {23, cold8M}, {26, cold64M}, {29, cold512M}};
  if (bytes == 0) return 0;
  const uint64_t at = log2Of(bytes);
  // Shorter calls cost as much less as their buffers stay in the nearest cache: from nothing at an
  // eighth of the first size.
  uint64_t below = 0, from = 1024 * (knots[0].log2 - 3);
  if (at <= from) return 0;
  for (const auto& knot : knots) {
    const uint64_t to = 1024 * knot.log2;
    if (at <= to) {
      const uint64_t part = at - from, whole = to - from;
      return (below * (whole - part) + knot.cost * part) / whole;
    }
    below = knot.cost;
    from = to;
  }
  return below;
}

}  // namespace rondo
