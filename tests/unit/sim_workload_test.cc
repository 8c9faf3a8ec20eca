// Training steps as SimAI writes them: what is read, what is refused and where, and times.

#include <gtest/gtest.h>

#include <random>

#include "coll/sim/choices.h"
#include "coll/sim/output.h"
#include "coll/sim/workload_run.h"
#include "support/topo_refusal.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;

const std::string kHeader =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 "
    "all_gpus: 8 checkpoints: 2 1 0 checkpoint_initiates: 0 pp_comm: 8388608.0\n";
const std::string kLayers =
    "2\n"
    "attention\t-1\t1000\tALLGATHER\t65536\t2000\tREDUCESCATTER\t0\t3000\tNONE\t0\t100\n"
    "mlp -1 4000 NONE 0 5000 ALLTOALL_EP 32768 6000 ALLREDUCE_DP_EP 131072 100\r\n";

std::string refusal(const std::string& text) {
  return refusalOf([&] { parseWorkload(text, "w.txt"); });
}

TEST(SimWorkload, ReadsWhatSimAiWrites) {
  const Workload w = parseWorkload(kHeader + kLayers, "w.txt");
  EXPECT_EQ(w.policy, "HYBRID_TRANSFORMER_FWD_IN_BCKWD");
  EXPECT_EQ(w.model, 2);
  EXPECT_EQ(w.expert, 2);
  EXPECT_EQ(w.ranks, 8);
  EXPECT_EQ(w.checkpoints, (std::vector<int>{0, 1}));
  EXPECT_EQ(w.pipelineBytes, 8388608u);
  ASSERT_EQ(w.layers.size(), 2u);
  const Layer& first = w.layers[0];
  EXPECT_EQ(first.name, "attention");
  EXPECT_EQ(first.forward, 1000u);
  EXPECT_EQ(first.forwardComm.collective, Collective::AllGather);
  EXPECT_EQ(first.forwardComm.group, CommGroup::Model);
  EXPECT_EQ(first.forwardComm.bytes, 65536u);
  EXPECT_TRUE(first.inputComm.none) << "a call of 0 bytes is none";
  EXPECT_TRUE(first.weightComm.none);
  const Layer& second = w.layers[1];
  EXPECT_EQ(second.inputComm.group, CommGroup::Expert);
  EXPECT_EQ(second.inputComm.collective, Collective::AllToAll);
  EXPECT_EQ(second.weightComm.group, CommGroup::DataExpert);
  EXPECT_EQ(second.update, 100u);
}

TEST(SimWorkload, OlderHeadersAndColonlessOnes) {
  EXPECT_EQ(parseWorkload("MICRO\n1\na -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1", "w")
                .layers[0]
                .forwardComm.group,
            CommGroup::All);
  const Workload w = parseWorkload(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp_comm 4\n\n1\n\na -1 1 NONE 0 1 NONE 0 1 "
      "ALLREDUCE 8 1\n\n",
      "w");
  EXPECT_EQ(w.pipelineBytes, 4u);
  EXPECT_EQ(w.layers[0].weightComm.group, CommGroup::Data);
}

