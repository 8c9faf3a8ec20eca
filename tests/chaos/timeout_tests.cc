// config.timeout: a rank that does not come is an error on every rank, which names it.

#include <gtest/gtest.h>

#include "chaos/job.h"
#include "coll/far_calls.h"
#include "coll/flight_view.h"

namespace rondo::chaos {
namespace {

constexpr char kPassed[] =
    "config.timeout of 200 ms (or RONDO_TIMEOUT_MS) has passed: communicator \"comm\": rank ";

void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

rondoComm_t joinWith(const Me& me, int timeout) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout = timeout;
  rondoComm_t comm = nullptr;
  me.ok(rondoCommInitRankConfig(&comm, me.size, me.id, me.rank, &config), nullptr, "joining");
  return comm;
}

/// The call must have ended in rondoRemoteError, with all parts in its sentence.
void checkVerdict(const Me& me, rondoResult_t result, const std::vector<std::string>& parts) {
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == rondoRemoteError, format("gave %d: %s", result, sentence.c_str()));
  for (const std::string& part : parts) {
    me.check(sentence.find(part) != std::string::npos,
             "\"" + sentence + "\" has no \"" + part + "\"");
  }
}

void checkGoesOn(const Me& me, rondoComm_t comm) {
  rondoComm_t rest = nullptr;
  me.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT), comm, "shrink");
  int in = me.rank, sum = -1;
  me.ok(rondoAllReduce(&in, &sum, 1, rondoInt32, rondoSum, rest, nullptr), rest, "a sum");
  me.check(sum == me.size * (me.size - 1) / 2, "a wrong sum of all");
  rondoCommDestroy(rest);
  rondoCommDestroy(comm);
}

/// One rank that has a timeout is enough; the one that did not come hears of it in its next call.
TEST(Timeout, TheVerdictIsTheSameOnAllRanks) {
  expectGood(run(3, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    const std::vector<std::string> parts = {
        kPassed,
        "in collective 2, allreduce with count 1, datatype int32, op sum",
        ". Not in that call yet: rank 2 (host",
        "is after collective 1, barrier",
        "Where: rank 2 has made no call for",
        "its process is "};
    int in = me.rank, sum = -1;
    const auto call = [&] {
      return rondoAllReduce(&in, &sum, 1, rondoInt32, rondoSum, comm, nullptr);
    };
    if (me.rank == 2) {
      while (me.shared->done < 2) usleep(1000);
    }
    checkVerdict(me, call(), parts);
    rondoResult_t state = rondoSuccess;
    me.ok(rondoCommGetAsyncError(comm, &state), comm, "rondoCommGetAsyncError");
    me.check(state == rondoRemoteError, "the communicator is not said to be broken");
    ++me.shared->done;
    checkGoesOn(me, comm);
  }));
}

TEST(Timeout, OfAMessageSaysWhoHasNotSentIt) {
  setenv("RONDO_TIMEOUT_MS", "200", 1);
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = me.join();
    if (me.rank == 0) {
      int value = 0;
      checkVerdict(me, rondoRecv(&value, 1, rondoInt32, 1, comm, nullptr),
                   {kPassed, "in a receive of 4 bytes from rank 1", "rank 1 has made no call for"});
    }
    ++me.shared->done;
    while (me.shared->done < 2) usleep(1000);
    checkGoesOn(me, comm);
  }));
  unsetenv("RONDO_TIMEOUT_MS");
}

/// The group runs by itself: nobody is inside a call.
TEST(Timeout, OfAGroupThatNobodyWaitsFor) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    if (me.rank == 0) {
      int in = 1, sum = 0;
      rondoRequest_t request = nullptr;
      rondoGroupStart();
      rondoAllReduce(&in, &sum, 1, rondoInt32, rondoSum, comm, nullptr);
      me.ok(rondoGroupEndAsync(&request), comm, "rondoGroupEndAsync");
      rondoResult_t state = rondoSuccess;
      while (state == rondoSuccess) {
        usleep(10000);
        me.ok(rondoCommGetAsyncError(comm, &state), comm, "rondoCommGetAsyncError");
      }
      checkVerdict(me, rondoWait(&request), {kPassed, "Not in that call yet: rank 1 (host"});
    }
    ++me.shared->done;
    while (me.shared->done < 2) usleep(1000);
    checkGoesOn(me, comm);
  }));
}

/// Whether rank 1 of the communicator with that name is inside a call, and (`knows`) has written
/// down what it waits for.
bool otherIsInside(const char* name, bool knows = false) {
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& each : process.comms) {
      if (each.name != name || each.rank != 1 || each.last() == nullptr) continue;
      return each.last()->running() && (!knows || each.waitsSeen >= each.last()->started);
    }
  }
  return false;
}

/// Whether a rank of another host has told that it waits in that communicator.
bool farIsInside(const char* name) {
  for (const FlightProcess& process : FarCalls::one().read()) {
    for (const FlightComm& each : process.comms) {
      if (each.name == name && each.last() != nullptr) return true;
    }
  }
  return false;
}

