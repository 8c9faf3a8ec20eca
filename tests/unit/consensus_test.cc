// What ranks must agree on, over made-up records: no MPI, no processes.

#include "api/consensus.h"
#include "api/rondo.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

std::vector<RankInfo> ranks(int n) {
  return std::vector<RankInfo>(static_cast<size_t>(n),
                               describeRank(Options{}, {7, "alpha"}, RONDO_DEVICE_NONE));
}

RankInfo withTune(const std::string& tune) {
  Options options;
  options.tune = tune;
  return describeRank(options, {7, "alpha"}, RONDO_DEVICE_NONE);
}

Outcome verdict(const std::vector<RankInfo>& all) {
  return outcomeOf([&] { checkConsensus(all); });
}

TEST(Consensus, EqualRanksAgree) {
  for (int n : {1, 2, 17}) EXPECT_EQ(verdict(ranks(n)).sentence, "");
}

TEST(Consensus, OptionDifferenceNamesOptionValuesAndRanks) {
  auto all = ranks(4);
  all[2] = all[3] = withTune("x");
  EXPECT_EQ(verdict(all).code, rondoInvalidUsage);
  EXPECT_EQ(verdict(all).sentence,
            "ranks differ in RONDO_TUNE: ranks 2-3 have RONDO_TUNE=\"x\", ranks 0-1 have "
            "RONDO_TUNE=\"\"");
  all[1] = withTune("y");
  EXPECT_EQ(verdict(all).sentence,
            "ranks differ in RONDO_TUNE: rank 1 has RONDO_TUNE=\"y\", ranks 2-3 have "
            "RONDO_TUNE=\"x\", rank 0 has RONDO_TUNE=\"\"");
}

TEST(Consensus, WhatTheProgramHasSetHasTheFieldsName) {
  auto all = ranks(3);
  Options options;
  options.tune = "x";
  options.fromConfig.tune = true;
  all[1] = describeRank(options, {7, "alpha"}, RONDO_DEVICE_NONE);
  all[2] = withTune("y");
  EXPECT_EQ(verdict(all).sentence,
            "ranks differ in config.tune (or RONDO_TUNE): rank 1 has config.tune=\"x\", rank 2 has "
            "RONDO_TUNE=\"y\", rank 0 has RONDO_TUNE=\"\"");
  all[0] = all[1];  // where the same value comes from makes no difference
  all[2] = withTune("x");
  EXPECT_EQ(verdict(all).sentence, "");
}

TEST(Consensus, EveryMustAgreeOptionIsChecked) {
  size_t row = 0;
  for (const OptionRow& option : optionTable()) {
    if (!option.mustAgree) continue;
    auto all = ranks(3);
    all[1].options[row++].hash ^= 1;
    const std::string sentence = verdict(all).sentence;
    EXPECT_NE(sentence.find(option.name), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("rank 1 has"), std::string::npos) << sentence;
  }
  EXPECT_GE(row, 2u);
  EXPECT_EQ(ranks(1)[0].optionCount, row);
}

TEST(Consensus, RankLocalOptionsMayDiffer) {
  auto all = ranks(2);
  Options options;
  options.cpu = "plain";
  options.explain = true;
  all[1] = describeRank(options, {8, "beta"}, 3);
  EXPECT_EQ(verdict(all).sentence, "");
}

TEST(Consensus, LongTextsThatDifferAtTheEndOnlyAreSeen) {
  auto all = ranks(2);
  all[0] = withTune(std::string(500, 'a') + "1");
  all[1] = withTune(std::string(500, 'a') + "2");
  const std::string sentence = verdict(all).sentence;
  EXPECT_NE(sentence.find("hash"), std::string::npos) << sentence;
  all[1] = all[0];
  EXPECT_EQ(verdict(all).sentence, "");
}

