// What links carry over time, and the picture of it: its sums are the table's, it ends where the
// call does, and all that is written in it can be read.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "base/error.h"
#include "coll/sim/heat_rows.h"
#include "coll/sim/heat_svg.h"
#include "coll/sim/output.h"
#include "coll/sim/rehearsal.h"
#include "support/svg_texts.h"
#include "support/topo_refusal.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using rondo::testing::expectPart;
using rondo::testing::expectTextsReadable;

constexpr uint64_t kUnit = 1'000'000'000'000;  // a byte per picosecond

/// Runs all flows to their end.
Time drain(FairLinks* links, Time now) {
  uint64_t tag = 0;
  while (links->active() > 0) {
    links->settle(now);
    now = links->nextEnd();
    while (links->takeEnded(now, &tag)) {
    }
  }
  links->settle(now);
  return now;
}

TEST(SimCourse, FollowsTheSharesOfALink) {
  // The second flow comes when the first is half over, and takes half of the first link.
  FairLinks links({10 * kUnit, 40 * kUnit}, true);
  const std::vector<topo::Arc> both{0, 1}, first{0};
  links.start(&both, 1000, 1, 0);
  links.settle(0);
  links.start(&first, 1000, 2, 50);
  EXPECT_EQ(drain(&links, 50), 200u);
  const LinkCourse &shared = links.courses()[0], &own = links.courses()[1];
  EXPECT_DOUBLE_EQ(own.until(50), 500);
  EXPECT_DOUBLE_EQ(own.until(100), 750) << "spread evenly it would be 667";
  EXPECT_DOUBLE_EQ(own.until(150), 1000);
  EXPECT_DOUBLE_EQ(own.until(200), 1000);
  EXPECT_DOUBLE_EQ(shared.until(25), 250);
  EXPECT_DOUBLE_EQ(shared.until(150), 1500);
  EXPECT_DOUBLE_EQ(shared.bytes(), 2000);
  EXPECT_EQ(shared.end(), 200u);
}

TEST(SimCourse, CountsNoByteThatAFlowDoesNotHave) {
  // 3 bytes over 2 bytes a picosecond end after a second one, in which one byte is left.
  FairLinks links({2 * kUnit}, true);
  const std::vector<topo::Arc> arcs{0};
  Time now = 0;
  for (int i = 0; i < 1000; ++i) {
    links.start(&arcs, 3, 1, now);
    now = drain(&links, now);
  }
  EXPECT_EQ(now, 2000u);
  EXPECT_NEAR(links.courses()[0].bytes(), 3000, 1e-6);
}

