// A stall whose cause is on another host: the verdict says what that host says of the late rank.
// Hosts of RONDO_HOSTID, between which UCX is; over name spaces tests/hosts_death.sh does the same.

#include <gtest/gtest.h>

#include <chrono>

#include "chaos/job.h"

namespace rondo::chaos {
namespace {

/// Rank 0 is alone on its host, the others are on another one. Only rank 0 reports stalls.
rondoComm_t joinWithStalls(const Me& me) {
  setenv("RONDO_HOSTID", me.rank == 0 ? "one" : "two", 1);
  setenv("RONDO_STALL_SECONDS", me.rank == 0 ? "1" : "0", 1);
  return me.join();
}

/// Sums until somebody says that it is enough.
void sumOn(const Me& me, rondoComm_t comm) {
  for (int going = 1; going != 0;) {
    const int mine = me.shared->moreMade == 0 ? 1 : 0;
    me.ok(rondoAllReduce(&mine, &going, 1, rondoInt32, rondoMax, comm, nullptr), comm, "a sum");
  }
}

/// In the launcher: whether a line of a rank has all of these, one after the other, waiting for it.
/// A verdict comes every second, the first of them perhaps before the answer. `stopped` is kept so,
/// whoever else stops and continues processes.
bool isSaid(const std::vector<std::string>& parts, pid_t stopped = 0) {
  for (int i = 0; i < 100 * 20 * slack(); ++i) {
    if (stopped != 0) kill(stopped, SIGSTOP);
    const std::string all = readAll(2);
    for (size_t line = 0; line < all.size();) {
      const size_t end = std::min(all.find('\n', line), all.size());
      size_t at = line;
      for (const std::string& part : parts) {
        if (at != std::string::npos) at = all.find(part, at);
        if (at != std::string::npos) at += part.size();
      }
      if (at != std::string::npos && at <= end) return true;
      line = end + 1;
    }
    usleep(10000);
  }
  return false;
}

/// `late`: what rank 1 does, which is waited for. `ranks`: 2 where it is alone on its host.
void expectSaid(int ranks, const std::function<void(const Me&, rondoComm_t)>& late,
                const std::vector<std::string>& parts, bool stopped = false) {
  const Outcome outcome = run(
      ranks,
      [&](const Me& me) {
        const rondoComm_t comm = joinWithStalls(me);
        me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
        ++me.shared->ready;
        if (me.rank == 1) late(me, comm);
        sumOn(me, comm);
        rondoCommDestroy(comm);
      },
      [&](Shared& shared) {
        while (shared.ready < ranks) usleep(1000);
        const bool said = isSaid(parts, stopped ? shared.pids[1].load() : 0);
        if (stopped) kill(shared.pids[1], SIGCONT);
        shared.moreMade = 1;
        if (!said) std::snprintf(shared.notes[0].failure, 800, "the verdict does not say it");
      });
  EXPECT_EQ(outcome.failure, "") << outcome.errors;
}

TEST(FarStall, AStoppedRankIsNamedByWhoIsBesideIt) {
  const auto nothing = [](const Me&, rondoComm_t) {};
  expectSaid(3, nothing,
             {"rondo: stall: communicator \"comm\": rank 0 (host", ". Where: rank 1 ",
              ", its process is stopped (SIGSTOP, or a terminal's); ", "collective ",
              " (as its host said "},
             true);
}

TEST(FarStall, ARankThatSleepsOutsideRondoSaysSoItself) {
  const auto sleeps = [](const Me& me, rondoComm_t) {
    while (me.shared->moreMade == 0) usleep(50000);
  };
  expectSaid(2, sleeps,
             {"rondo: stall: communicator \"comm\": rank 0 (host",
              ". Where: rank 1 has made no call for ", " s, its process is sleeping",
              "; its last call was collective 1, barrier (as its host said "});
}

TEST(FarStall, ARankThatComputesIsSaidToRun) {
  const auto computes = [](const Me& me, rondoComm_t) {
    while (me.shared->moreMade == 0) {
    }
  };
  expectSaid(
      3, computes,
      {"rondo: stall: communicator \"comm\": rank 0 (host", ". Where: rank 1 has made no call for ",
       " s, its process is running; its last call was collective 1, barrier (as its host said "});
}

/// Of a message that does not come; and a rank that is in another call.
TEST(FarStall, ARankInAnotherCallIsSaidToBeThere) {
  const auto elsewhere = [](const Me& me, rondoComm_t comm) {
    int value = 0;
    me.ok(rondoRecv(&value, 1, rondoInt32, 2, comm, nullptr), comm, "a receive");
  };
  const Outcome outcome = run(
      3,
      [&](const Me& me) {
        const rondoComm_t comm = joinWithStalls(me);
        me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
        int value = 0;
        if (me.rank == 0) {
          me.ok(rondoRecv(&value, 1, rondoInt32, 1, comm, nullptr), comm, "a receive");
        } else if (me.rank == 1) {
          elsewhere(me, comm);
          me.ok(rondoSend(&value, 1, rondoInt32, 0, comm, nullptr), comm, "a send");
        } else {
          while (me.shared->moreMade == 0) usleep(1000);
          me.ok(rondoSend(&value, 1, rondoInt32, 1, comm, nullptr), comm, "a send");
        }
        rondoCommDestroy(comm);
      },
      [&](Shared& shared) {
        if (!isSaid({" has waited ", "in a receive of 4 bytes from rank 1",
                     ". Where: ", "rank 1 has been in a receive of 4 bytes from rank 2 for "})) {
          std::snprintf(shared.notes[0].failure, 800, "the verdict does not say it");
        }
        shared.moreMade = 1;
      });
  EXPECT_EQ(outcome.failure, "") << outcome.errors;
}

/// Ranks of two hosts wait for the same one: one of them says so, each second.
TEST(FarStall, OneHostReportsForAll) {
  constexpr int kSeconds = 6;
  const Outcome outcome = run(
      3,
      [&](const Me& me) {
        setenv("RONDO_HOSTID", me.rank == 0 ? "one" : "two", 1);
        setenv("RONDO_STALL_SECONDS", "1", 1);
        const rondoComm_t comm = me.join();
        me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
        ++me.shared->ready;
        while (me.rank == 1 && me.shared->moreMade == 0) usleep(10000);
        sumOn(me, comm);
        rondoCommDestroy(comm);
      },
      [&](Shared& shared) {
        while (shared.ready < 3) usleep(1000);
        const auto begin = std::chrono::steady_clock::now();
        std::chrono::duration<double> passed{0};
        while (passed.count() < kSeconds) {
          usleep(10000);
          passed = std::chrono::steady_clock::now() - begin;
        }
        const std::string all = readAll(2), start = "rondo: stall: communicator";
        int reports = 0;
        for (size_t at = all.find(start); at != std::string::npos; at = all.find(start, at + 1)) {
          ++reports;
        }
        shared.moreMade = 1;
        // A host claims one each second or two; two hosts that do not hear of each other, twice as
        // many.
        if (reports < 1 || reports > passed.count() / 2 + 1.5) {
          std::snprintf(shared.notes[0].failure, 800, "%d reports in %.1f s", reports,
                        passed.count());
        }
      });
  EXPECT_EQ(outcome.failure, "") << outcome.errors;
}

/// Nobody is left on its host who could answer.
TEST(FarStall, AHostThatDoesNotAnswerDelaysNothing) {
  const auto nothing = [](const Me&, rondoComm_t) {};
  expectSaid(2, nothing,
             {"rondo: stall: communicator \"comm\": rank 0 (host", " has waited 1",
              ". Where: where rank 1 is, its host has not answered"},
             true);
}

}  // namespace
}  // namespace rondo::chaos
