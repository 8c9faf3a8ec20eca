// RONDO_DUMP_SIGNAL: real processes that get a signal say what they are at, and go on.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/options.h"
#include "base/signal_name.h"
#include "chaos/job.h"
#include "support/world.h"

namespace rondo::chaos {
namespace {

using testing::Env;

void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

void expectIn(const std::string& text, const std::string& wanted) {
  EXPECT_NE(text.find(wanted), std::string::npos) << "wanted: " << wanted << "\nsaid:\n" << text;
}

std::string readFile(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Until the file has `wanted`, which every signal may bring.
bool signalUntil(Shared& shared, int rank, const std::string& name, const std::string& wanted) {
  return holdsSoon(shared, 20000, [&] {
    kill(shared.pids[rank], SIGUSR2);
    usleep(20000);
    return readFile(name).find(wanted) != std::string::npos;
  });
}

void sum(const Me& me, rondoComm_t comm) {
  const int one = 1;
  int all = 0;
  me.ok(rondoAllReduce(&one, &all, 1, rondoInt32, rondoSum, comm, nullptr), comm, "a sum");
  me.check(all == me.size, "a wrong sum");
}

bool handled(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) != 0 ||
         (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
}

TEST(DumpSignal, ARankSaysWhatItAndItsPeersAreAt) {
  const std::string folder = format("/tmp/rondo-dump-test-%d", static_cast<int>(getpid()));
  const std::string log = folder + ".log", record = folder + ".json";
  {
    const Env signal("RONDO_DUMP_SIGNAL", "SIGUSR2"), to("RONDO_LOG_FILE", log),
        trace("RONDO_RECORD", record);
    expectGood(run(
        3,
        [](const Me& me) {
          const rondoComm_t comm = me.join();
          me.check(handled(SIGUSR2), "nobody listens");
          sum(me, comm);
          ++me.shared->ready;
          if (me.rank == 2) {
            while (me.shared->done == 0) usleep(1000);
          }
          me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
          me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
          me.check(!handled(SIGUSR2), "the handler stays once there is no communicator");
        },
        [&](Shared& shared) {
          while (shared.ready < 3) usleep(1000);
          signalUntil(shared, 0, log, "in collective 2, barrier, for: rank 2.");
          // Written after the log; whole when it is there.
          holdsSoon(shared, 20000, [&] { return access(record.c_str(), F_OK) == 0; });
          shared.done = 1;
        }));
  }
  const std::string said = readFile(log);
  expectIn(said, " rondo info watch rank=- host=");
  expectIn(said, "dump: signal USR2 (RONDO_DUMP_SIGNAL)\nprocess ");
  expectIn(said, "communicator \"comm\" (");
  expectIn(said, "  rank 1 (pid ");
  expectIn(said, "NOT IN THAT CALL YET; its process is ");
  expectIn(said, "  rank 0 of communicator \"comm\", the last operations first:\n");
  expectIn(said, "    collective 2, barrier");
  expectIn(said, ", has not ended for ");
  expectIn(said, "    collective 1, allreduce with count 1, datatype int32, op sum");
  const std::string whole = readFile(record);
  expectIn(whole, "\"why\":\"signal USR2 (RONDO_DUMP_SIGNAL)\"");
  expectIn(whole, "\"name\":\"comm rank 2 of 3\"");
  std::remove(log.c_str());
  std::remove(record.c_str());
}

/// Signals come while calls run; results are right, and what the program calls is not disturbed.
TEST(DumpSignal, CallsGoOnUnderManySignals) {
  const Env signal("RONDO_DUMP_SIGNAL", "USR2"), to("RONDO_LOG_FILE", "/dev/null");
  expectGood(run(
      2,
      [](const Me& me) {
        const rondoComm_t comm = me.join();
        ++me.shared->ready;
        for (int going = 1; going != 0;) {
          const int mine = me.shared->done == 0 ? 1 : 0;
          me.ok(rondoAllReduce(&mine, &going, 1, rondoInt32, rondoMax, comm, nullptr), comm,
                "a call");
          sum(me, comm);
        }
        me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
      },
      [](Shared& shared) {
        while (shared.ready < 2) usleep(1000);
        for (int i = 0; i < 300; ++i) {
          kill(shared.pids[i % 2], SIGUSR2);
          usleep(500);
        }
        shared.done = 1;
      }));
}

void programsOwn(int) {}

TEST(DumpSignal, AHandlerOfTheProgramIsNotTakenOver) {
  const Env signal("RONDO_DUMP_SIGNAL", "USR2");
  expectGood(run(2, [](const Me& me) {
    if (me.rank == 1) ::signal(SIGUSR2, programsOwn);
    rondoComm_t comm = nullptr;
    const rondoResult_t result = rondoCommInitRank(&comm, me.size, me.id, me.rank);
    const std::string said = rondoGetLastError(nullptr);
    const std::string want =
        "rank 1: environment variable RONDO_DUMP_SIGNAL is \"USR2\", which the program handles by "
        "itself; allowed: a signal without a handler";
    me.check(result == rondoInvalidUsage && said.find(want) != std::string::npos,
             format("gave %d: %s", result, said.c_str()));
    struct sigaction now {};
    sigaction(SIGUSR2, nullptr, &now);
    me.check(now.sa_handler == (me.rank == 1 ? programsOwn : SIG_DFL), "the handler has changed");
  }));
}

TEST(DumpSignal, WhatTheProgramSetsLaterStays) {
  const Env signal("RONDO_DUMP_SIGNAL", "USR2");
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    ::signal(SIGUSR2, programsOwn);
    me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
    struct sigaction now {};
    sigaction(SIGUSR2, nullptr, &now);
    me.check(now.sa_handler == programsOwn, "the program's handler is gone");
  }));
}