TEST(Timeout, ACycleOfWaitsIsNamed) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.name = "other";
    rondoComm_t other = nullptr;
    me.ok(rondoCommDup(comm, &other, &config), comm, "rondoCommDup");
    if (me.rank == 1) me.ok(rondoBarrier(other, nullptr), other, "a barrier of the other");
    while (me.rank == 0 && !otherIsInside("other")) usleep(1000);
    checkVerdict(me, rondoBarrier(comm, nullptr),
                 {kPassed, ". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
                  ", barrier, waits for rank 1 of communicator \"other\" (pid ",
                  ", barrier, waits for the first to make that call; allowed: the same order of "
                  "calls on all ranks, or calls that do not block (rondoGroupEndAsync)"});
    if (me.rank == 0) me.ok(rondoBarrier(other, nullptr), other, "a barrier of the other");
    rondoCommDestroy(other);
    rondoCommDestroy(comm);
  }));
}

/// The most usual of them.
TEST(Timeout, ACycleOfReceivesIsNamed) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    int value = 0;
    while (me.rank == 0 && !otherIsInside("comm")) usleep(1000);
    const rondoResult_t result = rondoRecv(&value, 1, rondoInt32, 1 - me.rank, comm, nullptr);
    checkVerdict(me, result,
                 {kPassed, ". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
                  ") in its exchange 1, a receive of 4 bytes from rank 1, waits for rank 1 of "
                  "communicator \"comm\" (pid ",
                  ") in its exchange 1, a receive of 4 bytes from rank 0, waits for the first to "
                  "make that call; allowed: the same order of calls on all ranks, sends and "
                  "receives that wait for each other in one group (rondoGroupStart), or calls that "
                  "do not block (rondoGroupEndAsync)"});
    rondoCommDestroy(comm);
  }));
}

TEST(Timeout, ACycleOfAReceiveAndACollectiveIsNamed) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    int value = 0;
    while (me.rank == 0 && !otherIsInside("comm")) usleep(1000);
    const rondoResult_t result = me.rank == 0 ? rondoBarrier(comm, nullptr)
                                              : rondoRecv(&value, 1, rondoInt32, 0, comm, nullptr);
    checkVerdict(me, result,
                 {". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
                  ") in its collective 1, barrier, waits for rank 1 of communicator",
                  ") in its exchange 1, a receive of 4 bytes from rank 0, waits for the first"});
    rondoCommDestroy(comm);
  }));
}

/// One waits in a group, whose transfers are known by what it has written down.
TEST(Timeout, ACycleWithAGroupIsNamed) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    int values[2] = {};
    if (me.rank == 0) {
      while (!otherIsInside("comm", true)) usleep(1000);
      checkVerdict(me, rondoRecv(values, 1, rondoInt32, 1, comm, nullptr),
                   {kPassed, ". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
                    ") in its exchange 1, a receive of 4 bytes from rank 1, waits for rank 1 of ",
                    ") in its exchange 1, 2 sends and receives of 8 bytes, the first from rank 0, "
                    "waits for the first"});
    } else {
      rondoGroupStart();
      for (int& each : values) rondoRecv(&each, 1, rondoInt32, 0, comm, nullptr);
      me.check(rondoGroupEnd() == rondoRemoteError, "no verdict");
    }
    rondoCommDestroy(comm);
  }));
}

/// Of which one is late, and the others wait for it only.
TEST(Timeout, ALateSenderIsNoCycle) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 200 : 0);
    int value = 0;
    if (me.rank == 1) {
      while (me.shared->done == 0) usleep(1000);
    } else {
      const rondoResult_t result = rondoRecv(&value, 1, rondoInt32, 1, comm, nullptr);
      checkVerdict(me, result, {kPassed});
      const std::string sentence = rondoGetLastError(nullptr);
      me.check(sentence.find("cycle") == std::string::npos, sentence);
      ++me.shared->done;
    }
    rondoCommDestroy(comm);
  }));
}

/// As ACycleOfWaitsIsNamed; each rank is a host.
TEST(Timeout, ACycleOverHostsIsNamed) {
  expectGood(run(2, [](const Me& me) {
    setenv("RONDO_HOSTID", me.rank == 0 ? "host-a" : "host-b", 1);
    const rondoComm_t comm = joinWith(me, me.rank == 0 ? 1000 : 0);
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.name = "other";
    rondoComm_t other = nullptr;
    me.ok(rondoCommDup(comm, &other, &config), comm, "rondoCommDup");
    if (me.rank == 1) {
      me.ok(rondoBarrier(other, nullptr), other, "a barrier of the other");
      me.check(rondoBarrier(comm, nullptr) == rondoRemoteError, "no verdict");
    } else {
      while (!farIsInside("other")) usleep(1000);
      const rondoResult_t result = rondoBarrier(comm, nullptr);
      const std::string sentence = rondoGetLastError(nullptr);
      for (const char* part :
           {". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
            ", barrier, waits for rank 1 of communicator \"other\" (host \"",
            ", barrier, waits for the first to make that call; allowed: the same order of calls "
            "on all ranks, or calls"}) {
        me.check(result == rondoRemoteError && sentence.find(part) != std::string::npos,
                 format("gave %d: %s: no %s", result, sentence.c_str(), part));
      }
      me.ok(rondoBarrier(other, nullptr), other, "a barrier of the other");
    }
    rondoCommDestroy(other);
    rondoCommDestroy(comm);
  }));
}