TEST(SimWorkload, WhatIsWrongIsSaidWithFileAndLine) {
  expectPart(refusal(""), "w.txt:1: the file ends here; expected: the parallelism");
  expectPart(refusal("FOO\n1\n"), "w.txt:1: found \"FOO\"; expected: DATA, MODEL");
  expectPart(refusal("HYBRID_TRANSFORMER\n1\n"), "model_parallel_NPU_group: N");
  expectPart(refusal("DATA speed: 4\n"), "found \"speed:\"; expected: model_parallel_NPU_group");
  expectPart(refusal("DATA ep: zero\n"), "found \"zero\"; expected: ep, a whole number from 1");
  expectPart(refusal("DATA ep:\n"), "expected: a number after ep");
  expectPart(refusal("DATA checkpoints: 3 1 2\n"), "3 numbers after checkpoints");
  expectPart(refusal("DATA\nmany\n"), "w.txt:2: found \"many\"; expected: the number of layers");
  expectPart(refusal("DATA\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
             "w.txt:4: the file ends here; expected: layer 2 of 2");
  expectPart(refusal("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n"), "12 columns, not 11");
  expectPart(refusal("DATA\n1\na -1 1 SUM 0 1 NONE 0 1 NONE 0 1\n"),
             "w.txt:3: found \"SUM\"; expected: NONE, ALLREDUCE");
  expectPart(refusal("DATA\n1\na -1 -5 NONE 0 1 NONE 0 1 NONE 0 1\n"), "the forward time in ns");
  expectPart(refusal("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\nb\n"),
             "w.txt:4: found \"b\"; expected: nothing more, for line 2 says 1 layers");
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  expectPart(refusal("DATA checkpoints: 1 2\n2\n" + layer + layer),
             "w.txt:1: found \"2\"; expected: a layer's number, from 0 to 1");
  expectPart(refusal("DATA checkpoints: 1 1 checkpoint_initiates: 1 0\n2\n" + layer + layer),
             "w.txt:1: found \"0\"; expected: in checkpoint_initiates layers at or behind");
  expectPart(refusal("DATA pp: 2 pp_layers: 2 1 2\n2\n" + layer + layer),
             "w.txt:1: found \"pp_layers of 2 stages with 3 layers\"; expected: pp 2 and all 2");
  expectPart(refusal("DATA pp_layers: 2 1 1\n2\n" + layer + layer), "expected: pp 1 and all 2");
  expectPart(refusal("DATA pp: 2 pp_layers: 2 0 2\n2\n" + layer + layer),
             "found \"0\"; expected: a layer's number, or how many, a whole number from 1");
  std::string long_ = "DATA checkpoints: 1 0 checkpoint_initiates: 3000";
  for (int i = 0; i < 3000; ++i) long_ += " " + std::to_string(i);
  long_ += "\n3000\n";
  for (int i = 0; i < 3000; ++i) long_ += layer;
  expectPart(refusal(long_), "expected: at most 1000000 layers computed again");
  expectPart(refusal("DATA\n1\n\x1b[2J -1 1 \x07 0 1 NONE 0 1 NONE 0 1\n"), "found \"?\"");
}

TEST(SimWorkload, GroupsCutTheRanks) {
  const Workload w = parseWorkload(kHeader + kLayers, "w.txt");
  EXPECT_TRUE(partsOf(w, CommGroup::All, 8).whole());
  using Members = std::vector<std::vector<int>>;
  EXPECT_EQ(partsOf(w, CommGroup::Model, 8).members, (Members{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(partsOf(w, CommGroup::Data, 8).members, (Members{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(partsOf(w, CommGroup::Expert, 8).members, (Members{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(partsOf(w, CommGroup::DataExpert, 8).members,
            (Members{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  expectPart(refusalOf([&] { partsOf(w, CommGroup::Data, 6); }), "allowed: a multiple of 4");
}

TEST(SimWorkload, PartsMoveWhatEachWouldAlone) {
  const topo::Graph graph = topo::parseSynthetic("2 x (1 cpu, 4 gpu nvlink=400 nvswitch, 4 nic)");
  const Workload w = parseWorkload(kHeader + kLayers, "w.txt");
  for (const CommGroup group : {CommGroup::Model, CommGroup::Data, CommGroup::DataExpert}) {
    for (int c = 0; c < kCollectives; ++c) {
      const Parts parts = partsOf(w, group, 8);
      const Rehearsal on(graph, 8, {}, parts);
      const CallShape call{static_cast<Collective>(c), 48'000};
      std::vector<LeftOut> leftOut;
      for (const Outcome& o : on.simulateAll(call, &leftOut, true)) {
        ASSERT_TRUE(o.result.blocked.empty()) << o.algorithm->name << ": " << o.result.blocked[0];
        std::vector<uint64_t> bytes(parts.members.size());
        for (const Transfer& t : o.result.transfers) {
          const auto from = static_cast<size_t>(t.from), to = static_cast<size_t>(t.to);
          ASSERT_EQ(parts.of[from], parts.of[to]) << "stays in its part";
          bytes[static_cast<size_t>(parts.of[from])] += t.bytes;
        }
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(), bytes[0]),
                  static_cast<std::ptrdiff_t>(bytes.size()));
        if (call.collective == Collective::AllReduce && std::string(o.algorithm->name) == "ring") {
          const uint64_t n = parts.members[0].size();
          EXPECT_EQ(bytes[0], 2 * (n - 1) * 48'000);
        }
      }
    }
  }
}

TEST(SimWorkload, LayersBehindACheckpointAreComputedAgain) {
  const topo::Graph graph = topo::parseSynthetic("2 x (1 cpu, 4 gpu nvlink=400 nvswitch, 4 nic)");
  const std::string again = "checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm";
  std::string header = kHeader;
  const size_t from = header.find("checkpoints:");
  const WorkloadTimes plain = timeWorkload(parseWorkload(header + kLayers, "w"), graph, 0, {});
  header.replace(from, header.find("pp_comm") + 7 - from, again);
  const WorkloadTimes t = timeWorkload(parseWorkload(header + kLayers, "w"), graph, 0, {});
  EXPECT_EQ(t.again, 1000u * 1000) << "the first layer, before the second goes backwards";
  EXPECT_EQ(t.compute, plain.compute + t.again);
  EXPECT_EQ(t.layers[0].exposed, 2 * plain.layers[0].exposed) << "and its call";
  EXPECT_EQ(t.total, plain.total + t.again + plain.layers[0].forwardComm);
  EXPECT_EQ(t.calls[0].times, plain.calls[0].times + 1);
}

TEST(SimWorkload, StagesWithLayersOfTheirOwn) {
  const topo::Graph graph = topo::parseSynthetic("1 x (1 cpu, 2 gpu nvlink=400 nvswitch)");
  const std::string header = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 pp: 2 ga: 4";
  const std::string layers =
      "\n3\nembed -1 4000 NONE 0 4000 NONE 0 0 NONE 0 0\n"
      "block -1 4000 NONE 0 2000 NONE 0 2000 NONE 0 0\n"
      "loss -1 4000 NONE 0 4000 NONE 0 0 NONE 0 0\n";
  const Workload w = parseWorkload(header + " pp_layers: 2 1 2" + layers, "w");
  const WorkloadTimes t = timeWorkload(w, graph, 0, {});
  // The first one has a micro-batch of 1 us each way, the second one of 2: that is the slower one,
  // and has the other's first forward before it and its last backward behind.
  EXPECT_EQ(t.total, (1000u + 4 * 4000 + 1000) * 1000);
  EXPECT_EQ(t.compute, 12'000u * 1000) << "in the mean";
  EXPECT_EQ(t.run.bubble, t.total - t.compute);
  expectPart(workloadText(w, t),
             "1               2            8.0            8.0            2.0\n");
  // Where they are equal it is all the same.
  const Workload equal = parseWorkload(header + layers, "w");
  const WorkloadTimes one = timeWorkload(equal, graph, 0, {});
  EXPECT_EQ(one.total, 24'000u * 1000 * 5 / 4);
}

TEST(SimWorkload, StepTimesAddUp) {
  const topo::Graph graph = topo::parseSynthetic("2 x (1 cpu, 4 gpu nvlink=400 nvswitch, 4 nic)");
  const Workload w = parseWorkload(kHeader + kLayers, "w.txt");
  const WorkloadTimes t = timeWorkload(w, graph, 0, {});
  EXPECT_EQ(t.ranks, 8);
  EXPECT_EQ(t.compute, 21'200u * 1000) << "two updates of 100 ns, too";
  EXPECT_EQ(t.calls.size(), 3u);
  EXPECT_GT(t.layers[0].forwardComm, 0u);
  EXPECT_EQ(t.layers[0].exposed, t.layers[0].forwardComm);
  EXPECT_EQ(t.layers[1].exposed, t.layers[1].inputComm);
  // What comes after mlp's weight gradient hides its call in part: attention's 5 us, and its
  // update.
  const Time blocking = t.layers[0].exposed + t.layers[1].exposed;
  const Time beside = t.layers[1].weightComm;
  const Time hidden = 5'100'000;
  ASSERT_GT(beside, hidden);
  EXPECT_EQ(t.total, t.compute + blocking + beside - hidden);
  const std::string text = workloadText(w, t);
  expectPart(text, "allreduce      data-expert       2      4         131072      1");
  expectPart(text, "computing                  21.2 us");
}

TEST(SimWorkload, AnUpdateIsComputedAfterItsCall) {
  const topo::Graph graph = topo::parseSynthetic("1 cpu, 4 gpu nvlink=400 nvswitch");
  const auto step = [&](const char* call) {
    const std::string line = "a -1 1000000 NONE 0 0 NONE 0 2000000 " + std::string(call);
    return timeWorkload(parseWorkload("DATA\n1\n" + line + " 900000000\n", "w"), graph, 4, {});
  };
  const WorkloadTimes none = step("NONE 0"), some = step("ALLREDUCE 1000000");
  constexpr Time kComputing = 903'000'000'000;
  EXPECT_EQ(none.compute, kComputing);
  EXPECT_EQ(none.total, kComputing);
  EXPECT_EQ(some.compute, kComputing);
  EXPECT_GT(some.layers[0].weightComm, 0u);
  EXPECT_EQ(some.total, kComputing + some.layers[0].weightComm);
  EXPECT_EQ(some.exposed(), some.layers[0].weightComm) << "an update is no call";
}

TEST(SimWorkload, PipelineStagesSendToTheirNeighbours) {
  const std::string header =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 2 ga: 4 all_gpus: 8 "
      "pp_comm: ";
  const std::string layers = "1\na -1 8000000 NONE 0 8000000 NONE 0 8000000 NONE 0 0\n";
  const topo::Graph graph = topo::parseSynthetic("8 x (1 cpu, 1 gpu, 1 nic=10)");
  const auto step = [&](const std::string& bytes) {
    return timeWorkload(parseWorkload(header + bytes + "\n" + layers, "w"), graph, 0, {});
  };
  const WorkloadTimes none = step("0"), some = step("1000000"), more = step("10000000");
  EXPECT_EQ(none.stageSends, 0u);
  EXPECT_EQ(some.stageSends, 16u) << "forwards and backwards, 2 virtual stages, 4 micro-batches";
  // 24 ms of work in 8 pieces, of which three stages' are waited for.
  EXPECT_EQ(none.run.bubble, 9'000'000'000u);
  EXPECT_EQ(none.total, none.compute + none.run.bubble);
  EXPECT_GT(some.total, none.total);
  EXPECT_GT(more.total, some.total);
  EXPECT_EQ(some.exposed(), 0u) << "there are no calls";
  // A cable of 10 GB/s takes a millisecond; every rank has one of its own.
  EXPECT_GT(more.pipeline.send, 1'000'000'000u);
  EXPECT_LT(more.pipeline.send, 1'300'000'000u);
  const std::string text = workloadText(parseWorkload(header + "10000000\n" + layers, "w"), more);
  expectPart(text, "16 of 10000000 bytes, ");
  expectPart(text, "27.3 % would be if messages took no time");
  // Five micro-batches do not fill rounds of four: that is more than the closed form's 3 / 13.
  const std::string odd =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 2 ga: 5 ";
  const Workload rest = parseWorkload(odd + "all_gpus: 8\n" + layers, "w");
  const WorkloadTimes waits = timeWorkload(rest, graph, 0, {});
  const double part = 100 * waits.run.waitingPart();
  EXPECT_GT(part, 30);
  expectPart(workloadText(rest, waits), format("%.1f %% would be if messages took no time", part));
  const std::string sent = odd + "all_gpus: 8 pp_comm: 10000000\n" + layers;
  const WorkloadTimes sends = timeWorkload(parseWorkload(sent, "w"), graph, 0, {});
  EXPECT_GT(sends.run.waitingPart(), waits.run.waitingPart());
  EXPECT_EQ(sends.silentWait, waits.silentWait);
  // Two ranks a host share its cable.
  const topo::Graph pairs = topo::parseSynthetic("4 x (1 cpu, 2 gpu, 1 nic=10)");
  const WorkloadTimes shared =
      timeWorkload(parseWorkload(header + "10000000\n" + layers, "w"), pairs, 0, {});
  EXPECT_GT(shared.pipeline.send, 2'000'000'000u);
}

TEST(SimWorkload, ACallIsTheSameWhetherItComesAloneOrInAStep) {
  const topo::Graph graph = topo::parseSynthetic("1 cpu, 4 gpu nvlink=400 nvswitch");
  const Workload w =
      parseWorkload("MICRO\n1\na -1 0 ALLREDUCE 1000000 0 NONE 0 0 NONE 0 0", "w.txt");
  Rehearsal on(graph, 4, {});
  EXPECT_EQ(timeWorkload(w, graph, 4, {}).total,
            on.best({Collective::AllReduce, 1'000'000}).result.picoseconds);
}

TEST(SimWorkload, MachineAndWorkloadMustFit) {
  const topo::Graph graph = topo::parseSynthetic("1 cpu, 4 gpu nvlink=400 nvswitch");
  const Workload w = parseWorkload(kHeader + kLayers, "w.txt");
  expectPart(refusalOf([&] { timeWorkload(w, graph, 0, {}); }), "8 ranks; allowed on this machine");
  expectPart(refusalOf([&] { timeWorkload(w, graph, 4, {}); }), "the workload's all_gpus is 8");
}

/// Whatever is read, nothing but a sentence with file and line comes of it.
TEST(SimWorkload, SurvivesWhatIsDamaged) {
  std::mt19937 random(20261121);
  const std::string sound = kHeader + kLayers;
  const std::string pieces[] = {"\n",
                                " ",
                                "-1",
                                "99999999999999999999",
                                "ALLREDUCE_EP",
                                "NONE",
                                ":",
                                "0",
                                "ep:",
                                "checkpoints: 1000000 1",
                                "\t",
                                "checkpoint_initiates: 2 0 1",
                                "pp_layers: 2 1 1",
                                "_DP_EP"};
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = sound;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        default:
          text.resize(at);
      }
    }
    try {
      const Workload w = parseWorkload(text, "w.txt");
      ++read;
      ASSERT_FALSE(w.layers.empty());
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), rondoInvalidArgument);
      ASSERT_EQ(error.sentence().rfind("w.txt:", 0), 0u) << error.sentence();
    }
  }
  EXPECT_GT(read, 100) << "some damage is none";
}

TEST(SimChoices, SayWhatWouldRun) {
  const topo::Graph device = topo::parseSynthetic("1 cpu, 4 gpu nvlink=400 nvswitch");
  Rehearsal gpus(device, 4, {});
  expectPart(choiceLine(gpus, {Collective::AllReduce, 1024}),
             "allreduce               1024 oneshot    LL              1      4096");
  const topo::Graph host = topo::parseSynthetic("1 cpu cores=4");
  Rehearsal cores(host, 4, {});
  const std::string line = choiceLine(cores, {Collective::AllReduce, 1u << 20});
  expectPart(line, " memory ");
  // The planner's own choice.
  EXPECT_NE(line.find(cores.best({Collective::AllReduce, 1u << 20}).algorithm->name),
            std::string::npos);
}

}  // namespace