TEST(DumpSignal, NobodyListensUnlessAsked) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    for (const int signal : {SIGUSR1, SIGUSR2}) me.check(!handled(signal), "a handler");
    me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
  }));
}

/// As long as one communicator is there, whichever was made first.
TEST(DumpSignal, TheLastCommunicatorTakesTheHandlerAway) {
  const Env signal("RONDO_DUMP_SIGNAL", "USR2");
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    rondoComm_t other = nullptr;
    me.ok(rondoCommDup(comm, &other, nullptr), comm, "rondoCommDup");
    me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
    me.check(handled(SIGUSR2), "nobody listens");
    me.ok(rondoCommDestroy(other), nullptr, "rondoCommDestroy");
    me.check(!handled(SIGUSR2), "the handler stays");
  }));
}

TEST(DumpSignal, NamesAndNumbers) {
  int signal = -1;
  for (const char* good : {"USR2", "SIGUSR2", "12"}) {
    EXPECT_TRUE(parseSignal(good, &signal)) << good;
    EXPECT_EQ(signal, SIGUSR2) << good;
  }
  EXPECT_TRUE(parseSignal("RTMIN+3", &signal));
  EXPECT_EQ(signal, SIGRTMIN + 3);
  EXPECT_EQ(signalName(signal), "RTMIN+3");
  EXPECT_TRUE(parseSignal("", &signal));
  EXPECT_EQ(signal, 0);
  for (const char* bad : {"KILL", "9", "HUP", "SEGV", "11", "usr2", "0", "-12", "12x", "65",
                          "RTMIN+99", "RTMIN+", "SIG", "TERM", "99999999999999999999"}) {
    EXPECT_FALSE(parseSignal(bad, &signal)) << bad;
    const Env env("RONDO_DUMP_SIGNAL", bad);
    try {
      readOptions();
      ADD_FAILURE() << bad << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.sentence().rfind(format("environment variable RONDO_DUMP_SIGNAL is \"%s\"; "
                                              "allowed: USR1, USR2, URG",
                                              bad),
                                       0),
                0u)
          << error.sentence();
    }
  }
}

}  // namespace
}  // namespace rondo::chaos
