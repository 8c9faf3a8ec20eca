// Communicators made of virtual ones: who is in them, where, and what their calls take.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "api/rondo_virtual.h"
#include "coll/sim/rehearsal.h"
#include "coll/sim/split_rule.h"
#include "support/topo_refusal.h"
#include "support/world.h"
#include "topo/synthetic.h"

namespace {

using rondo::sim::SplitRule;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;
using PartList = std::vector<std::vector<int>>;

constexpr const char* kCluster = "4 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail";

TEST(SplitRule, SaysWhatEveryRankSays) {
  const std::vector<int> hosts{7, 7, 7, 9, 9, 9, 9, 9};  // three ranks here, five there
  const auto parts = [&](const char* rule) { return SplitRule(rule).partsOf(hosts); };
  EXPECT_EQ(parts("rank/4"), (PartList{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(parts(" rank % 2 , 0 - rank"), (PartList{{6, 4, 2, 0}, {7, 5, 3, 1}}));
  EXPECT_EQ(parts("host"), (PartList{{0, 1, 2}, {3, 4, 5, 6, 7}}));
  EXPECT_EQ(parts("local"), (PartList{{0, 3}, {1, 4}, {2, 5}, {6}, {7}}));
  EXPECT_EQ(parts("(rank < 3) - 1"), (PartList{{0, 1, 2}}));
  EXPECT_EQ(parts("(rank > size - 3) - (rank == 1)"), (PartList{{0, 2, 3, 4, 5}, {6, 7}}));
  EXPECT_EQ(parts("rank / (size / 2) * 10"), (PartList{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(parts("0 - 1"), PartList{});
  EXPECT_EQ(rondo::sim::splitRules("rank/4;host,1").size(), 2u);
  EXPECT_TRUE(rondo::sim::splitRules(" ").empty());
}

TEST(SplitRule, WhatCannotBeReadIsSaid) {
  const auto refused = [](const std::string& rule) {
    return refusalOf([&] { SplitRule(rule).partsOf({0, 0, 0}); });
  };
  expectPart(refused(""), "the rule \"\": found \"\"; expected: a number, rank, size, host, local");
  expectPart(refused("rank/"), "expected: a number, rank");
  expectPart(refused("rank 8"), "found \"8\"; expected: +, -, *");
  expectPart(refused("rnk"), "found \"rnk\"; expected: a number");
  expectPart(refused("(rank"), "expected: )");
  expectPart(refused("rank,1,2"), "found \",2\"");
  expectPart(refused("8/rank"), "has no value for rank 0 of 3: it divides by less than 1");
  expectPart(refused("rank % (rank - 1)"), "it divides by less than 1");
  expectPart(refused("2147483648*2147483648*2147483648"), "a number is too large");
  expectPart(refused("99999999999999999999999"), "expected: a number to 2147483648");
  expectPart(refused(std::string(200, '(')), "fewer brackets");
  expectPart(refused(std::string(5000, '1')), "a rule of 5000 letters; allowed: 4096");
  expectPart(refused("rank\x1b[2J"), "\\x1b");
  EXPECT_EQ(SplitRule("rank % (size / 8)").text(), "rank % (size / 8)") << "no value for size 1";
}

class VirtualChildren : public ::testing::Test {
 protected:
  void make(int rank, const char* splits, const char* output = nullptr, int ranks = 0) {
    rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
    config.name = "world";
    config.splits = splits;
    config.output = output;
    ASSERT_EQ(rondoCommInitVirtual(&world_, kCluster, ranks, rank, &config), rondoSuccess)
        << rondoGetLastError(nullptr);
  }
  void TearDown() override {
    if (world_ == nullptr) return;
    EXPECT_EQ(rondoCommDestroy(world_), rondoSuccess);
  }
  rondoComm_t split(rondoComm_t of, int color = 0, const rondoConfig_t* config = nullptr) {
    rondoComm_t out = nullptr;
    EXPECT_EQ(rondoCommSplit(of, color, 0, &out, config), rondoSuccess) << rondoGetLastError(of);
    return out;
  }
  static rondoPrediction_t predictionOf(rondoComm_t comm) {
    rondoPrediction_t out{};
    out.size = sizeof out;
    EXPECT_EQ(rondoCommGetPrediction(comm, &out), rondoSuccess) << rondoGetLastError(comm);
    return out;
  }
  static uint64_t reduceTime(rondoComm_t comm) {
    char* const nowhere = reinterpret_cast<char*>(uintptr_t{1} << 40);
    EXPECT_EQ(rondoAllReduce(nowhere, nowhere, kBytes / 4, rondoFloat32, rondoSum, comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(comm);
    return predictionOf(comm).lastPicoseconds;
  }
  static void expectPlace(rondoComm_t comm, int rank, int ranks, int local, int locals) {
    int found[4] = {};
    rondoCommUserRank(comm, &found[0]);
    rondoCommCount(comm, &found[1]);
    rondoCommLocalRank(comm, &found[2]);
    rondoCommLocalSize(comm, &found[3]);
    EXPECT_EQ((std::vector<int>(found, found + 4)), (std::vector<int>{rank, ranks, local, locals}));
  }

  static constexpr uint64_t kBytes = 1 << 20;
  rondoComm_t world_ = nullptr;
};

/// What the simulator says of parts of the cluster that make the call at the same time.
uint64_t simulated(PartList parts, uint64_t bytes) {
  static const rondo::topo::Graph graph = rondo::topo::parseSynthetic(kCluster);
  rondo::sim::Settings settings;
  settings.mostSteps = 2e6;
  rondo::sim::Rehearsal on(graph, 32, settings, rondo::sim::Parts(std::move(parts)));
  return on.best({rondo::Collective::AllReduce, bytes, 0}).result.picoseconds;
}

TEST_F(VirtualChildren, PartsKeepTheirRanksPlaces) {
  make(11, "rank / 8; rank % 8");
  rondoComm_t host = split(world_, 1), rail = split(world_, 3);
  expectPlace(host, 3, 8, 3, 8);
  expectPlace(rail, 1, 4, 0, 1);
  PartList hosts(4), rails(8);
  for (int r = 0; r < 32; ++r) {
    hosts[static_cast<size_t>(r) / 8].push_back(r);
    rails[static_cast<size_t>(r) % 8].push_back(r);
  }
  const uint64_t near = reduceTime(host), far = reduceTime(rail), all = reduceTime(world_);
  EXPECT_EQ(near, simulated(hosts, kBytes));
  EXPECT_EQ(far, simulated(rails, kBytes));
  EXPECT_LT(near, far) << "NVLink and a network";
  EXPECT_LT(near, all);
  // The parent's sum is its own, and the clock is one.
  EXPECT_EQ(predictionOf(world_).calls, 1u);
  EXPECT_EQ(predictionOf(world_).picoseconds, all);
  EXPECT_EQ(rondoCommDestroy(host), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(rail), rondoSuccess);
}

TEST_F(VirtualChildren, OnAHostTheyAreWhatOneHostIs) {
  // Kernels would come closer in a job's only communicator.
  const rondo::testing::Env eager("RONDO_DEPENDENT_LAUNCH", "eager");
  make(11, "host");
  rondoComm_t host = split(world_, 1), alone = nullptr;
  ASSERT_EQ(
      rondoCommInitVirtual(&alone, "2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50", 8, 3, nullptr),
      rondoSuccess);
  EXPECT_EQ(reduceTime(host), reduceTime(alone));
  EXPECT_STREQ(predictionOf(host).lastAlgorithm, predictionOf(alone).lastAlgorithm);
  EXPECT_EQ(rondoCommDestroy(host), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(alone), rondoSuccess);
}

TEST_F(VirtualChildren, PartsOfPartsAndOfOtherSizes) {
  make(30, "rank / 12; rank % 4, 0 - rank");
  rondoComm_t last = split(world_, 2);  // ranks 24 to 31; the other two parts have twelve
  expectPlace(last, 6, 8, 6, 8);
  rondoComm_t pair = split(last, 2);  // 30 and 26
  expectPlace(pair, 0, 2, 0, 2);
  rondoComm_t third = split(pair, 0);
  expectPlace(third, 0, 1, 0, 1);
  EXPECT_EQ(reduceTime(third), 0u);
  EXPECT_GT(reduceTime(pair), 0u);
  EXPECT_STREQ(predictionOf(pair).comm, "world.split0.split1");
  for (rondoComm_t each : {last, pair, third}) EXPECT_EQ(rondoCommDestroy(each), rondoSuccess);
}

TEST_F(VirtualChildren, ShrinkLeavesTheOthersWhereTheyAre) {
  make(9, nullptr);
  std::vector<int> out(8);
  std::iota(out.begin(), out.end(), 0);  // the first host
  rondoComm_t rest = nullptr;
  ASSERT_EQ(rondoCommShrink(world_, out.data(), 8, &rest, nullptr, RONDO_SHRINK_DEFAULT),
            rondoSuccess)
      << rondoGetLastError(world_);
  expectPlace(rest, 1, 24, 1, 8);
  EXPECT_STREQ(predictionOf(rest).comm, "world.shrink0");
  EXPECT_GT(reduceTime(rest), 0u);
  const int self = 9;
  rondoComm_t none = nullptr;
  EXPECT_EQ(rondoCommShrink(world_, &self, 1, &none, nullptr, 0), rondoInvalidArgument);
  expectPart(rondoGetLastError(world_), "excludeRanks[0] is 9");
  EXPECT_EQ(rondoCommShrink(world_, nullptr, 0, &none, nullptr, 7), rondoInvalidArgument);
  // The parent ends, and can be shrunk still.
  ASSERT_EQ(rondoCommShrink(world_, nullptr, 0, &none, nullptr, RONDO_SHRINK_ABORT), rondoSuccess);
  EXPECT_NE(rondoBarrier(world_, nullptr), rondoSuccess);
  EXPECT_EQ(rondoBarrier(none, nullptr), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(none), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
}

TEST_F(VirtualChildren, NewRanksSitWhereNobodyHasBeen) {
  make(3, nullptr, nullptr, 16);  // two hosts of four
  rondoUniqueId id;
  ASSERT_EQ(rondoCommGetUniqueId(world_, &id), rondoSuccess) << rondoGetLastError(world_);
  rondoComm_t grown = nullptr, again = nullptr, full = nullptr;
  ASSERT_EQ(rondoCommGrow(world_, 24, &id, -1, &grown, nullptr), rondoSuccess)
      << rondoGetLastError(world_);
  expectPlace(grown, 3, 24, 3, 8);
  EXPECT_STREQ(predictionOf(grown).comm, "world.grow0");
  // As a communicator that had as many from the beginning.
  rondoComm_t whole = nullptr, all = nullptr;
  ASSERT_EQ(rondoCommInitVirtual(&whole, kCluster, 24, 3, nullptr), rondoSuccess);
  EXPECT_EQ(reduceTime(grown), reduceTime(whole));
  EXPECT_GT(reduceTime(grown), reduceTime(world_));
  // A host fails, and the spare one takes its place; when no place is free, those of the failed.
  std::vector<int> out(8);
  std::iota(out.begin(), out.end(), 8);
  rondoComm_t rest = nullptr;
  ASSERT_EQ(rondoCommShrink(grown, out.data(), 8, &rest, nullptr, 0), rondoSuccess);
  ASSERT_EQ(rondoCommGrow(rest, 24, nullptr, -1, &again, nullptr), rondoSuccess)
      << rondoGetLastError(rest);
  EXPECT_EQ(reduceTime(again), reduceTime(whole)) << "hosts 0, 2 and 3 instead of 0, 1 and 2";
  ASSERT_EQ(rondoCommGrow(again, 32, nullptr, -1, &full, nullptr), rondoSuccess);
  expectPlace(full, 3, 32, 3, 8);
  ASSERT_EQ(rondoCommInitVirtual(&all, kCluster, 0, 3, nullptr), rondoSuccess);
  EXPECT_EQ(reduceTime(full), reduceTime(all));
  rondoComm_t none = nullptr;
  EXPECT_EQ(rondoCommGrow(full, 33, nullptr, -1, &none, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(full), "1 new ranks; allowed: up to 0, for the machine has places");
  for (rondoComm_t each : {grown, whole, all, rest, again, full}) {
    EXPECT_EQ(rondoCommDestroy(each), rondoSuccess);
  }
}

TEST_F(VirtualChildren, GrowingIsRefusedAsInEarnest) {
  make(3, nullptr, nullptr, 16);
  rondoUniqueId id, other;
  ASSERT_EQ(rondoCommGetUniqueId(world_, &id), rondoSuccess);
  rondoComm_t none = nullptr;
  EXPECT_EQ(rondoCommGrow(world_, 16, &id, -1, &none, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(world_), "argument nranks is 16; allowed: from 17");
  EXPECT_EQ(rondoCommGrow(world_, 17, &id, 3, &none, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(world_), "argument rank is 3; allowed: -1");
  EXPECT_EQ(rondoCommGrow(world_, 17, &id, -1, nullptr, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommGetUniqueId(world_, nullptr), rondoInvalidArgument);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  EXPECT_EQ(rondoCommGrow(world_, 17, &id, -1, &none, &config), rondoUnsupported);
  // Nobody answers for the id in another process.
  EXPECT_EQ(rondoCommGrow(nullptr, 17, &id, 16, &none, nullptr), rondoInvalidUsage);
  expectPart(rondoGetLastError(nullptr), "id is of a virtual communicator");
  ASSERT_EQ(rondoGetUniqueId(&other), rondoSuccess);
  EXPECT_EQ(rondoCommGrow(world_, 17, &other, -1, &none, nullptr), rondoInvalidUsage);
  expectPart(rondoGetLastError(world_), "id is one of rondoGetUniqueId");
  EXPECT_EQ(none, nullptr);
}

TEST_F(VirtualChildren, ConfigurationsNameThem) {
  make(0, "rank / 8; rank % 8; rank / 16");
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "tensor parallel";
  rondoComm_t named = split(world_, 0, &config);
  EXPECT_STREQ(predictionOf(named).comm, "tensor parallel");
  config.name = nullptr;
  rondoComm_t unnamed = split(world_, 0, &config);
  EXPECT_STREQ(predictionOf(unnamed).comm, "world.split0");
  // A copy without a configuration is another handle, one with it is counted apart.
  rondoComm_t twin = nullptr, apart = nullptr;
  ASSERT_EQ(rondoCommDup(named, &twin, nullptr), rondoSuccess);
  config.name = "copy";
  ASSERT_EQ(rondoCommDup(named, &apart, &config), rondoSuccess);
  reduceTime(twin);
  EXPECT_EQ(predictionOf(named).calls, 1u);
  EXPECT_EQ(predictionOf(apart).calls, 0u);
  EXPECT_EQ(reduceTime(apart), reduceTime(named));
  config.blocking = 0;
  rondoComm_t none = nullptr;
  EXPECT_EQ(rondoCommSplit(world_, 0, 0, &none, &config), rondoUnsupported);
  expectPart(rondoGetLastError(world_), "rondoCommSplit: config.blocking is 0; allowed here: 1");
  for (rondoComm_t each : {named, unnamed, twin, apart}) {
    EXPECT_EQ(rondoCommDestroy(each), rondoSuccess);
  }
}

TEST_F(VirtualChildren, WhatIsWrittenNamesThem) {
  char folder[] = "/tmp/rondo-children-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string output = std::string(folder) + "/run";
  make(9, "rank / 8", output.c_str());
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "a, \"b\"";
  rondoComm_t part = split(world_, 1, &config);
  char* const nowhere = reinterpret_cast<char*>(uintptr_t{1} << 40);
  EXPECT_EQ(rondoAllReduce(nowhere, nowhere, 512, rondoInt8, rondoSum, part, nullptr),
            rondoSuccess);
  EXPECT_EQ(rondoSend(nowhere, 5000, rondoInt8, 3, part, nullptr), rondoSuccess);
  EXPECT_EQ(rondoBarrier(world_, nullptr), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(world_), rondoSuccess);
  world_ = nullptr;
  EXPECT_FALSE(std::filesystem::exists(output + ".calls.csv")) << "the part goes on";
  EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);

  const auto read = [&](const char* name) {
    std::ostringstream text;
    text << std::ifstream(output + name).rdbuf();
    return text.str();
  };
  const std::string calls = read(".calls.csv");
  expectPart(calls, ",\"a, \"\"b\"\"\"\n1,rondoSend,5000,p2p,");
  expectPart(calls, ",world\n");
  const auto trace = nlohmann::json::parse(read(".trace.json"))["traceEvents"];
  EXPECT_EQ(trace[0]["args"]["comm"], "a, \"b\"");
  EXPECT_EQ(trace[2]["args"]["comm"], "world");
  EXPECT_NE(trace[0]["tid"], trace[2]["tid"]);
  std::set<std::string> rows;
  for (const auto& event : trace) {
    if (event["name"] == "thread_name") rows.insert(event["args"]["name"]);
  }
  EXPECT_EQ(rows, (std::set<std::string>{"a, \"b\", rank 1 of 8", "world, rank 9 of 32"}));
  // Ranks are the machine's: the part's rank 3 is rank 11.
  std::istringstream flows(read(".flows.csv"));
  std::string line;
  std::getline(flows, line);
  EXPECT_EQ(line.substr(line.rfind(',')), ",comm");
  int sends = 0;
  std::set<std::string> sources;
  while (std::getline(flows, line)) {
    if (line.ends_with(",world")) continue;
    EXPECT_TRUE(line.ends_with(",\"a, \"\"b\"\"\"")) << line;
    sends += line.find(",9,11,5000,") != std::string::npos;
    const size_t at = line.find(',') + 1;
    sources.insert(line.substr(at, line.find(',', at) - at));
  }
  EXPECT_EQ(sends, 1);
  EXPECT_EQ(sources.size(), 32u) << "the other parts call when this one does";
  std::filesystem::remove_all(folder);
}

// One rank's color cannot tell whether the rule is the program's; a second rank's can.
TEST_F(VirtualChildren, RulesThatPartOtherwiseAreFoundOut) {
  char folder[] = "/tmp/rondo-notes-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string output = std::string(folder) + "/run";
  const char* rule = "rank / 8, 0 - rank";
  // As rank `rank`, a split by what the program says: the sentence of its refusal, or nothing.
  const auto said = [&](int rank, int color, int key) {
    make(rank, rule, output.c_str());
    rondoComm_t part = nullptr;
    const rondoResult_t result = rondoCommSplit(world_, color, key, &part, nullptr);
    const std::string sentence = result == rondoSuccess ? "" : rondoGetLastError(world_);
    EXPECT_TRUE(result == rondoSuccess || result == rondoInvalidArgument);
    EXPECT_EQ(part == nullptr, result != rondoSuccess);
    if (part != nullptr) {
      EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
    }
    EXPECT_EQ(rondoCommDestroy(world_), rondoSuccess);
    world_ = nullptr;
    return sentence;
  };
  EXPECT_EQ(said(9, 71, -9), "");
  EXPECT_EQ(said(12, 71, -12), "") << "which number a color has does not matter";
  EXPECT_EQ(said(3, 5, -3), "");
  expectPart(said(1, 71, -1),
             "argument color is 71, and rank 9's rehearsal gave 71: one part for "
             "the program, and two for the rule \"rank / 8, 0 - rank\"; allowed");
  expectPart(said(15, 70, -15),
             "rank 9's rehearsal gave 71: not one part for the program, and one");
  expectPart(said(10, 71, 10), "argument key is 10, and rank 9's rehearsal gave -9: by the rule's");
  EXPECT_EQ(said(10, 71, -10), "") << "what was refused is not noted";
  // The program changes, and says it again from the first rank on: a later run of a rank counts.
  EXPECT_EQ(said(9, 71, -9), "");
  // Another rule for the same split begins anew; what is no note is passed over.
  rule = "rank % 2";
  std::ofstream(output + ".splits.csv", std::ios::app) << "nonsense\n1,2\n";
  EXPECT_EQ(said(1, 71, 0), "");
  EXPECT_EQ(said(9, 71, 0), "");
  expectPart(said(2, 71, 0), "argument color is 71, and rank 1's rehearsal gave 71");
  // Where nothing can be noted, that is said.
  std::filesystem::remove(output + ".splits.csv");
  std::filesystem::create_directory(output + ".splits.csv");
  make(4, rule, output.c_str());
  rondoComm_t part = nullptr;
  EXPECT_EQ(rondoCommSplit(world_, 0, 0, &part, nullptr), rondoSystemError);
  expectPart(rondoGetLastError(world_), ".splits.csv: Is a directory; what ranks say in splits");
  EXPECT_EQ(rondoCommDestroy(world_), rondoSuccess);
  world_ = nullptr;
  std::filesystem::remove_all(folder);
}

TEST_F(VirtualChildren, WhatDoesNotFitIsRefused) {
  make(5, "(rank < 8) - 1; (rank > 7) - 1");
  rondoComm_t part = nullptr;
  EXPECT_EQ(rondoCommSplit(world_, RONDO_SPLIT_NOCOLOR, 0, &part, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(world_),
             "argument color is -1, and the rule \"(rank < 8) - 1\" puts rank 5 into a part");
  EXPECT_EQ(rondoCommSplit(world_, 0, 0, &part, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(world_), "puts rank 5 into none");
  EXPECT_EQ(rondoCommSplit(world_, -2, 0, &part, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommSplit(world_, 0, 0, nullptr, nullptr), rondoInvalidArgument);
  part = world_;
  EXPECT_EQ(rondoCommSplit(world_, RONDO_SPLIT_NOCOLOR, 0, &part, nullptr), rondoSuccess);
  EXPECT_EQ(part, nullptr);
  EXPECT_EQ(rondoCommSplitVirtual(world_, "rank >", &part, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommSplitVirtual(world_, nullptr, &part, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoCommSplitVirtual(nullptr, "rank", &part, nullptr), rondoInvalidArgument);
  ASSERT_EQ(rondoCommSplitVirtual(world_, "(rank == 6) - 1", &part, nullptr), rondoSuccess);
  EXPECT_EQ(part, nullptr);
  rondoGroupStart();
  EXPECT_EQ(rondoCommSplitVirtual(world_, "rank", &part, nullptr), rondoInvalidUsage);
  rondoGroupEnd();
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.splits = "rank; ;";
  EXPECT_EQ(rondoCommInitVirtual(&part, kCluster, 0, 0, &config), rondoInvalidArgument);
  expectPart(rondoGetLastError(nullptr), "rondoCommInitVirtual: the rule \" \": found");
  // What the first header had is enough.
  config.splits = nullptr;
  config.size = offsetof(rondoVirtualConfig_t, splits);
  config.version = 1;
  EXPECT_EQ(rondoCommInitVirtual(&part, kCluster, 0, 0, &config), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
  config.size -= 1;
  EXPECT_EQ(rondoCommInitVirtual(&part, kCluster, 0, 0, &config), rondoInvalidArgument);
}

}  // namespace
