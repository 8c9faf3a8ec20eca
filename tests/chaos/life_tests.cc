// Deaths and aborts around the life of communicators: while others split, copy, grow, finalize or
// destroy one, several at once, and in a communicator that was made of another.

#include <gtest/gtest.h>

#include "chaos/job.h"

namespace rondo::chaos {
namespace {

void expectGood(const Outcome& outcome) { EXPECT_EQ(outcome.failure, "") << outcome.errors; }

int sumOfRanks(rondoComm_t comm, const Me& me, rondoResult_t* result) {
  int in = me.rank, out = -1;
  *result = rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, comm, nullptr);
  return out;
}

/// The call must end in rondoRemoteError with `part` in its sentence.
void checkRemote(const Me& me, rondoResult_t result, const std::string& part) {
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == rondoRemoteError && sentence.find(part) != std::string::npos,
           format("gave %d: %s", result, sentence.c_str()));
}

/// A communicator of those who are left of `comm`, whose ranks' sum is `want`; destroys both.
void goOn(const Me& me, rondoComm_t comm, int want) {
  rondoComm_t rest = nullptr;
  rondoResult_t result = rondoSuccess;
  me.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT), comm, "shrink");
  const int sum = sumOfRanks(rest, me, &result);
  me.ok(result, rest, "the survivors' sum");
  me.check(sum == want, format("the survivors' sum is %d", sum));
  rondoCommDestroy(rest);
  rondoCommDestroy(comm);
}

/// Makes a communicator of others; what a rank that ends must not hang.
using Making = std::function<rondoResult_t(const Me&, rondoComm_t, rondoComm_t*)>;

/// Rank `victim` of four ends instead of taking part; the others go on without it.
void endsInstead(int victim, const char* name, const Making& make) {
  SCOPED_TRACE(format("%s, without rank %d", name, victim));
  expectGood(run(
      4,
      [&](const Me& me) {
        rondoComm_t comm = me.join(), made = nullptr;
        me.ok(rondoBarrier(comm, nullptr), comm, "the first barrier");
        if (me.rank == victim) {
          usleep(20000);  // so that the others wait for it, most often
          me.die();
        }
        checkRemote(me, make(me, comm, &made), format("rank %d (host", victim));
        me.check(made == nullptr, "there is a handle");
        goOn(me, comm, 6 - victim);
      },
      {}, victim));
}

TEST(Life, ARankEndsWhileOthersMakeCommunicators) {
  for (const int victim : {0, 2}) {
    endsInstead(victim, "rondoCommSplit", [](const Me& me, rondoComm_t comm, rondoComm_t* made) {
      return rondoCommSplit(comm, me.rank % 2, 0, made, nullptr);
    });
    endsInstead(victim, "rondoCommDup", [](const Me&, rondoComm_t comm, rondoComm_t* made) {
      return rondoCommDup(comm, made, nullptr);
    });
    endsInstead(victim, "rondoCommGrow", [](const Me& me, rondoComm_t comm, rondoComm_t* made) {
      rondoUniqueId id;
      const bool gives = me.rank == 1;
      if (gives) me.ok(rondoCommGetUniqueId(comm, &id), comm, "rondoCommGetUniqueId");
      return rondoCommGrow(comm, 5, gives ? &id : nullptr, -1, made, nullptr);
    });
  }
}

TEST(Life, ARankEndsWhileOthersFinalizeAndDestroy) {
  for (const int victim : {0, 2}) {
    expectGood(run(
        4,
        [&](const Me& me) {
          rondoComm_t comm = me.join();
          rondoResult_t result = rondoSuccess;
          sumOfRanks(comm, me, &result);
          me.ok(result, comm, "the sum");
          if (me.rank == victim) me.die();
          if (me.rank == 3) {
            while (me.shared->diedAt == 0) usleep(1000);
          }
          me.ok(rondoCommFinalize(comm), comm, "rondoCommFinalize");
          me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
        },
        {}, victim));
  }
}

