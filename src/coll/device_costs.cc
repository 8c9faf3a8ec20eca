#include "coll/device_costs.h"

#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

// The defaults: fitted by tools/tune_device_fit.cc to tests/measurements/h200_x2.csv (2 x H200,
// NV18, 2026-11-22) and h200_x4.csv (4 x H200), medians of rondo-bench in graphs; those of flags of
// further peers set by hand, when four GPUs had shown that they differ. Those of exchanges: fitted
// by hand to gather, scatter and latency of h200_exchange.csv's rows of 4 GPUs. All of these are of
// kernels that did not come close; what that saves: the median of all-reduces of 8 B to 256 KiB
// with and without, in turn (2 and 4 x H200, 2026-11-27: 0.33 to 0.41 us). Those of copy engines:
// all-reduces of 64 MiB to 1 GiB, half way between calls in graphs and others, which take 17 and 20
// to 24 us each way (2 x H200, 2026-11-29), and all-gathers of 4 x H200. Further hops of a
// pipeline, and what further peers cost a root: by hand to h200_x4_check.csv. Those between hosts:
// what 8 bytes took on two hosts of one GPU beside the call on host memory (performance-log.md,
// 0.6), and half of PCIe 4; not fitted, but within 17 % of what all of
// tests/measurements/h200_far.csv took (8 B to 16 MiB).
constexpr DeviceCostField kFields[] = {
    {"launch", &DeviceCosts::launch, "a kernel of one block that does nothing", false},
    {"close", &DeviceCosts::close, "what one that comes close behind another takes less", false},
    {"lane_ll", &DeviceCosts::laneLL, "each block of LL", false},
    {"lane", &DeviceCosts::lane, "each block of LL128 and of a ring", false},
    {"flag_ll", &DeviceCosts::flagLL, "data from rank to rank by LL", false},
    {"flag_ll128", &DeviceCosts::flagLL128, "data from rank to rank by LL128", false},
    {"flag_peer", &DeviceCosts::flagPeer, "each further peer of LL", false},
    {"flag_ll128_peer", &DeviceCosts::flagPeerLL128, "each further peer of LL128", false},
    {"further", &DeviceCosts::further, "a second exchange", false},
    {"further_peer", &DeviceCosts::furtherPeer, "each further peer of it", false},
    {"own", &DeviceCosts::own, "a block of its own that is copied", false},
    {"own_per_kib", &DeviceCosts::ownPerKiB, "its data", true},
    {"thread", &DeviceCosts::thread, "each thread above 128, for each peer", false},
    {"round", &DeviceCosts::round, "a further packet of a thread", false},
    {"overlapped_round", &DeviceCosts::overlappedRound, "the same while exchanges overlap", false},
    {"period", &DeviceCosts::period, "a further period", false},
    {"wire_ll_per_kib", &DeviceCosts::wireLLPerKiB, "stores of LL", true},
    {"wire_per_kib", &DeviceCosts::wirePerKiB, "stores of LL128 to several peers", true},
    {"overlap_per_kib", &DeviceCosts::overlapPerKiB, "the same while exchanges overlap", true},
    {"one_peer_per_kib", &DeviceCosts::onePeerPerKiB, "stores of LL128 to one peer", true},
    {"pair_overlap_per_kib", &DeviceCosts::pairOverlapPerKiB, "the same while exchanges overlap",
     true},
    {"ring_start", &DeviceCosts::ringStart, "a ring", false},
    {"ring_hop", &DeviceCosts::ringHop, "each hop of a ring", false},
    {"pipe_hop", &DeviceCosts::pipeHop, "a pipeline's first hop", false},
    {"pipe_further", &DeviceCosts::pipeFurther, "each further one", false},
    {"ring_per_kib", &DeviceCosts::ringPerKiB, "what 96 lanes send there", true},
    {"ring_spread_per_kib", &DeviceCosts::ringSpreadPerKiB,
     "what of it n lanes take more, times 1/n - 1/96", true},
    {"keep_per_kib", &DeviceCosts::keepPerKiB, "what is received there last", true},
    {"fold_per_kib", &DeviceCosts::foldPerKiB, "what is reduced before more is sent", true},
    {"ring_lane_per_kib", &DeviceCosts::ringLanePerKiB, "the least time of a lane", true},
    {"exchange", &DeviceCosts::exchange, "a send to its receive", false},
    {"exchange_alone", &DeviceCosts::exchangeAlone, "more where no rank was ahead", false},
    {"exchange_lane", &DeviceCosts::exchangeLane, "each of its lanes", false},
    {"exchange_lane_per_kib", &DeviceCosts::exchangeLanePerKiB, "what a lane moves", true},
    {"exchange_in_per_kib", &DeviceCosts::exchangeInPerKiB, "what a rank receives", true},
    {"exchange_out_per_kib", &DeviceCosts::exchangeOutPerKiB, "what a rank sends", true},
    {"straight", &DeviceCosts::straight, "asking where a long send goes", false},
    {"straight_ring", &DeviceCosts::straightRing, "asking whether a long call goes round straight",
     false},
    {"straight_per_kib", &DeviceCosts::straightPerKiB, "what goes straight there", true},
    {"copies", &DeviceCosts::copies, "copy engines, from each rank to all others", false},
    {"copies_peer", &DeviceCosts::copiesPeer, "each further one", false},
    {"copies_per_kib", &DeviceCosts::copiesPerKiB, "what a rank sends by them", true},
    {"far_call", &DeviceCosts::farCall, "a call between hosts beside that on host memory", false},
    {"far_per_kib", &DeviceCosts::farPerKiB, "its data to or from page-locked memory", true},
};

