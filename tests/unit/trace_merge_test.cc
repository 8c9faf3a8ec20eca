// Records of several hosts on one time line.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "status/clocks.h"
#include "status/merge.h"

namespace rondo::status {
namespace {

using nlohmann::json;

/// What one host would write. Its clock shows `ahead` ns more than the true time that calls are
/// given in.
class Host {
 public:
  Host(const std::string& name, int64_t ahead, int64_t wallAhead = 0)
      : name_(name), ahead_(ahead), wallAhead_(wallAhead) {}

  /// ended -1: it has not.
  void call(int rank, const std::string& collective, int sequence, int64_t begun, int64_t ended,
            int root = -1) {
    json args{{"communicator", "c0"},
              {"rank", rank},
              {"sequence", sequence},
              {"bytes", 8},
              {"call", collective}};
    if (root >= 0) args["root"] = root;
    if (ended < 0) args["state"] = "has not ended";
    const int64_t length = (ended < 0 ? kWritten : ended) - begun;
    events_.push_back({{"ph", "X"},
                       {"name", collective},
                       {"cat", "call"},
                       {"pid", 77},
                       {"tid", 1 + rank},
                       {"ts", static_cast<double>(begun - kOrigin) / 1000},
                       {"dur", static_cast<double>(length) / 1000},
                       {"args", args}});
  }
  RecordFile file(int64_t written = kWritten) const {
    json all{{"otherData",
              {{"why", "because"},
               {"host", name_},
               {"clock", "clock of " + name_},
               {"origin_realtime_ns", kOrigin + wallAhead_},
               {"origin_monotonic_ns", kOrigin + ahead_},
               {"written_monotonic_ns", written + ahead_}}},
             {"traceEvents", events_}};
    all["traceEvents"].push_back({{"ph", "M"},
                                  {"name", "process_name"},
                                  {"pid", 77},
                                  {"tid", 0},
                                  {"args", {{"name", "train on " + name_}}}});
    return {name_ + ".json", all.dump()};
  }

  static constexpr int64_t kOrigin = 1'000'000, kWritten = 90'000'000;

