// RONDO_TUNE: what rules mean, and what is said about those that mean nothing.

#include <gtest/gtest.h>

#include "base/error.h"
#include "coll/planner.h"

namespace rondo {
namespace {

std::string complaint(const std::string& text) {
  try {
    parseTune(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), rondoInvalidArgument);
    return error.sentence();
  }
}

TEST(Tune, FieldsOfARule) {
  const std::vector<TuneRule> rules = parseTune(
      "allreduce:host:0-64K:oneshot,allreduce:host:1M-:ring/2/32K,broadcast:host:5-6:ring/1");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].collective, Collective::AllReduce);
  EXPECT_EQ(rules[0].from, 0u);
  EXPECT_EQ(rules[0].to, 64u << 10);
  EXPECT_STREQ(rules[0].algorithm->name, "oneshot");
  EXPECT_EQ(rules[0].lanes, 0);
  EXPECT_EQ(rules[0].chunkBytes, 0u);
  EXPECT_EQ(rules[1].from, 1u << 20);
  EXPECT_EQ(rules[1].to, ~uint64_t{0});
  EXPECT_EQ(rules[1].lanes, 2);
  EXPECT_EQ(rules[1].chunkBytes, 32u << 10);
  EXPECT_EQ(rules[2].collective, Collective::Broadcast);
  EXPECT_EQ(rules[2].algorithm->collective, Collective::Broadcast);
}

TEST(Tune, RulesForDevicesNameAProtocol) {
  const auto rules =
      parseTune("allreduce:device:0-64K:oneshot/128/LL128,allreduce:device:64K-:twoshot");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_TRUE(rules[0].device);
  EXPECT_EQ(rules[0].lanes, 128);
  EXPECT_EQ(rules[0].protocol, "LL128");
  EXPECT_TRUE(rules[1].device);
  EXPECT_EQ(rules[1].protocol, "");
  EXPECT_FALSE(parseTune("allreduce:host:0-:ring")[0].device);
}

TEST(Tune, NothingIsNoRule) {
  EXPECT_TRUE(parseTune("").empty());
  EXPECT_TRUE(parseTune(",,").empty());
}

TEST(Tune, ComplaintsQuoteTheRuleAndSayWhy) {
  const struct {
    const char *rule, *why;
  } rows[] = {{"ring", "it has 1 field, not 4"},
              {"allreduce:host:0-1K:ring:", "5 fields, not 4"},
              {"reduces:host:0-1K:ring", "no collective \"reduces\""},
              {"allreduce:disk:0-1K:ring", "memory is \"disk\""},
              {"allreduce:device:0-1K:ring/129", "lanes \"129\""},
              {"allreduce:device:0-1K:oneshot/8/LL64", "protocol \"LL64\""},
              {"allreduce:host:1K:ring", "\"1K\" is not a range"},
              {"allreduce:host:-1K:ring", "\"-1K\" is not a range"},
              {"allreduce:host:0-1X:ring", "\"1X\" is not a number"},
              {"allreduce:host:1K-1K:ring", "\"1K-1K\" is empty"},
              {"allreduce:host:0-1K:bush", "oneshot"},
              {"allreduce:host:0-1K:", "no algorithm \"\""},
              {"allreduce:host:0-1K:ring/65", "lanes \"65\""},
              {"allreduce:host:0-1K:ring/", "lanes \"\""},
              {"allreduce:host:0-1K:ring/-1", "lanes \"-1\""},
              {"allreduce:host:0-1K:ring/1/63", "chunk \"63\""},
              {"allreduce:host:0-1K:ring/1/1K/", "the last field is not"}};
  for (const auto& row : rows) {
    const std::string text = complaint(std::string("allreduce:host:0-:ring,") + row.rule);
    EXPECT_NE(text.find("\"" + std::string(row.rule) + "\""), std::string::npos) << text;
    EXPECT_NE(text.find(row.why), std::string::npos) << row.rule << ": " << text;
    EXPECT_NE(text.find("allowed: COLLECTIVE:"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rondo
