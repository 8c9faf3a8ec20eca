// Rehearsals on the GPUs of one host take what the device planner predicts, and so what was
// measured.

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "coll/sim/device_ranks.h"
#include "coll/sim/program.h"
#include "coll/sim/rehearsal.h"
#include "support/measurements.h"
#include "support/world.h"
#include "topo/synthetic.h"

namespace rondo::sim {
namespace {

using test::DeviceMeasurement;

/// rondo-sim counts all slots.
uint64_t bytesOf(const DeviceMeasurement& m) {
  const bool slots = m.collective == Collective::AllGather || m.collective == Collective::AllToAll;
  return slots ? m.bytes * static_cast<uint64_t>(m.ranks) : m.bytes;
}

/// How far off a file's calls are, on as many GPUs: at the geometric mean, and at worst.
struct Off {
  double mean = 0, worst = 0;
  int rows = 0;
};
Off offFrom(const std::string& file, int ranks) {
  const topo::Graph graph =
      topo::parseSynthetic(format("2 cpu, %d gpu nvlink=450 nvswitch", ranks));
  const DeviceFacts facts = deviceFactsOn(graph, graph.all(topo::NodeKind::Gpu));
  Off off;
  double logs = 0;
  for (const DeviceMeasurement& m : test::deviceMeasurements(file)) {
    if (m.ranks != ranks) continue;
    const TuneRule ran = parseTune(m.rule).front();
    Settings settings;
    settings.algorithm = ran.algorithm->name;
    Rehearsal on(graph, ranks, settings);
    const DeviceChoice planned =
        on.planned(*ran.algorithm, m.request().count * m.request().elementBytes);
    if (planned.algorithm == nullptr) ADD_FAILURE() << m.rule;
    if (ran.protocol != protocolName(planned.protocol)) continue;  // today's choice is another
    const Outcome& outcome = on.best({m.collective, bytesOf(m)});
    EXPECT_EQ(outcome.result.picoseconds, planned.picoseconds) << m.rule << ", " << m.bytes;
    // Rings had 96 lanes at most until 0.33.
    const bool fewer = planned.protocol == Protocol::kSimple && ran.lanes != planned.geometry.lanes;
    const uint64_t predicted =
        fewer ? chooseDevice(m.request(), facts, {ran}).picoseconds : outcome.result.picoseconds;
    const double error = std::fabs(static_cast<double>(predicted) / m.picoseconds - 1);
    logs += std::log1p(error);
    off.worst = std::max(off.worst, error);
    ++off.rows;
  }
  off.mean = std::expm1(logs / off.rows);
  return off;
}

TEST(SimDevice, TimesOnTwoAndFourGpusAreThoseThatWereMeasured) {
  for (const int ranks : {2, 4}) {
    const testing::Env then("RONDO_DEPENDENT_LAUNCH", "eager");
    const Off off = offFrom(format("h200_x%d.csv", ranks), ranks);
    EXPECT_GE(off.rows, 20) << ranks << " GPUs";
    EXPECT_LT(off.mean, 0.06) << ranks << " GPUs";
    EXPECT_LT(off.worst, 0.20) << ranks << " GPUs";
  }
}

TEST(SimDevice, TimesOfRingsOf128LanesAreThoseThatWereMeasured) {
  const Off off = offFrom("h200_x2_lanes.csv", 2);
  EXPECT_EQ(off.rows, 15);
  EXPECT_LT(off.mean, 0.03);
  EXPECT_LT(off.worst, 0.10);
}

TEST(SimDevice, TimesOfKernelsThatComeCloseAreThoseThatWereMeasured) {
  for (const int ranks : {2, 4}) {
    const Off off = offFrom("h200_close.csv", ranks);
    EXPECT_GE(off.rows, ranks == 2 ? 4 : 20) << ranks << " GPUs";
    EXPECT_LT(off.mean, 0.06) << ranks << " GPUs";
    EXPECT_LT(off.worst, 0.20) << ranks << " GPUs";
  }
}

TEST(SimDevice, WhatRunsIsThePlannersChoice) {
  const topo::Graph graph = topo::parseSynthetic("4 gpu nvlink=450 nvswitch");
  Rehearsal on(graph, 4, {});
  for (uint64_t bytes = 64; bytes <= 256u << 20; bytes *= 16) {
    const Outcome& best = on.best({Collective::AllReduce, bytes});
    const DeviceChoice choice =
        chooseDevice({Collective::AllReduce, bytes / 4, 4, Reduces::kHot},
                     deviceFactsOn(graph, graph.all(topo::NodeKind::Gpu)), {});
    EXPECT_EQ(best.algorithm->name, std::string(choice.algorithm)) << bytes;
    EXPECT_EQ(best.result.picoseconds, choice.picoseconds) << bytes;
  }
  // What has no kernel is rehearsed all the same.
  EXPECT_GT(on.best({Collective::Scan, 4096}).result.picoseconds, 0u);
  EXPECT_GT(on.best({Collective::Gather, 4096}).result.picoseconds, 0u);
}

// A message takes what was measured, 4.37 us and 244 us, where links alone would be half of it.
TEST(SimDevice, SendsAndGathersTakeWhatIsPredicted) {
  const topo::Graph graph = topo::parseSynthetic("2 cpu, 4 gpu nvlink=450 nvswitch");
  Program program(graph, "program", 4, 0, true);
  const auto micro = [](Time time) { return static_cast<double>(time) * 1e-6; };
  const auto send = [&](std::vector<PeerTransfer> transfers) {
    return micro(program.exchange(program.first(), "rondoSend", transfers));
  };
  EXPECT_NEAR(send({{1, true, 1024}}), 4.37, 0.4);
  EXPECT_NEAR(send({{1, true, 64u << 20}}), 244, 24);
  EXPECT_EQ(send({{0, true, 1024}, {0, false, 1024}}), 0) << "a copy";
  Rehearsal on(graph, 4, {});
  const Outcome& gather = on.best({Collective::Gather, 4 * (4u << 20)});
  EXPECT_EQ(gather.algorithm->name, std::string("direct"));
  EXPECT_NEAR(micro(gather.result.picoseconds), 37.2, 5);
  // Over PCIe, and over hosts, messages go over the links as before.
  const topo::Graph pcie = topo::parseSynthetic("2 cpu, 4 gpu");
  EXPECT_FALSE(Rehearsal(pcie, 4, {}).exchangeTime(0, {{1, true, 1024}}));
  const topo::Graph hosts = topo::parseSynthetic("2 x (2 gpu nvlink=450 nvswitch, 2 nic=50)");
  EXPECT_FALSE(Rehearsal(hosts, 4, {}).exchangeTime(0, {{1, true, 1024}}));
}

// As in a job's only communicator: what a call takes in graphs behind another.
TEST(SimDevice, KernelsComeCloseWhereGpusCan) {
  const auto closes = [](const char* machine) {
    const topo::Graph graph = topo::parseSynthetic(machine);
    return deviceFactsOn(graph, graph.all(topo::NodeKind::Gpu)).close;
  };
  EXPECT_TRUE(closes("4 gpu nvlink=450 nvswitch"));
  EXPECT_TRUE(closes("8 gpu nvlink=900 nvswitch"));
  EXPECT_TRUE(closes("4 gpu nvlink=450 mesh"));
  EXPECT_TRUE(closes("2 gpu nvlink=400 links=8 nvswitch")) << "eight links of 50 GB/s";
  EXPECT_FALSE(closes("4 gpu nvlink=300 nvswitch")) << "compute capability 8.0";
  EXPECT_FALSE(closes("2 cpu, 4 gpu")) << "unknown";
  const topo::Graph graph = topo::parseSynthetic("4 gpu nvlink=450 nvswitch");
  const CallShape call{Collective::AllReduce, 1024};
  const Time alone = Rehearsal(graph, 4, {}).best(call).result.picoseconds;
  {
    const testing::Env eager("RONDO_DEPENDENT_LAUNCH", "eager");
    EXPECT_FALSE(closes("4 gpu nvlink=450 nvswitch"));
    EXPECT_EQ(Rehearsal(graph, 4, {}).best(call).result.picoseconds, alone + DeviceCosts{}.close);
  }
  // Two parts: their ranks are in a communicator of all, too.
  const auto part = [&graph](Parts parts, int ranks) {
    return Rehearsal(graph, ranks, {}, std::move(parts))
        .best({Collective::AllReduce, 1024})
        .result.picoseconds;
  };
  EXPECT_EQ(part(Parts({{0, 1}, {2, 3}}), 4), part({}, 2) + DeviceCosts{}.close);
}

TEST(SimDevice, TransfersFillTheStretchedTime) {
  const topo::Graph graph = topo::parseSynthetic("2 gpu nvlink=450 nvswitch");
  Settings settings;
  settings.record = true;
  Rehearsal on(graph, 2, settings);
  const Result& result = on.best({Collective::AllReduce, 64u << 20}).result;
  ASSERT_FALSE(result.transfers.empty());
  Time last = 0;
  for (const Transfer& transfer : result.transfers) {
    EXPECT_LE(transfer.start, transfer.end);
    last = std::max(last, transfer.end);
  }
  EXPECT_LE(last, result.picoseconds);
  EXPECT_GT(last, result.picoseconds / 2);
  for (const Span& span : result.spans) EXPECT_LE(span.end, result.picoseconds);
  // Two ranks, two shots: half of the data each way and twice.
  uint64_t bytes = 0;
  for (const uint64_t arc : result.arcBytes) bytes += arc;
  EXPECT_EQ(bytes, 2 * 2 * (uint64_t{64} << 20));
}

TEST(SimDevice, OtherGeometriesAndSeveralHostsAreSimulatedAsTheyAre) {
  const topo::Graph graph = topo::parseSynthetic("2 gpu nvlink=450 nvswitch");
  const topo::Graph hosts = topo::parseSynthetic("2 x (2 gpu nvlink=450 nvswitch, 2 nic=50)");
  Settings settings;
  settings.lanes = 4;
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  EXPECT_EQ(Rehearsal(graph, 2, settings).planned(ring, 4096).algorithm, nullptr);
  EXPECT_EQ(Rehearsal(hosts, 4, {}).planned(ring, 4096).algorithm, nullptr);
  EXPECT_STREQ(Rehearsal(graph, 2, {}).planned(ring, 4096).algorithm, "ring");
  const Algorithm& tree = *findAlgorithm(Collective::AllReduce, "tree");
  EXPECT_EQ(Rehearsal(graph, 2, {}).planned(tree, 4096).algorithm, nullptr) << "has no kernel";
  EXPECT_THROW(deviceFactsOn(hosts, hosts.all(topo::NodeKind::Gpu)), Error);
  // GPUs without NVLink cannot store whole lines: a ring over PCIe.
  const topo::Graph pcie = topo::parseSynthetic("2 cpu, 4 gpu");
  const DeviceFacts facts = deviceFactsOn(pcie, pcie.all(topo::NodeKind::Gpu));
  EXPECT_FALSE(facts.lineStores);
  EXPECT_GT(facts.costs.ringPerKiB, 5 * DeviceCosts{}.ringPerKiB);
}

}  // namespace
}  // namespace rondo::sim