TEST(Consensus, ManyValuesMakeAShortSentence) {
  std::vector<RankInfo> all;
  for (int i = 0; i < 100; ++i) all.push_back(withTune(std::to_string(i)));
  const std::string sentence = verdict(all).sentence;
  EXPECT_LT(sentence.size(), 400u);
  EXPECT_NE(sentence.find("96 more values"), std::string::npos) << sentence;
}

TEST(Consensus, VersionAndBuildComeFirst) {
  auto all = ranks(3);
  all[2] = withTune("x");
  all[1].version = 20304;
  all[1].buildId ^= 1;
  EXPECT_EQ(
      verdict(all).sentence,
      format("ranks differ in the library's version: rank 1 has version 2.3.4, ranks 0, 2 have "
             "version %d.%d.%d",
             RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH));
  all[1].version = all[0].version;
  EXPECT_NE(verdict(all).sentence.find("the library's build: rank 1 has build"), std::string::npos);
}

TEST(Consensus, NoiseIsRefused) {
  auto all = ranks(2);
  std::memset(static_cast<void*>(&all[1]), 0, sizeof(RankInfo));
  EXPECT_EQ(verdict(all).code, rondoInternalError);
}

std::vector<RankInfo> onHosts(const std::vector<uint64_t>& hosts) {
  std::vector<RankInfo> all;
  for (uint64_t host : hosts) {
    all.push_back(describeRank(Options{}, {host, "h" + std::to_string(host)}, 0));
  }
  return all;
}

TEST(Grouping, LocalRanksFollowRankOrder) {
  const auto all = onHosts({9, 4, 9, 4, 9});
  const HostGrouping last = groupByHost(all, 4);
  EXPECT_EQ(last.hosts, 2);
  EXPECT_EQ(last.hostOf, (std::vector<int>{0, 1, 0, 1, 0}));
  EXPECT_EQ(last.localRanks, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(last.localRank, 2);
  EXPECT_EQ(last.localSize(), 3);
  const HostGrouping second = groupByHost(all, 1);
  EXPECT_EQ(second.localRank, 0);
  EXPECT_EQ(second.localRanks, (std::vector<int>{1, 3}));
}

std::vector<NetworkChoice> networks(const std::vector<std::pair<const char*, const char*>>& all) {
  std::vector<NetworkChoice> out;
  for (const auto& [transports, devices] : all) {
    out.emplace_back();
    std::strcpy(out.back().transports, transports);
    std::strcpy(out.back().devices, devices);
  }
  return out;
}

TEST(Networks, CardsOfOneKindAreOneNetwork) {
  EXPECT_EQ(outcomeOf([] {
              checkNetworks(networks({{"rc,ud", "mlx5_0:1"}, {"rc,ud", "mlx5_13:1"}}));
            }).sentence,
            "");
}

TEST(Networks, OtherKindsAndTransportsAreNamed) {
  const Outcome devices = outcomeOf([] {
    checkNetworks(networks({{"tcp", "eth0"}, {"tcp", "ib0"}, {"tcp", ""}}));
  });
  EXPECT_EQ(devices.code, rondoInvalidUsage);
  EXPECT_EQ(devices.sentence,
            "ranks differ in the network devices that UCX may use: rank 1 has "
            "UCX_NET_DEVICES=\"ib0\", rank 2 has no UCX_NET_DEVICES, rank 0 has "
            "UCX_NET_DEVICES=\"eth0\"");
  const Outcome transports = outcomeOf([] { checkNetworks(networks({{"tcp", ""}, {"rc", ""}})); });
  EXPECT_EQ(transports.sentence,
            "ranks differ in the transports that UCX may use: rank 1 has UCX_TLS=\"rc\", rank 0 "
            "has UCX_TLS=\"tcp\"");
}

TEST(RankList, Runs) {
  EXPECT_EQ(rankList({3}), "rank 3");
  EXPECT_EQ(rankList({2, 3}), "ranks 2-3");
  EXPECT_EQ(rankList({0, 1, 2, 5, 7, 8}), "ranks 0-2, 5, 7-8");
}

}  // namespace
}  // namespace rondo::test
