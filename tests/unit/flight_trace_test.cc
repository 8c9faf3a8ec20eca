// The record as a trace for Perfetto, and RONDO_RECORD.

#include "coll/flight_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/world.h"

namespace rondo {
namespace {

using nlohmann::json;
using testing::Env;
using testing::Rank;
using testing::World;

FlightOp op(uint32_t sequence, int64_t enqueued, int64_t started, int64_t ended) {
  FlightOp out;
  out.facts.collective = static_cast<uint8_t>(Collective::AllReduce);
  out.facts.type = rondoFloat32;
  out.facts.count = 10;
  out.facts.sequence = sequence;
  out.enqueued = enqueued;
  out.started = started;
  out.ended = ended;
  return out;
}

TEST(FlightTrace, IsWhatPerfettoReads) {
  FlightProcess process;
  process.pid = 77;
  process.host = "a";
  process.program = "bad \"name\"\\\n\xff";
  FlightComm comm;
  comm.name = "dp";
  comm.rank = 1;
  comm.size = 2;
  comm.waits = "rank 0";
  comm.host = {op(1, 1'000'000, 2'000'500, 2'001'000), op(2, 3'000'000, 3'000'000, -1)};
  comm.device = {op(0, 2'000'000, 2'000'000, 2'000'100)};
  process.comms = {comm};
  const json trace = json::parse(flightTrace({process}, "a \"why\""));
  EXPECT_EQ(trace["otherData"]["why"], "a \"why\"");
  std::map<std::string, int> kinds;
  for (const json& event : trace["traceEvents"]) {
    EXPECT_EQ(event["pid"], 77);
    ++kinds[event["ph"]];
  }
  EXPECT_EQ(kinds["M"], 3) << "the process and two tracks";
  ASSERT_EQ(kinds["X"], 3);
  const json& first = trace["traceEvents"][2];
  EXPECT_EQ(first["name"], "allreduce");
  EXPECT_DOUBLE_EQ(first["ts"], 0.5) << "microseconds since the oldest start";
  EXPECT_DOUBLE_EQ(first["dur"], 0.5);
  EXPECT_EQ(first["args"]["bytes"], 40);
  EXPECT_DOUBLE_EQ(first["args"]["queued_us"], 1000.5);
  const json& second = trace["traceEvents"][3];
  EXPECT_EQ(second["args"]["state"], "has not ended");
  EXPECT_EQ(second["args"]["waits"], "rank 0");
  EXPECT_GT(second["dur"], 0.0);
}

TEST(FlightTrace, NothingRecordedIsATraceToo) {
  EXPECT_TRUE(json::parse(flightTrace({}, ""))["traceEvents"].empty());
}

TEST(FlightTrace, AnErrorLeavesTheRecordOfAllRanks) {
  const std::string name = format("/tmp/rondo-record-test-%d", static_cast<int>(getpid()));
  const Env env("RONDO_RECORD", "/tmp/rondo-record-test-%p");
  World(2).open([](const Rank& me) {
    int in = 1, out = 0;
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, me.comm, nullptr), rondoSuccess);
    int many[2] = {}, sums[2];
    const size_t count = me.rank == 0 ? 1 : 2;
    EXPECT_NE(rondoAllReduce(many, sums, count, rondoInt32, rondoMin, me.comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  std::ifstream file(name);
  ASSERT_TRUE(file.good()) << name;
  const json trace = json::parse(file);
  const std::string why = trace["otherData"]["why"];
  EXPECT_NE(why.find("allreduce with count 2"), std::string::npos) << why;
  std::map<int, int> callsOfRank;
  int unfinished = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" ||
        event["args"]["call"].get<std::string>().find("int32") == std::string::npos) {
      continue;
    }
    ++callsOfRank[event["args"]["rank"]];
    unfinished += event["args"].contains("state");
  }
  EXPECT_GE(callsOfRank[0], 2);
  EXPECT_GE(callsOfRank[1], 2);
  EXPECT_GE(unfinished, 1) << "the call that failed";
  std::remove(name.c_str());
}

}  // namespace
}  // namespace rondo