TEST(SimCourse, StaysSmallAndKeepsSumsAndPauses) {
  LinkCourse course;
  Time now = 0;
  double bytes = 0;
  const auto burst = [&](int changes) {
    for (int i = 0; i < changes; ++i) {
      const double rate = i % 2 == 0 ? 1 : 3;
      course.change(now, rate);
      bytes += rate * 10;
      now += 10;
    }
    course.change(now, 0);
  };
  burst(50'000);
  const Time paused = now;
  now += 1'000'000;
  burst(50'000);
  EXPECT_LT(course.marks(), 2048u);
  EXPECT_NEAR(course.bytes(), bytes, 1e-3);
  EXPECT_NEAR(course.until(paused), bytes / 2, 1e-3);
  EXPECT_NEAR(course.until(paused + 999'000), bytes / 2, 1e-3) << "a pause is a pause";
  EXPECT_NEAR(course.until(paused / 2), bytes / 4, bytes / 500);
  course.stretch(3 * now, now);
  EXPECT_NEAR(course.until(3 * paused), bytes / 2, 1e-3);
  EXPECT_EQ(course.end(), 3 * now);
}

struct Case {
  const char* machine;
  Collective collective;
  const char* algorithm;
  uint64_t bytes;
  int64_t periods;  ///< 0: all.
};

/// A call with all that is kept of it; every link has a row where there are at most 40.
struct Kept {
  Kept(topo::Graph machine, const Case& c) : graph(std::move(machine)), on(graph, 0, settings(c)) {
    const CallShape call{c.collective, c.bytes};
    const Algorithm* algorithm = on.candidates(c.collective).front();
    const algo::Geometry geometry = on.geometryOf(*algorithm, call);
    result = on.simulate(*algorithm, geometry, 0, true).result;
    checkEnded(result);
    job = on.jobOf(*algorithm, geometry, 0);
  }
  static Settings settings(const Case& c) {
    Settings out;
    out.record = out.recordLinks = true;
    out.algorithm = c.algorithm;
    out.periods = static_cast<Count>(c.periods);
    out.wholeIfKept = false;
    return out;
  }
  topo::Graph graph;
  Rehearsal on;
  Result result;
  Job job;
};

constexpr const char* kHosts = "2 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)";
constexpr const char* kPcie = "2 cpu, 4 pci, 8 gpu";

const Case kCases[] = {
    {kHosts, Collective::AllReduce, "ring", 4'000'000, 0},
    {kHosts, Collective::AllReduce, "ring", 400'000'000, 4},
    {kHosts, Collective::AllReduce, "tree", 400'000'000, 3},
    {kHosts, Collective::AllReduce, "stripes", 100'000'001, 5},
    {kHosts, Collective::Broadcast, "tree", 1'000'000'000, 16},
    {kHosts, Collective::AllToAll, "direct", 3'333'333, 0},
    {kPcie, Collective::AllToAll, "direct", 1'600'000, 0},
    {kPcie, Collective::AllReduce, "ring", 64'000'000, 0},
    {"1 cpu, 4 gpu nvlink=450 nvswitch", Collective::AllReduce, "twoshot", 1 << 20, 0},
    {"1 cpu, 4 gpu nvlink=450 nvswitch", Collective::AllReduce, "oneshot", 8, 0},
    {"2 cpu", Collective::AllReduce, "ring", 8 << 20, 2},
};

/// Bytes that a row's columns stand for.
double bytesOf(const Heat& heat, const HeatRow& row) {
  double bytes = 0;
  for (size_t c = 0; c < kHeatColumns; ++c) {
    bytes += row.use[c] * static_cast<double>(heat.edges[c + 1] - heat.edges[c]);
  }
  return bytes * static_cast<double>(row.capacity) * 1e-12 * static_cast<double>(row.links);
}

TEST(SimHeat, SumsAreTheTables) {
  for (const Case& c : kCases) {
    const Kept kept(topo::parseSynthetic(c.machine), c);
    SCOPED_TRACE(format("%s, %s of %llu bytes, %lld periods", c.machine, c.algorithm,
                        static_cast<unsigned long long>(c.bytes),
                        static_cast<long long>(c.periods)));
    std::map<std::string, double> table;
    for (size_t arc = 0; arc < kept.result.arcBytes.size(); ++arc) {
      const auto at = static_cast<topo::Arc>(arc);
      const uint64_t bytes = kept.result.arcBytes[arc];
      if (bytes == 0) continue;
      table[kept.graph.fullName(kept.graph.source(at)) + " to " +
            kept.graph.fullName(kept.graph.target(at))] = static_cast<double>(bytes);
    }
    const Heat heat = heatOf(kept.job, kept.result);
    ASSERT_EQ(heat.rows.size(), table.size());
    EXPECT_EQ(heat.edges.front(), 0u);
    EXPECT_EQ(heat.edges.back(), kept.result.picoseconds) << "the call's end";
    EXPECT_EQ(heat.gapTo > heat.gapFrom, kept.result.simulatedPeriods < kept.result.periods);
    for (const HeatRow& row : heat.rows) {
      const double bytes = table.at(row.label);
      EXPECT_NEAR(bytesOf(heat, row), bytes, bytes * 1e-6) << row.label;
      const double whole =
          static_cast<double>(row.capacity) * 1e-12 * static_cast<double>(kept.result.picoseconds);
      EXPECT_NEAR(row.mean, bytes / whole, 1e-6) << row.label;
      if (kept.result.stretched < 1) continue;
      for (const double use : row.use) EXPECT_LE(use, 1 + 1e-6) << row.label;
    }
  }
}

TEST(SimHeat, PicturesEndWithTheCallAndCanBeRead) {
  for (const Case& c : kCases) {
    const Kept kept(topo::parseSynthetic(c.machine), c);
    SCOPED_TRACE(format("%s, %s of %llu bytes", c.machine, c.algorithm,
                        static_cast<unsigned long long>(c.bytes)));
    const std::string svg = heatSvg(kept.job, kept.result, "a call");
    EXPECT_EQ(topo::parseXml(svg, "heat.svg").name, "svg");
    expectTextsReadable(svg);
    const double us = static_cast<double>(kept.result.picoseconds) * 1e-6;
    const std::string end = format(">%.5g<", us >= 20'000 ? us * 1e-3 : us);
    expectPart(svg, end);
    expectPart(svg, us >= 20'000 ? ">ms<" : ">us<");
    // Every share is that of the table's line.
    expectPart(svg, format("%5.1f %% of ", 100 * heatOf(kept.job, kept.result).rows[0].mean));
    const bool gap = kept.result.simulatedPeriods < kept.result.periods;
    EXPECT_EQ(svg.find("Between the lines: ") != std::string::npos, gap);
    if (!gap) continue;
    expectPart(svg, format("%llu of %llu full periods",
                           static_cast<unsigned long long>(kept.result.periods -
                                                           kept.result.simulatedPeriods),
                           static_cast<unsigned long long>(kept.result.periods)));
  }
}

TEST(SimHeat, ColumnsOfWhatWasNotSimulatedAreAFewAndTheirMean) {
  const Kept kept(topo::parseSynthetic(kHosts), kCases[1]);
  const Heat heat = heatOf(kept.job, kept.result);
  ASSERT_GT(heat.gapFrom, 0u);
  EXPECT_LE(heat.gapTo - heat.gapFrom, kHeatColumns / 6);
  EXPECT_EQ(heat.edges[heat.gapTo] - heat.edges[heat.gapFrom], kept.result.leftOutTime);
  for (size_t c = 0; c < kHeatColumns; ++c) EXPECT_LE(heat.edges[c], heat.edges[c + 1]);
  for (const HeatRow& row : heat.rows) {
    EXPECT_GT(row.use[heat.gapFrom], 0) << row.label;
    for (size_t c = heat.gapFrom; c < heat.gapTo; ++c) {
      EXPECT_NEAR(row.use[c], row.use[heat.gapFrom], 1e-9) << row.label;
    }
  }
}

TEST(SimHeat, NamesLinksTheBusiestFirst) {
  const Kept kept(topo::parseSynthetic(kHosts), kCases[0]);
  const std::string svg = heatSvg(kept.job, kept.result, "a < b");
  expectPart(svg, "a &lt; b");
  expectPart(svg, ">host0/nic1 to switch0<");
  // The cables are what a ring over two hosts waits for: they come first and are nearly full.
  EXPECT_LT(svg.find("nic1 to switch0"), svg.find("gpu0 to host0/nvs0"));
  EXPECT_GE(heatOf(kept.job, kept.result).rows[0].mean, 0.9);
}

TEST(SimHeat, ManyLinksAlikeAreOneRow) {
  const Case ring{"", Collective::AllGather, "ring", 1'000'000, 0};
  const Kept kept(topo::parseSynthetic("8 x (1 cpu, 4 gpu nvlink=100 nvswitch, 4 nic=10)"), ring);
  const std::string svg = heatSvg(kept.job, kept.result, "all-gather");
  expectPart(svg, ">host*/gpu* to host*/nvs* (mean of 24)<");
  expectTextsReadable(svg);
  const Heat heat = heatOf(kept.job, kept.result);
  double drawn = 0, all = 0;
  for (const HeatRow& row : heat.rows) drawn += bytesOf(heat, row);
  for (const uint64_t bytes : kept.result.arcBytes) all += static_cast<double>(bytes);
  EXPECT_EQ(heat.left, 0u);
  EXPECT_NEAR(drawn, all, all * 1e-6);
}

TEST(SimHeat, LinksOfOneNameThatCarryUnequallySayTheMost) {
  // Only half of the hosts' pairs cross the upper switches.
  const Case tree{"", Collective::Broadcast, "tree", 4'000'000, 0};
  const Kept kept(topo::parseSynthetic("8 x (1 cpu, 4 gpu nvlink=100 nvswitch, 4 nic=10)"), tree);
  expectPart(heatSvg(kept.job, kept.result, "broadcast"), " GB/s, up to ");
}

TEST(SimHeat, StretchedCallsKeepTheirShape) {
  Kept kept(topo::parseSynthetic(kHosts), kCases[0]);
  const Heat before = heatOf(kept.job, kept.result);
  stretch(&kept.result, 3 * kept.result.picoseconds);
  const Heat after = heatOf(kept.job, kept.result);
  EXPECT_EQ(after.edges.back(), 3 * before.edges.back());
  ASSERT_EQ(after.rows.size(), before.rows.size());
  for (size_t i = 0; i < after.rows.size(); ++i) {
    for (size_t c = 0; c < kHeatColumns; ++c) {
      EXPECT_NEAR(3 * after.rows[i].use[c], before.rows[i].use[c], 1e-3) << i << ", " << c;
    }
  }
}

TEST(SimHeat, LongNamesAndCallsWithoutBytesCanBeRead) {
  std::string xml = topo::writeGraphXml(topo::parseSynthetic(kHosts));
  const std::string name = "ip-10-0-12-123.eu-central-1.compute.internal.example.org";
  for (size_t at = xml.find("host0"); at != std::string::npos; at = xml.find("host0", at + 1)) {
    xml.replace(at, 5, name);
  }
  const Kept named(topo::loadTopologyXml(xml, "long.xml").graph, kCases[0]);
  const std::string svg = heatSvg(named.job, named.result, std::string(120, 'W'));
  expectPart(svg, name + "/gpu0");
  expectTextsReadable(svg);
  const Kept nothing(topo::parseSynthetic(kHosts),
                     {"", Collective::Barrier, "dissemination", 0, 0});
  const std::string empty = heatSvg(nothing.job, nothing.result, "barrier");
  expectPart(empty, ">No link carries anything.<");
  expectTextsReadable(empty);
}

}  // namespace
