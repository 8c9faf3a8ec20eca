// Stages of a pipeline: what they wait against the closed form, and whether what they do is
// possible.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "coll/sim/heat_rows.h"
#include "coll/sim/heat_svg.h"
#include "coll/sim/pipeline.h"
#include "support/topo_refusal.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;

double partOf(const PipelineRun& run) {
  return static_cast<double>(run.bubble) / static_cast<double>(run.end);
}

TEST(SimPipeline, EqualStagesWaitAsTheClosedFormSays) {
  for (const int stages : {1, 2, 3, 4, 8, 16}) {
    for (const int chunks : {1, 2, 4}) {
      for (const int rounds : {1, 2, 5}) {
        const int microBatches = stages * rounds;
        const auto pieces = static_cast<Time>(microBatches) * static_cast<Time>(chunks);
        const Pipeline p{stages, chunks, microBatches, 1000 * pieces, 2000 * pieces, 0};
        const PipelineRun run = runPipeline(p);
        EXPECT_EQ(run.bubble, static_cast<Time>(stages - 1) * 3000)
            << stages << " " << chunks << " " << microBatches;
        EXPECT_NEAR(partOf(run), idealBubble(p), 1e-12);
      }
    }
  }
  // (p - 1) / (m + p - 1), whatever the micro-batches, where a stage is one piece of the model.
  for (const int microBatches : {1, 3, 7}) {
    const auto m = static_cast<Time>(microBatches);
    EXPECT_NEAR(partOf(runPipeline({4, 1, microBatches, 1000 * m, 2000 * m, 0})), 3.0 / (m + 3),
                1e-12);
  }
}

/// What a stage does comes after what it needs, and nothing is done twice or at the same time.
void expectPossible(const Pipeline& p, const PipelineRun& run) {
  using Key = std::tuple<bool, int, int, int>;  // forward, stage, micro-batch, chunk
  std::map<Key, const StageWork*> done;
  std::map<int, Time> free;
  for (const StageWork& w : run.work) {
    ASSERT_TRUE(done.emplace(Key{w.forward, w.stage, w.microBatch, w.chunk}, &w).second);
    ASSERT_EQ(w.ready, free[w.stage]);
    ASSERT_GE(w.start, w.ready);
    free[w.stage] = w.end;
  }
  ASSERT_EQ(done.size(), 2u * static_cast<size_t>(p.stages * p.chunks * p.microBatches));
  for (const auto& [key, work] : done) {
    const auto& [forward, stage, m, chunk] = key;
    const int position = chunk * p.stages + stage, last = p.chunks * p.stages - 1;
    const int before = forward ? position - 1 : position + 1;
    const StageWork* needs = nullptr;
    if (!forward && position == last) needs = done.at({true, stage, m, chunk});
    if (before >= 0 && before <= last) {
      needs = done.at({forward, before % p.stages, m, before / p.stages});
    }
    if (needs == nullptr) continue;
    const Time message = needs->stage == stage ? 0 : p.send;
    ASSERT_GE(work->start, needs->end + message) << forward << stage << " " << m << " " << chunk;
  }
}

TEST(SimPipeline, WhateverTheNumbersItEndsAndIsPossible) {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int chunks = 1; chunks <= 4; ++chunks) {
      for (int microBatches = 1; microBatches <= 11; ++microBatches) {
        const Pipeline p{stages, chunks, microBatches, 100'000, 170'001, 700};
        const PipelineRun run = runPipeline(p);
        expectPossible(p, run);
        EXPECT_GE(run.end, p.forward + p.backward);
      }
    }
  }
}

TEST(SimPipeline, StagesMayDiffer) {
  // The slowest one never waits between its first forward and its last backward: what the last
  // one does fits into its own time.
  Pipeline p{3, 1, 6, 0, 0, 0, {{600, 1200}, {6000, 9000}, {1200, 600}}};
  const PipelineRun run = runPipeline(p);
  expectPossible(p, run);
  EXPECT_EQ(run.end, 15'000u + 100 + 200);
  EXPECT_EQ(run.bubble, run.end - (1800 + 15'000 + 1800) / 3);
  p.send = 70;
  for (const int chunks : {1, 2, 3}) {
    for (int microBatches = 1; microBatches <= 7; ++microBatches) {
      p.chunks = chunks;
      p.microBatches = microBatches;
      expectPossible(p, runPipeline(p));
    }
  }
  // Equal ones are what they were.
  const PipelineRun equal = runPipeline({3, 2, 6, 600, 900, 5});
  EXPECT_EQ(runPipeline({3, 2, 6, 0, 0, 5, std::vector<Pipeline::Stage>(3, {600, 900})}).end,
            equal.end);
}

TEST(SimPipeline, MessagesLengthenTheWaysThereAndBack) {
  // One micro-batch goes there and back: six messages of four stages, and nothing beside them.
  const PipelineRun one = runPipeline({4, 1, 1, 1000, 2000, 50});
  EXPECT_EQ(one.end, 4 * 3000u + 6 * 50u);
  EXPECT_EQ(one.messages.size(), 6u);
  // Messages that take longer than the work follow each other.
  const PipelineRun slow = runPipeline({2, 1, 8, 8, 8, 1000});
  EXPECT_GE(slow.end, 8 * 1000u + 1000u);
}

TEST(SimPipeline, TimelineAndPictureShowTheGaps) {
  const Pipeline p{2, 1, 4, 40'000'000'000, 80'000'000'000, 2'000'000'000};
  const PipelineRun run = runPipeline(p);
  const std::string trace = traceJson(run);
  expectPart(trace, "{\"name\":\"waits\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":0.000000");
  expectPart(trace, "{\"name\":\"forward 3\",\"ph\":\"X\",\"pid\":0");
  expectPart(trace, "{\"name\":\"stage 1\"}");
  const topo::Graph graph =
      topo::parseSynthetic("2 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)");
  const Rehearsal on(graph, 4, {});
  const Result sent = stageTransfers(on, p, run, 20'000'000);
  EXPECT_EQ(sent.transfers.size(), 2u * 4u * 2u) << "micro-batches, there and back, two ranks";
  Job job;
  job.graph = &graph;
  job.places = on.places();
  const std::string svg = heatSvg(job, sent, "stages");
  expectPart(svg, ">host0/nic1 to switch0<");
  // Four messages of 2 ms each way, until the last stage has done its last work.
  const double use = 100.0 * 4 * 2e9 / static_cast<double>(run.end);
  EXPECT_LT(use, 10);
  expectPart(svg, format("%5.1f %% of 10 GB/s", use));
  const Heat heat = heatOf(job, sent);
  EXPECT_EQ(heat.edges.back(), run.end);
  // In a message's time a cable carries what it can; before the first one nothing.
  const double most = *std::max_element(heat.rows[0].use.begin(), heat.rows[0].use.end());
  EXPECT_NEAR(most, 1, 0.01);
  EXPECT_EQ(heat.rows[0].use[0], 0);
  Settings few;
  few.mostKept = 10;
  const Rehearsal tight(graph, 4, few);
  expectPart(refusalOf([&] { stageTransfers(tight, p, run, 1); }), "allowed for a picture");
}

TEST(SimPipeline, AbsurdNumbersAreRefused) {
  expectPart(refusalOf([] {
               runPipeline({1 << 20, 1 << 20, 1 << 20, 1, 1, 1});
             }),
             "a pipeline of pp 1048576, vpp 1048576 and ga 1048576; allowed: 4000000");
}

}  // namespace
