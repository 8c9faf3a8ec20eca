// What a thread may do with a communicator that another thread ends meanwhile.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "p2p/segment.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// Asks whatever `current` names until it is nullptr; every answer is the communicator's, or that
/// it is gone. Returns how many answers there were of each kind.
struct Answers {
  uint64_t alive = 0, gone = 0, wrong = 0;
};
Answers askOn(const std::atomic<rondoComm_t>& current) {
  Answers all;
  while (rondoComm_t comm = current.load()) {
    rondoResult_t state = rondoSuccess;
    int count = 0;
    const rondoResult_t asked = rondoCommGetAsyncError(comm, &state);
    const rondoResult_t counted = rondoCommCount(comm, &count);
    const bool right = (asked == rondoInvalidUsage || asked == rondoSuccess) &&
                       (counted == rondoInvalidUsage || (counted == rondoSuccess && count == 1));
    ++(!right ? all.wrong : asked == rondoSuccess ? all.alive : all.gone);
  }
  return all;
}

TEST(WorldOtherThread, AsksWhileOneAborts) {
  rondoUniqueId id;
  rondoComm_t parent = nullptr;
  RONDO_OK(rondoGetUniqueId(&id));
  RONDO_OK(rondoCommInitRank(&parent, 1, id, 0));
  std::atomic<rondoComm_t> current{parent};
  Answers answers;
  std::thread asker([&] { answers = askOn(current); });
  for (int round = 0; round < 60; ++round) {
    rondoComm_t child = nullptr;
    ASSERT_EQ(rondoCommDup(parent, &child, nullptr), rondoSuccess) << rondoGetLastError(nullptr);
    current = child;
    std::this_thread::yield();
    EXPECT_EQ(rondoCommAbort(child), rondoSuccess) << rondoGetLastError(nullptr);
  }
  current = nullptr;
  asker.join();
  EXPECT_EQ(answers.wrong, 0u) << "of " << answers.alive << " and " << answers.gone;
  EXPECT_EQ(rondoCommDestroy(parent), rondoSuccess);
}

/// A group over two communicators, of which one is aborted while its owner waits: the wait goes on
/// for the other one, by the rules of a communicator that must not be freed.
TEST(WorldOtherThread, AbortsOneCommunicatorOfAGroupThatIsWaitedFor) {
  std::atomic<int> ready{0};
  World(2).open([&](const Rank& me) {
    rondoComm_t other = nullptr;
    RONDO_OK(rondoCommDup(me.comm, &other, nullptr));
    int value = 0;
    if (me.rank == 1) {
      while (ready == 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(60));  // the waiter is at it
      value = 7;
      RONDO_OK(rondoSend(&value, 1, rondoInt32, 0, other, nullptr));
      RONDO_OK(rondoCommDestroy(me.comm));
      RONDO_OK(rondoCommDestroy(other));
      return;
    }
    int never = 0;
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoRecv(&never, 1, rondoInt32, 1, me.comm, nullptr));
    RONDO_OK(rondoRecv(&value, 1, rondoInt32, 1, other, nullptr));
    RONDO_OK(rondoGroupEndAsync(&request));
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess) << rondoGetLastError(nullptr);
      ++ready;
    });
    EXPECT_EQ(rondoWait(&request), rondoRemoteError);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("rank 0 aborted"), std::string::npos) << sentence;
    aborter.join();
    EXPECT_EQ(value, 7);
    RONDO_OK(rondoCommDestroy(other));
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

/// As MPI_Finalize frees what is left: a request that nobody waited for ends first.
TEST(WorldOtherThread, FreesACommunicatorThatARequestIsUsing) {
  std::atomic<int> issued{0};
  World(2).open([&](const Rank& me) {
    int value = 0;
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoRecv(&value, 1, rondoInt32, 1 - me.rank, me.comm, nullptr));
    RONDO_OK(rondoGroupEndAsync(&request));
    for (++issued; issued < me.size;) std::this_thread::yield();
    freeComm(me.comm);
    EXPECT_EQ(rondoWait(&request), rondoRemoteError);
    int count = 0;
    EXPECT_EQ(rondoCommCount(me.comm, &count), rondoInvalidUsage);
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

}  // namespace
}  // namespace rondo::testing