TEST(Life, TwoRanksEndAtOnceOneOfThemTheFirst) {
  expectGood(run(
      4,
      [&](const Me& me) {
        rondoComm_t comm = me.join();
        rondoResult_t result = rondoSuccess;
        sumOfRanks(comm, me, &result);
        if (me.rank == 0 || me.rank == 2) me.die();
        while (result == rondoSuccess) sumOfRanks(comm, me, &result);
        const std::string sentence = rondoGetLastError(nullptr);
        const bool named = sentence.find("rank 0 (host") != std::string::npos ||
                           sentence.find("rank 2 (host") != std::string::npos;
        me.check(result == rondoRemoteError && named, "the sentence is: " + sentence);
        goOn(me, comm, 1 + 3);
      },
      {}, 0));
}

TEST(Life, AnEndBetweenTheMakingAndTheFirstCall) {
  expectGood(run(
      3,
      [&](const Me& me) {
        rondoComm_t comm = me.join();
        if (me.rank == 0) me.die();
        checkRemote(me, rondoBarrier(comm, nullptr), "it was before its first call");
        goOn(me, comm, 1 + 2);
      },
      {}, 0));
}

/// One rank ends a child while the others are in a collective of it: they learn of it, and the
/// parent goes on, also to make another child.
TEST(Life, AnAbortOfAChildIsNoneOfItsParent) {
  for (const bool abort : {true, false}) {
    expectGood(run(4, [&](const Me& me) {
      rondoComm_t comm = me.join(), child = nullptr;
      rondoResult_t result = rondoSuccess;
      me.ok(rondoCommDup(comm, &child, nullptr), comm, "rondoCommDup");
      if (me.rank == 1) {
        while (me.shared->ready != 3) usleep(1000);
        usleep(20000);  // so that the others are inside, most often
        me.ok(abort ? rondoCommAbort(child) : rondoCommRevoke(child), nullptr, "the abort");
      } else {
        ++me.shared->ready;
        sumOfRanks(child, me, &result);
        checkRemote(me, result, "rank 1 aborted communicator");
      }
      me.check(sumOfRanks(comm, me, &result) == 6, "the parent does not go on");
      if (!abort) {
        goOn(me, child, 6);
      } else if (me.rank != 1) {
        rondoCommDestroy(child);
      }
      me.ok(rondoCommDup(comm, &child, nullptr), comm, "another rondoCommDup");
      me.check(sumOfRanks(child, me, &result) == 6, "another child has a wrong sum");
      rondoCommDestroy(child);
      rondoCommDestroy(comm);
    }));
  }
}

/// Of two children those without the dead go on.
TEST(Life, ADeathIsNoneOfTheChildrenWithoutTheDead) {
  expectGood(run(
      4,
      [&](const Me& me) {
        rondoComm_t comm = me.join(), child = nullptr;
        rondoResult_t result = rondoSuccess;
        me.ok(rondoCommSplit(comm, me.rank % 2, 0, &child, nullptr), comm, "rondoCommSplit");
        if (me.rank == 1) me.die();
        checkRemote(me, rondoBarrier(comm, nullptr), "rank 1 (host");
        if (me.rank == 3) {
          checkRemote(me, rondoBarrier(child, nullptr), "rank 0 (host");
          goOn(me, child, 3);
        } else {
          for (int i = 0; i < 20; ++i) {
            me.check(sumOfRanks(child, me, &result) == 2, "a child without the dead is broken");
          }
          rondoCommDestroy(child);
        }
        goOn(me, comm, 0 + 2 + 3);
      },
      {}, 1));
}

/// rondoCommAbort by another thread ends the call that waits, and what comes after works.
TEST(Life, AThreadAbortsTheCallOfAnother) {
  expectGood(run(2, [&](const Me& me) {
    rondoComm_t comm = me.join();
    if (me.rank == 0) {
      std::thread other([&] {
        usleep(50000);
        me.ok(rondoCommAbort(comm), nullptr, "rondoCommAbort");
      });
      const rondoResult_t result = rondoBarrier(comm, nullptr);
      me.check(result == rondoRemoteError, format("the barrier gave %d", result));
      other.join();
    } else {
      rondoResult_t state = rondoSuccess;
      me.check(holdsSoon(*me.shared, 3000,
                         [&] {
                           rondoCommGetAsyncError(comm, &state);
                           return state == rondoRemoteError;
                         }),
               "the other does not learn of it");
      me.ok(rondoCommAbort(comm), nullptr, "rondoCommAbort of one that is aborted");
    }
  }));
}

}  // namespace
}  // namespace rondo::chaos