/// How many ranks of other hosts have said here whom they wait for.
size_t waitersHeard() { return readNearFlights().front().notes.size(); }

rondoComm_t joinOnHost(const Me& me) {
  setenv("RONDO_HOSTID", format("host-%d", me.rank).c_str(), 1);
  return joinWith(me, me.rank == 0 ? 2000 * slack() : 0);
}

/// Rank k is in the k-th communicator's barrier, which rank k + 1 has not called: each host sees
/// one link of the circle, and what it is told of the others.
TEST(Timeout, ACycleOverHostsOfWhichNoneSeesTheWholeIsNamed) {
  expectGood(run(3, [](const Me& me) {
    const rondoComm_t comm = joinOnHost(me);
    rondoComm_t pairs[3] = {};
    for (int k = 0; k < 3; ++k) {
      rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
      const std::string name = format("pair-%d", k);
      config.name = name.c_str();
      config.timeout = me.rank == 0 ? 2000 * slack() : 0;
      const bool in = me.rank == k || me.rank == (k + 1) % 3;
      me.ok(rondoCommSplit(comm, in ? 0 : RONDO_SPLIT_NOCOLOR, (me.rank - k + 3) % 3, &pairs[k],
                           &config),
            comm, "rondoCommSplit");
    }
    while (me.rank == 0 && waitersHeard() < 2) usleep(1000);
    const rondoResult_t result = rondoBarrier(pairs[me.rank], nullptr);
    if (me.rank == 0) {
      checkVerdict(me, result,
                   {". A cycle of waits: rank 0 of communicator \"pair-0\" (pid ",
                    ") in its collective 1, barrier, waits for rank 0 of communicator \"pair-1\" "
                    "(host \"",
                    ") in its collective 1, barrier, waits for rank 0 of communicator \"pair-2\" "
                    "(host \"",
                    ", barrier, waits for the first to make that call; allowed: "});
      rondoCommAbort(comm);
    }
    me.check(result == rondoRemoteError, "no verdict");
    for (const rondoComm_t each : pairs) {
      if (each != nullptr) rondoCommAbort(each);
    }
    if (me.rank != 0) rondoCommAbort(comm);
  }));
}

/// The most usual one, over hosts.
TEST(Timeout, ACycleOfReceivesOverHostsIsNamed) {
  expectGood(run(3, [](const Me& me) {
    const rondoComm_t comm = joinOnHost(me);
    while (me.rank == 0 && waitersHeard() < 2) usleep(1000);
    int value = 0;
    const rondoResult_t result =
        me.rank == 1 ? rondoBarrier(comm, nullptr)
                     : rondoRecv(&value, 1, rondoInt32, (me.rank + 1) % 3, comm, nullptr);
    if (me.rank == 0) {
      checkVerdict(me, result,
                   {". A cycle of waits: rank 0 of communicator \"comm\" (pid ",
                    ") in its exchange 1, a receive of 4 bytes from rank 1, waits for rank 1 of "
                    "communicator \"comm\" (host \"",
                    ") in its collective 1, barrier, waits for ", "waits for the first"});
    }
    me.check(result == rondoRemoteError, "no verdict");
    rondoCommDestroy(comm);
  }));
}

TEST(Timeout, CallsInSwappedOrderThatDoNotBlockComplete) {
  expectGood(run(2, [](const Me& me) {
    rondoComm_t comms[2] = {joinWith(me, 20000 * slack()), nullptr};
    me.ok(rondoCommDup(comms[0], &comms[1], nullptr), comms[0], "rondoCommDup");
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{200000}}) {
      for (int turn = 0; turn < 10; ++turn) {
        std::vector<int> in(count, turn + me.rank), out[2] = {in, in};
        rondoRequest_t requests[2] = {};
        for (const int at : {me.rank, 1 - me.rank}) {
          rondoGroupStart();
          rondoAllReduce(in.data(), out[at].data(), count, rondoInt32, rondoSum, comms[at],
                         nullptr);
          me.ok(rondoGroupEndAsync(&requests[at]), comms[at], "rondoGroupEndAsync");
        }
        for (const int at : {me.rank, 1 - me.rank}) {
          me.ok(rondoWait(&requests[at]), comms[at], "rondoWait");
          me.check(out[at] == std::vector<int>(count, 2 * turn + 1), "a wrong sum");
        }
      }
    }
    for (const rondoComm_t comm : comms) rondoCommDestroy(comm);
  }));
}

/// Late, each by less than the timeout, and together by more.
TEST(Timeout, IsNotForTheSumOfWaits) {
  expectGood(run(2, [](const Me& me) {
    const rondoComm_t comm = joinWith(me, 3000 * slack());
    for (int i = 0; i < 8; ++i) {
      if (me.rank == i % 2) usleep(100000);
      me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    }
    rondoCommDestroy(comm);
  }));
}

}  // namespace
}  // namespace rondo::chaos