/// Of the machine where the defaults were measured: NV18.
constexpr uint64_t kMeasuredBandwidth = 450'000'000'000;

}  // namespace

DeviceCosts DeviceCosts::onLinksOf(uint64_t bytesPerSecond) const {
  DeviceCosts out = *this;
  const double slower = static_cast<double>(kMeasuredBandwidth) /
                        static_cast<double>(std::max<uint64_t>(bytesPerSecond, 1));
  for (const auto wire :
       {&DeviceCosts::wireLLPerKiB, &DeviceCosts::wirePerKiB, &DeviceCosts::overlapPerKiB,
        &DeviceCosts::onePeerPerKiB, &DeviceCosts::pairOverlapPerKiB, &DeviceCosts::ringPerKiB,
        &DeviceCosts::exchangeInPerKiB, &DeviceCosts::exchangeOutPerKiB,
        &DeviceCosts::straightPerKiB, &DeviceCosts::copiesPerKiB}) {
    out.*wire = static_cast<uint64_t>(std::llround(static_cast<double>(out.*wire) * slower));
  }
  return out;
}

// Fitted by hand to rondo-bench with RONDO_P2P=off, RONDO_TUNE and 1 to 96 lanes (2 x H200, PCIe 5,
// 2026-11-23), those of LL and of exchanges by rondo-tune. Lanes that poll across PCIe are felt.
DeviceCosts DeviceCosts::throughHost() const {
  DeviceCosts out = *this;
  out.flagLL = 2'500'000;
  out.thread = 450;
  out.round = 240'000;
  out.period = 1'720'000;
  out.wireLLPerKiB = 33'000;
  out.lane = 400'000;
  out.ringStart = 20'000'000;
  out.ringHop = 12'000'000;
  out.pipeHop = out.pipeFurther = 12'000'000;
  out.ringPerKiB = 29'000;
  out.ringSpreadPerKiB = 0;
  out.keepPerKiB = 0;
  out.foldPerKiB = 0;
  out.ringLanePerKiB = 310'000;
  out.exchange = 2'700'000;
  out.exchangeAlone = 5'600'000;
  out.exchangeLane = 76'000;
  out.exchangeLanePerKiB = 1'380'000;
  out.exchangeInPerKiB = 21'600;
  out.exchangeOutPerKiB = 21'600;
  return out;
}

std::span<const DeviceCostField> deviceCostFields() { return kFields; }

}  // namespace rondo
