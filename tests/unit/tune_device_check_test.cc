// What rondo-tune --memory device --check times, and what it makes of the times. Needs no GPU.

#include "tune_device_check.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tune_fit.h"

namespace rondo::tune {
namespace {

constexpr uint64_t kMost = 64u << 20;
constexpr size_t kCalls = 7 * 24;  // seven collectives, 8 B to 64 MiB

DeviceFacts gpus(int ranks) {
  DeviceFacts facts;
  facts.ranks = ranks;
  facts.lanes = 128;
  facts.lineStores = true;
  return facts;
}

/// What they take if things cost `costs`.
void timeBy(const DeviceCosts& costs, std::vector<DeviceObservation>* trials) {
  for (DeviceObservation& o : *trials) {
    o.picoseconds = static_cast<double>(predictionOf(o, costs));
    ASSERT_GT(o.picoseconds, 0);
  }
}

Regret regretOfAll(const std::vector<DeviceObservation>& trials) {
  std::vector<double> ratios;
  for (const DeviceWays& ways : waysOf(trials)) ratios.push_back(ways.ratio());
  return regretOf(std::move(ratios));
}

TEST(TuneDeviceCheck, BeginsWithWhatIsChosenAndHasOtherWays) {
  for (const int ranks : {2, 4}) {
    const std::vector<DeviceObservation> trials = deviceCheckTrials(gpus(ranks), kMost);
    std::set<std::string> known;
    std::set<std::pair<Collective, Count>> calls;
    size_t alone = 0, ways = 0;
    uint64_t chosen = 0;
    for (const DeviceObservation& o : trials) {
      ASSERT_EQ(o.rules.size(), 1u);
      const TuneRule& rule = o.rules.front();
      if (calls.insert({o.request.collective, o.request.count}).second) {
        const DeviceChoice choice = chooseDevice(o.request, o.facts, {});
        EXPECT_EQ(rule.algorithm->name, std::string(choice.algorithm));
        EXPECT_EQ(rule.protocol, protocolName(choice.protocol));
        EXPECT_EQ(rule.lanes, choice.geometry.lanes);
        chosen = choice.picoseconds;
        alone += ways == 1 ? 1 : 0;
        ways = 0;
      }
      ++ways;
      EXPECT_EQ(rule.from, o.request.count * o.request.elementBytes);
      const std::string name = std::to_string(static_cast<int>(o.request.collective)) + " " +
                               std::to_string(rule.from) + " " + rule.algorithm->name + "/" +
                               std::to_string(rule.lanes) + "/" + rule.protocol;
      EXPECT_TRUE(known.insert(name).second) << name;
      EXPECT_LE(predictionOf(o, o.facts.costs), kWorthALook * chosen) << name;
    }
    // Long all-to-alls of more than two are sends and receives.
    EXPECT_EQ(calls.size(), kCalls - (ranks > 2 ? 4 : 0));
    EXPECT_LT(alone, calls.size() / 4) << "nearly every call has something to be compared with";
  }
}

TEST(TuneDeviceCheck, NothingIsLostWhereThingsCostWhatIsBelieved) {
  std::vector<DeviceObservation> trials = deviceCheckTrials(gpus(2), kMost);
  // Whatever it is predicted to take, some collectives are not given LL unless a rule says so.
  std::erase_if(trials, [](const DeviceObservation& o) {
    const DeviceChoice choice = chooseDevice(o.request, o.facts, {});
    return choice.protocol != Protocol::kLL && o.rules.front().protocol == "LL";
  });
  timeBy(trials.front().facts.costs, &trials);
  const Regret regret = regretOfAll(trials);
  EXPECT_EQ(regret.calls, kCalls);
  EXPECT_EQ(regret.good, regret.calls);
  EXPECT_EQ(regret.worst, 1);
}

TEST(TuneDeviceCheck, WrongCostsShow) {
  std::vector<DeviceObservation> trials = deviceCheckTrials(gpus(4), kMost);
  DeviceCosts others;
  others.flagLL128 *= 4;
  timeBy(others, &trials);
  const Regret regret = regretOfAll(trials);
  EXPECT_LT(regret.good, regret.calls);
  EXPECT_GT(regret.worst, 1.1);
}

TEST(TuneDeviceCheck, CallsThatWereNotTimedAreLeftOut) {
  std::vector<DeviceObservation> trials = deviceCheckTrials(gpus(2), 8);
  ASSERT_GE(trials.size(), 3u);
  EXPECT_TRUE(waysOf(trials).empty());
  trials[0].picoseconds = 200;
  trials[1].picoseconds = 100;
  ASSERT_EQ(trials[0].request.collective, trials[1].request.collective);
  const std::vector<DeviceWays> calls = waysOf(trials);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].ratio(), 2);
  EXPECT_EQ(calls[0].best, &trials[1]);
}

TEST(TuneDeviceCheck, PrintsRatiosAndMarksThoseThatAreNoGood) {
  std::vector<DeviceObservation> trials = deviceCheckTrials(gpus(2), 8);
  timeBy(trials.front().facts.costs, &trials);
  trials[0].picoseconds = 1.5 * trials[1].picoseconds;
  testing::internal::CaptureStdout();
  printDeviceCheck(trials);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find(" 1.50 *\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Choices of allreduce: within 5 % of the best way at 0 of 1"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace rondo::tune
