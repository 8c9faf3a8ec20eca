// Rehearsals on the GPUs of one host take what the device planner predicts, and so what was
// measured.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

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
    return deviceFactsOn(graph, graph.all(topo::NodeKind::Gpu)).close == Close::kBeside;
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
  EXPECT_EQ(part(Parts({{0, 1}, {2, 3}}), 4), part({}, 2) + DeviceCosts{}.close / 4);
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

/// How many times what a link can carry in it the call's transfers need of it in any of `bins`
/// parts of its time, each transfer spread evenly over its own.
double mostOfLinks(const topo::Graph& graph, const Result& result, size_t ranks) {
  constexpr int kBins = 50;
  std::map<uint64_t, const std::vector<topo::Arc>*> routes;
  for (const auto& [ends, arcs] : result.routes) routes[ends] = &arcs;
  std::vector<std::vector<double>> used(graph.arcs(), std::vector<double>(kBins));
  const double bin = static_cast<double>(result.picoseconds) / kBins;
  for (const Transfer& t : result.transfers) {
    const auto& arcs =
        *routes.at(static_cast<uint64_t>(t.from) * ranks + static_cast<uint64_t>(t.to));
    double latency = 0;  // after which the last byte is there
    for (const topo::Arc arc : arcs) {
      latency += static_cast<double>(graph.link(arc / 2).picoseconds) * result.stretched;
    }
    const auto start = static_cast<double>(t.start), end = static_cast<double>(t.end) - latency;
    for (int b = 0; b < kBins && t.bytes > 0; ++b) {
      const double part = std::min(end, (b + 1) * bin) - std::max(start, b * bin);
      for (const topo::Arc arc : arcs) {
        used[static_cast<size_t>(arc)][static_cast<size_t>(b)] +=
            static_cast<double>(t.bytes) * std::max(0.0, part) / (end - start);
      }
    }
  }
  double most = 0;
  for (size_t arc = 0; arc < used.size(); ++arc) {
    const auto capacity = static_cast<double>(graph.links()[arc / 2].bytesPerSecond) * 1e-12 * bin;
    for (const double bytes : used[arc]) most = std::max(most, bytes / capacity);
  }
  return most;
}

// A ring of whole blocks fills more slowly than its kernel, and was pressed together.
TEST(SimDevice, TransfersThatAreKeptFitTheLinks) {
  const topo::Graph graph = topo::parseSynthetic("2 cpu, 8 gpu nvlink=450 nvswitch");
  Settings settings;
  settings.record = true;
  for (const Collective collective :
       {Collective::Broadcast, Collective::Reduce, Collective::AllReduce, Collective::AllGather,
        Collective::AllToAll, Collective::Gather}) {
    Rehearsal on(graph, 8, settings);
    for (const uint64_t bytes : {64u << 10, 4u << 20, 64u << 20}) {
      const Outcome& best = on.best({collective, bytes});
      ASSERT_FALSE(best.result.transfers.empty());
      EXPECT_GE(best.result.stretched, 1) << collectiveName(collective) << " " << bytes;
      EXPECT_LT(mostOfLinks(graph, best.result, 8), 1.001) << collectiveName(collective) << bytes;
      EXPECT_EQ(best.result.picoseconds,
                on.planned(*best.algorithm, best.geometry.count).picoseconds);
    }
  }
}

// What the planner predicts does not know of a link that GPUs share.
TEST(SimDevice, NoCallIsQuickerThanItsLinks) {
  const topo::Graph graph = topo::parseSynthetic("2 cpu=5, 8 gpu");
  Rehearsal on(graph, 8, {});
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (collective == Collective::Barrier) continue;
    const Result& result = on.best({collective, 256u << 20}).result;
    EXPECT_LE(leastTime(graph, result.arcBytes), result.picoseconds) << collectiveName(collective);
  }
  // 16 pairs each way over 5 GB/s.
  EXPECT_EQ(on.best({Collective::AllToAll, 256u << 20}).result.picoseconds,
            (uint64_t{16} << 25) / 8 * 1000 / 5 * 8);
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
