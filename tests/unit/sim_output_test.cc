// What a simulation writes down: flows, traces, bandwidths.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "coll/registry.h"
#include "coll/sim/output.h"
#include "coll/sim/rehearsal.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using nlohmann::json;

/// A ring of four ranks on two hosts, 4 blocks of 1000 bytes, everything kept.
class SimOutput : public ::testing::Test {
 protected:
  SimOutput() {
    job_.graph = &graph_;
    job_.places = placeRanks(graph_, 4);
    job_.plan = [](int rank) {
      return recordPlan(*findAlgorithm(Collective::AllReduce, "ring"), {rank, 4, 0},
                        {4000, 1, 4, 1000, 1});
    };
    job_.record = true;
    result_ = simulate(job_);
  }

  topo::Graph graph_ = topo::parseSynthetic("2 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)");
  Job job_;
  Result result_;
};

TEST_F(SimOutput, FlowsAreEveryTransfer) {
  // 2 (n - 1) messages of each rank.
  ASSERT_EQ(result_.transfers.size(), 24u);
  const json flows = json::parse(flowsJson(job_, result_));
  ASSERT_EQ(flows.size(), 24u);
  uint64_t bytes = 0;
  int chained = 0;
  for (const json& flow : flows) {
    bytes += flow["flow_size"].get<uint64_t>();
    EXPECT_EQ((flow["src"].get<int>() + 1) % 4, flow["dest"].get<int>());
    EXPECT_LE(flow["start_ps"].get<uint64_t>(), flow["end_ps"].get<uint64_t>());
    const bool far = flow["src"].get<int>() % 2 == 1;
    EXPECT_EQ(flow["conn_type"].get<std::string>(), far ? "net" : "nvlink");
    EXPECT_EQ(flow["route"].size(), far ? 7u : 3u);
    for (const json& before : flow["prev"]) {
      // What a step passes on came to it first.
      const json& first = flows[before.get<size_t>()];
      EXPECT_EQ(first["dest"], flow["src"]);
      EXPECT_LE(first["end_ps"].get<uint64_t>(), flow["start_ps"].get<uint64_t>());
      ++chained;
    }
  }
  EXPECT_EQ(bytes, 24'000u);
  EXPECT_EQ(chained, 20);  // all but each rank's first
}

TEST_F(SimOutput, CsvSaysTheSame) {
  std::istringstream lines(flowsCsv(job_, result_));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "flow_id,src,dest,flow_size,channel_id,chunk_id,conn_type,prev,start_ps,end_ps,route");
  size_t count = 0;
  while (std::getline(lines, line)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 10) << line;
    ++count;
  }
  EXPECT_EQ(count, 24u);
}

TEST_F(SimOutput, TraceHasEveryStep) {
  const json trace = json::parse(traceJson(result_));
  int steps = 0, names = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      ++names;
      continue;
    }
    EXPECT_GE(event["dur"].get<double>(), 0);
    steps += event["name"] != "waits" ? 1 : 0;
  }
  EXPECT_EQ(names, 4);
  EXPECT_EQ(steps, 4 * 7);  // send, 2 reductions passed on, 1 kept, 2 passed on, 1 received
}

TEST_F(SimOutput, BusiestLinksComeFirst) {
  const std::string text = busiestLinks(graph_, result_, 3);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("10 GB/s"), std::string::npos) << text;
  EXPECT_LT(text.find("10 GB/s"), text.find('\n')) << "cables are the narrowest: " << text;
}

// A list of flows is whole, unless it would be too long or less is asked for.
TEST(SimKept, HasAllPeriods) {
  const topo::Graph graph =
      topo::parseSynthetic("2 x (1 cpu, 4 gpu nvlink=450 nvswitch, 4 nic=50)");
  Settings settings;
  settings.lanes = 1;
  settings.chunk = 4096;
  const CallShape call{Collective::AllReduce, 1u << 20};
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const auto kept = [&] {
    const Rehearsal on(graph, 8, settings);
    return on.simulate(ring, on.geometryOf(ring, call), 0, true).result;
  };
  const Result whole = kept();
  EXPECT_EQ(whole.periods, 32u);
  EXPECT_EQ(whole.simulatedPeriods, 32u);
  uint64_t bytes = 0;
  for (const Transfer& transfer : whole.transfers) bytes += transfer.bytes;
  EXPECT_EQ(bytes, 2 * 7 * call.bytes);
  settings.mostKept = 5'000;  // steps of all periods: 32 x 8 x 15
  EXPECT_EQ(kept().simulatedPeriods, 32u);
  settings.mostKept = 3'000;
  EXPECT_EQ(kept().simulatedPeriods, 16u);
  settings.mostKept = 4e6;
  settings.wholeIfKept = false;
  EXPECT_EQ(kept().simulatedPeriods, 16u);
}

TEST(SimBandwidth, CountsWhatEachRankHasToSend) {
  // 1 GB in 1 ms is 1000 GB/s.
  constexpr uint64_t kGB = 1'000'000'000;
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::AllReduce, 4, kGB, kGB), 1.5e12);
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::AllGather, 4, kGB, kGB), 0.75e12);
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::Broadcast, 4, kGB, kGB), 1e12);
  EXPECT_EQ(busBandwidth(Collective::Broadcast, 4, kGB, 0), 0);
}

}  // namespace