 private:
  std::string name_;
  int64_t ahead_, wallAhead_;
  json events_ = json::array();
};

/// Calls of a merged trace by name and rank: where they begin, in ns.
std::map<std::pair<std::string, int>, int64_t> begins(const Merged& merged) {
  std::map<std::pair<std::string, int>, int64_t> out;
  const json trace = json::parse(merged.trace);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string name = event.at("name").get<std::string>() + " " +
                             std::to_string(event.at("args").at("sequence").get<int>());
    out[{name, event.at("args").at("rank")}] = std::llround(event.at("ts").get<double>() * 1000);
  }
  return out;
}

TEST(TraceMerge, ClocksThatAreDaysApartAreBroughtTogetherByCollectives) {
  constexpr int64_t kDay = 86'400'000'000'000;
  Host a("a", 5'000), b("b", 3 * kDay);
  // Rank 1 begins late: rank 0 waits for it. Then the other way round.
  a.call(0, "allreduce", 1, 2'000'000, 2'910'000);
  b.call(1, "allreduce", 1, 2'900'000, 2'915'000);
  a.call(0, "allreduce", 2, 4'000'000, 4'020'000);
  b.call(1, "allreduce", 2, 3'000'000, 4'010'000);
  const Merged merged = mergeRecords({a.file(), b.file()});
  // a's and b's starts bound it from both sides: 10 us each, give or take.
  const json other = json::parse(merged.trace).at("otherData");
  EXPECT_NEAR(other["clocks"][1]["ahead_ns"].get<double>(), 3.0 * kDay - 5'000, 10'000);
  EXPECT_LE(other["clocks"][1]["uncertainty_ns"], 10'000);
  EXPECT_EQ(other["clocks"][1]["by"], "collectives");
  auto at = begins(merged);
  EXPECT_NEAR(static_cast<double>(at[{"allreduce 1", 0}]), 1'000'000, 10'000);
  EXPECT_NEAR(static_cast<double>(at[{"allreduce 1", 1}] - at[{"allreduce 1", 0}]), 900'000,
              10'000);
  EXPECT_NE(merged.summary.find("host \"b\": its clock is 259199.99999"), std::string::npos)
      << merged.summary;
}

TEST(TraceMerge, ProcessesOfTwoHostsWithOneNumberStayTwo) {
  Host a("a", 0), b("b", 0);
  a.call(0, "barrier", 1, 2'000'000, 2'010'000);
  b.call(1, "barrier", 1, 2'000'000, 2'010'000);
  std::map<int64_t, std::string> names;
  const json trace = json::parse(mergeRecords({a.file(), b.file()}).trace);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") names[event.at("pid")] = event.at("args").at("name");
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[77], "train on a (pid 77)");
  EXPECT_EQ(names.rbegin()->second, "train on b (pid 77)");
}

TEST(TraceMerge, OfTwoFilesOfAHostTheNewerCounts) {
  Host old("a", 0), a("a", 0);
  old.call(0, "allreduce", 1, 2'000'000, -1);
  a.call(0, "allreduce", 1, 2'000'000, 2'010'000);
  for (const bool first : {false, true}) {
    const RecordFile one = a.file(), two = old.file(80'000'000);
    const Merged merged = first ? mergeRecords({one, two}) : mergeRecords({two, one});
    int calls = 0;
    const json trace = json::parse(merged.trace);
    for (const json& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      ++calls;
      EXPECT_FALSE(event.at("args").contains("state"));
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(std::count(merged.summary.begin(), merged.summary.end(), '\n'), 1);
  }
}

TEST(TraceMerge, ACallThatHasNotEndedBoundsOneSideOnly) {
  Host a("a", 0), b("b", 500'000'000, 1'000);
  a.call(0, "allreduce", 1, 2'000'000, -1);
  b.call(1, "allreduce", 1, 2'100'000, -1);
  const Merged merged = mergeRecords({a.file(), b.file()});
  EXPECT_NE(merged.summary.find("by their wall clocks"), std::string::npos) << merged.summary;
  const json other = json::parse(merged.trace).at("otherData");
  EXPECT_EQ(other["clocks"][1]["ahead_ns"], 500'000'000 - 1'000);
}

TEST(TraceMerge, RootedCallsBoundWhatTheyOrder) {
  // A broadcast says that its root comes first, a reduce that it ends last; no more.
  Host a("a", 0), b("b", 7'000'000);
  a.call(0, "broadcast", 1, 2'000'000, 2'001'000, 0);
  b.call(1, "broadcast", 1, 9'000'000, 9'030'000, 0);  // long after
  a.call(0, "reduce", 2, 9'900'000, 9'950'000, 0);
  b.call(1, "reduce", 2, 9'900'000, 9'901'000, 0);
  const json clock =
      json::parse(mergeRecords({a.file(), b.file()}).trace).at("otherData").at("clocks")[1];
  // From the broadcast at most 7,030,000 more; from the reduce at most 50,000 less.
  EXPECT_EQ(clock["by"], "collectives");
  EXPECT_EQ(clock["ahead_ns"], 7'000'000 + (7'030'000 - 50'000) / 2);
  EXPECT_EQ(clock["uncertainty_ns"], (7'030'000 + 50'000) / 2);
}

TEST(TraceMerge, WhatIsNoRecordIsNamed) {
  for (const char* const text :
       {"", "{}", "[1]", "{\"otherData\":{},\"traceEvents\":[]}", "{\"otherData\":{\"host\":3}}"}) {
    try {
      mergeRecords({{"bad.json", text}});
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("\"bad.json\" is no record of Rondo"),
                std::string::npos)
          << error.what();
    }
  }
  Host a("a", 0);
  a.call(0, "allreduce", 1, 2'000'000, 2'010'000);
  RecordFile odd = a.file();
  odd.text.replace(odd.text.find("\"sequence\""), 10, "\"sequents\"");
  EXPECT_THROW(mergeRecords({odd}), Error);
  EXPECT_THROW(mergeRecords({}), Error);
}

TEST(ClockOffsets, TruthLiesWithinTheUncertainty) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    const size_t clocks = 2 + random() % 4;
    std::vector<int64_t> truth(clocks);
    for (size_t c = 1; c < clocks; ++c)
      truth[c] = static_cast<int64_t>(random() % 2'000'000) - 1'000'000;
    std::vector<Evidence> evidence;
    for (int i = 0; i < 100; ++i) {  // from each clock to the next only, and back
      const size_t from = random() % (clocks - 1);
      const auto time = static_cast<int64_t>(random() % 1'000'000'000);
      const auto later = static_cast<int64_t>(1'000 + random() % 50'000);
      const bool forth = random() % 2 == 0;
      const size_t a = forth ? from : from + 1, b = forth ? from + 1 : from;
      evidence.push_back({a, b, time + truth[a], time + later + truth[b]});
    }
    const std::vector<ClockOffset> offsets = offsetsOf(clocks, evidence);
    for (size_t c = 0; c < clocks; ++c) {
      if (!offsets[c].known) continue;
      EXPECT_LE(std::abs(offsets[c].ahead - truth[c]), offsets[c].uncertainty) << c;
      EXPECT_LE(offsets[c].uncertainty, 50'000 * static_cast<int64_t>(clocks));
    }
    for (const Evidence& each : evidence) {  // nothing comes before its cause
      if (!offsets[each.from].known || !offsets[each.to].known) continue;
      EXPECT_LE(each.before - offsets[each.from].ahead, each.after - offsets[each.to].ahead + 1);
    }
  }
}

TEST(ClockOffsets, OfAClockThatDriftsTheNewestCounts) {
  std::vector<Evidence> evidence;
  for (int64_t i = 0; i < 1000; ++i) {  // 10 us a second, over 1000 s; calls of 1 us
    const int64_t time = i * 1'000'000'000, ahead = i * 10'000;
    evidence.push_back({0, 1, time, time + 1'000 + ahead});
    evidence.push_back({1, 0, time + ahead, time + 1'000});
  }
  const std::vector<ClockOffset> offsets = offsetsOf(2, evidence);
  ASSERT_TRUE(offsets[1].known);
  EXPECT_NEAR(static_cast<double>(offsets[1].ahead), 9'990'000.0, 20'000.0);
}

}  // namespace
}  // namespace rondo::status
