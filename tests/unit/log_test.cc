// RONDO_LOG: what is written, how a line looks, and how many there are.

#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/options.h"
#include "support/world.h"

namespace rondo {
namespace {

using testing::Env;
using testing::Rank;
using testing::World;

/// The log goes to a file of its own for the time of a scope.
class LogFile {
 public:
  explicit LogFile(const std::string& levels)
      : name_(format("/tmp/rondo-log-test-%d", static_cast<int>(getpid()))) {
    std::remove(name_.c_str());
    configureLog(levels, name_);
  }
  ~LogFile() {
    configureLog("", "");
    std::remove(name_.c_str());
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::string& name() const { return name_; }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::ifstream file(name_);
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  size_t count(const std::string& text) const {
    size_t found = 0;
    for (const std::string& line : lines()) found += line.find(text) != std::string::npos;
    return found;
  }

 private:
  std::string name_;
};

LogLevel levelOf(const LogLevels& levels, LogPart part) {
  return levels.at[static_cast<int>(part)];
}

TEST(Log, LevelsAreForAllSubsystemsOrForSome) {
  LogLevels levels;
  ASSERT_TRUE(parseLogLevels("info", &levels));
  for (const LogLevel level : levels.at) EXPECT_EQ(level, LogLevel::Info);
  ASSERT_TRUE(parseLogLevels("debug:call,plan", &levels));
  EXPECT_EQ(levelOf(levels, LogPart::Call), LogLevel::Debug);
  EXPECT_EQ(levelOf(levels, LogPart::Plan), LogLevel::Debug);
  EXPECT_EQ(levelOf(levels, LogPart::Boot), LogLevel::Off);
  ASSERT_TRUE(parseLogLevels("", &levels));
  EXPECT_EQ(levels, LogLevels{});
  for (const char* bad : {"loud", "info:", "info:call,", "info:calls", ":call", "INFO", "info "}) {
    EXPECT_FALSE(parseLogLevels(bad, &levels)) << bad;
  }
}

TEST(Log, BadValuesAreErrorsOfTheOptionsTable) {
  {
    const Env env("RONDO_LOG", "loud");
    try {
      readOptions();
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), rondoInvalidArgument);
      EXPECT_EQ(error.sentence().rfind("environment variable RONDO_LOG is \"loud\"; allowed: ", 0),
                0u)
          << error.sentence();
    }
  }
  for (const char* name : {"RONDO_LOG_FILE", "RONDO_RECORD"}) {
    for (const char* bad : {"/tmp/x.%d", "/tmp/x%"}) {
      const Env env(name, bad);
      EXPECT_THROW(readOptions(), Error) << name << "=" << bad;
    }
  }
}

TEST(Log, FileNamesNameHostAndProcess) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string name;
  ASSERT_TRUE(expandFileName("/a/%h.%p.100%%", &name));
  EXPECT_EQ(name, format("/a/%s.%d.100%%", host, static_cast<int>(getpid())));
}

TEST(Log, ALineSaysWhenWhoAndWhere) {
  const LogFile log("warn");
  logLine(LogPart::Watch, LogLevel::Warn, 3, [] { return std::string("two\nlines"); });
  bool asked = false;
  logLine(LogPart::Watch, LogLevel::Info, 3, [&] {
    asked = true;
    return std::string("not written");
  });
  EXPECT_FALSE(asked) << "nothing is formatted that nobody reads";
  const std::vector<std::string> lines = log.lines();
  ASSERT_EQ(lines.size(), 1u);
  int end = 0;
  sscanf(lines[0].c_str(),
         "%*4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*6dZ rondo warn watch rank=3 host=%*s pid=%*d two lines%n",
         &end);
  EXPECT_EQ(static_cast<size_t>(end), lines[0].size()) << lines[0];
}

TEST(Log, AFloodIsCutAndCounted) {
  LogRate rate;
  constexpr uint64_t kSecond = 1'000'000'000;
  uint64_t now = 5 * kSecond, leftOut = 0, admitted = 0;
  for (int i = 0; i < 10'000; ++i, now += 1000) admitted += rate.admit(now, &leftOut);
  EXPECT_EQ(admitted, LogRate::kLinesPerSecond);
  now += kSecond;
  ASSERT_TRUE(rate.admit(now, &leftOut));
  EXPECT_EQ(leftOut, 10'000 - LogRate::kLinesPerSecond);
  ASSERT_TRUE(rate.admit(now, &leftOut));
  EXPECT_EQ(leftOut, 0u);
}

TEST(Log, OneSubsystemsFloodDoesNotSilenceAnother) {
  const LogFile log("debug");
  for (uint64_t i = 0; i < 3 * LogRate::kLinesPerSecond; ++i) {
    logLine(LogPart::Call, LogLevel::Debug, 0, [] { return std::string("flood"); });
  }
  logLine(LogPart::Watch, LogLevel::Error, 0, [] { return std::string("a death"); });
  EXPECT_EQ(log.count("a death"), 1u);
  EXPECT_GE(log.count("flood"), LogRate::kLinesPerSecond);
  EXPECT_LT(log.count("flood"), 3 * LogRate::kLinesPerSecond) << "unless this took seconds";
}

TEST(Log, AFileThatCannotBeOpenedLeavesStderr) {
  ::testing::internal::CaptureStderr();
  configureLog("info", "/nonexistent/rondo.log");
  logLine(LogPart::Boot, LogLevel::Info, -1, [] { return std::string("still here"); });
  configureLog("", "");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot write \"/nonexistent/rondo.log\": No such file"), std::string::npos);
  EXPECT_NE(said.find("rondo info boot rank=- "), std::string::npos) << said;
  EXPECT_NE(said.find("still here"), std::string::npos);
}

TEST(Log, ACommunicatorSaysWhatItIsMadeOfAndItsCallsWhatTheyRun) {
  const LogFile log("");
  const Env levels("RONDO_LOG", "debug"), file("RONDO_LOG_FILE", log.name());
  World(2).tune("allreduce:host:0-:ring").run([](const Rank& me) {
    float in[8] = {}, out[8];
    ASSERT_EQ(rondoAllReduce(in, out, 8, rondoFloat32, rondoSum, me.comm, nullptr), rondoSuccess);
  });
  EXPECT_EQ(log.count(" info boot rank=0 "), 1u);
  EXPECT_EQ(log.count(" info boot rank=1 "), 1u);
  EXPECT_EQ(log.count("2 ranks on 1 host"), 2u);
  EXPECT_EQ(log.count("; made in "), 2u) << "and how long that took";
  EXPECT_EQ(log.count("host memory only:"), 2u) << "a fallback has its reason";
  EXPECT_EQ(log.count("allreduce:host:0-:ring"), 2u) << "where choices come from";
  EXPECT_EQ(log.count("allreduce with count 8, datatype float32, op sum: ring"), 2u)
      << ::testing::PrintToString(log.lines());
}

TEST(Log, AnAbortIsInTheLog) {
  const LogFile log("");
  const Env levels("RONDO_LOG", "warn:watch"), file("RONDO_LOG_FILE", log.name());
  World(2).open([](const Rank& me) {
    if (me.rank == 0) {
      rondoCommAbort(me.comm);
      return;
    }
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  EXPECT_GE(log.count("rank 0 aborted communicator"), 1u);
  EXPECT_EQ(log.count(" info "), 0u);
}

}  // namespace
}  // namespace rondo
