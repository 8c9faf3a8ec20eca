// Communicators whose ranks are on several hosts, as threads of one process between which UCX is.
// Whole suites run so with RONDO_TEST_HOSTS=2 (tests/support/world.h).

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <numeric>
#include <vector>

#include "support/world.h"

namespace rondo::testing {
namespace {

/// All hosts' shapes: one rank each, several, uneven, interleaved.
const std::vector<std::vector<int>> kShapes = {
    {0, 1}, {0, 1, 2}, {0, 0, 1}, {0, 1, 0, 1}, {0, 1, 1, 2, 0}};

std::string sumsOf(const Rank& me, size_t count) {
  std::vector<int32_t> in(count), out(count, -1);
  std::iota(in.begin(), in.end(), me.rank);
  if (rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, me.comm, nullptr) !=
      rondoSuccess) {
    return rondoGetLastError(me.comm);
  }
  for (size_t i = 0; i < count; ++i) {
    const auto wanted = static_cast<int32_t>(i) * me.size + me.size * (me.size - 1) / 2;
    if (out[i] != wanted) return "element " + std::to_string(i) + " of " + std::to_string(count);
  }
  return "";
}

TEST(WorldHosts, SumsOfEveryLength) {
  for (const auto& shape : kShapes) {
    World(static_cast<int>(shape.size())).hosts(shape).run([](const Rank& me) {
      for (const size_t count : {1u, 30u, 5000u, 70000u, 1000000u}) {
        EXPECT_EQ(sumsOf(me, count), "") << "rank " << me.rank;
      }
      int localSize = 0;
      EXPECT_EQ(rondoCommLocalSize(me.comm, &localSize), rondoSuccess);
      EXPECT_LT(localSize, me.size);
    });
  }
}

TEST(WorldHosts, SendsOfAnyLengthCross) {
  World(4).hosts({0, 0, 1, 2}).run([](const Rank& me) {
    for (const size_t bytes : {0u, 1u, 20000u, 3000000u}) {
      std::vector<char> out(bytes, static_cast<char>(me.rank)), in(4 * bytes, 99);
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      for (int peer = 0; peer < me.size; ++peer) {
        rondoSend(out.data(), bytes, rondoInt8, peer, me.comm, nullptr);
        rondoRecv(in.data() + static_cast<size_t>(peer) * bytes, bytes, rondoInt8, peer, me.comm,
                  nullptr);
      }
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
      for (int peer = 0; peer < me.size; ++peer) {
        for (size_t i = 0; i < bytes; ++i) {
          ASSERT_EQ(in[static_cast<size_t>(peer) * bytes + i], peer) << i << " of " << bytes;
        }
      }
    }
  });
}

TEST(WorldHosts, RequestsRunOnWhileTheirCallerComputes) {
  World(3).hosts({0, 1, 1}).run([](const Rank& me) {
    std::vector<double> in(200'000, me.rank + 1), out(in.size());
    rondoRequest_t request = nullptr;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    rondoAllReduce(in.data(), out.data(), in.size(), rondoFloat64, rondoSum, me.comm, nullptr);
    ASSERT_EQ(rondoGroupEndAsync(&request), rondoSuccess) << rondoGetLastError(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(rondoWait(&request), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(out.front(), 6);
    EXPECT_EQ(out.back(), 6);
  });
}

/// Two calls that do not go together: every rank from `first` on gets a sentence that has all
/// `words`.
void expectRefused(int first, const std::function<rondoResult_t(const Rank&)>& call,
                   const std::vector<std::string>& words) {
  std::atomic<int> back{0};
  World(2).hosts({0, 1}).open([&](const Rank& me) {
    const rondoResult_t result = call(me);
    // One that is content leaves the others alone: what they need to know has to be there already.
    ++back;
    while (back < 2) std::this_thread::yield();
    if (me.rank < first) {
      rondoCommAbort(me.comm);
      return;
    }
    EXPECT_EQ(result, rondoMismatch) << "rank " << me.rank;
    const std::string sentence = rondoGetLastError(nullptr);
    for (const std::string& word : words) {
      EXPECT_NE(sentence.find(word), std::string::npos) << "rank " << me.rank << ": " << sentence;
    }
    rondoCommAbort(me.comm);
  });
}

TEST(WorldHosts, OtherCountsAreNamed) {
  int32_t in[200] = {}, out[2][200] = {};
  expectRefused(0,
                [&](const Rank& me) {
                  return rondoAllReduce(in, out[me.rank], me.rank == 0 ? 100 : 200, rondoInt32,
                                        rondoSum, me.comm, nullptr);
                },
                {"count 100", "count 200", "rank 0 calls", "rank 1 calls"});
}

TEST(WorldHosts, TwoThatWaitForEachOtherAreTold) {
  int32_t data[2][16] = {};
  expectRefused(0,
                [&](const Rank& me) {
                  return rondoBroadcast(data[me.rank], data[me.rank], 16, rondoInt32, 1 - me.rank,
                                        me.comm, nullptr);
                },
                {"root 1", "root 0"});
}

TEST(WorldHosts, ASilentPeerOfAVCollectiveIsAsked) {
  int32_t in[8] = {}, out[2][8] = {};
  expectRefused(1,
                [&](const Rank& me) {
                  // Rank 0 means to send rank 1 two elements, of which rank 1 knows nothing.
                  const size_t sends[2][2] = {{1, 2}, {3, 1}}, takes[2][2] = {{1, 3}, {0, 1}};
                  const size_t displs[2] = {0, 4};
                  return rondoAllToAllV(in, sends[me.rank], displs, out[me.rank], takes[me.rank],
                                        displs, rondoInt32, me.comm, nullptr);
                },
                {"sendcounts[1] is 2", "recvcounts[0] is 0"});
}

TEST(WorldHosts, EmptySlotsNeedNoMessage) {
  World(3).hosts({0, 1, 1}).run([](const Rank& me) {
    // Only rank 0 sends, and only to rank 2; many times, so that nobody runs ahead for good.
    const size_t none[3] = {0, 0, 0}, toLast[3] = {0, 0, 2}, fromFirst[3] = {2, 0, 0};
    const size_t displs[3] = {0, 0, 0};
    for (int32_t k = 0; k < 300; ++k) {
      const int32_t in[2] = {k, -k};
      int32_t out[2] = {-1, -1};
      ASSERT_EQ(
          rondoAllToAllV(in, me.rank == 0 ? toLast : none, displs, out,
                         me.rank == 2 ? fromFirst : none, displs, rondoInt32, me.comm, nullptr),
          rondoSuccess)
          << rondoGetLastError(me.comm);
      EXPECT_EQ(out[0], me.rank == 2 ? k : -1);
    }
  });
}

TEST(WorldHosts, AnAbortReachesOtherHosts) {
  World(3).hosts({0, 1, 1}).open([](const Rank& me) {
    if (me.rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
      return;
    }
    std::vector<float> data(100'000, 1);
    EXPECT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32, rondoSum, me.comm,
                             nullptr),
              rondoRemoteError);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("rank 0 aborted communicator"), std::string::npos) << sentence;
    rondoCommDestroy(me.comm);
  });
}

/// Only rank 0 sees that a message is not what it asked for; the others wait for it.
TEST(WorldHosts, ADifferenceBetweenOthersIsToldToAll) {
  World(4).hosts({0, 0, 1, 1}).open([](const Rank& me) {
    std::vector<int32_t> data(4);
    if (me.rank == 1) {
      EXPECT_EQ(rondoSend(data.data(), 2, rondoInt32, 0, me.comm, nullptr), rondoSuccess);
    }
    EXPECT_EQ(me.rank == 0 ? rondoRecv(data.data(), 4, rondoInt32, 1, me.comm, nullptr)
                           : rondoBarrier(me.comm, nullptr),
              rondoMismatch);
    const std::string sentence = rondoGetLastError(me.comm);
    EXPECT_NE(sentence.find("rank 0 receives 16 bytes from rank 1, which sends another number"),
              std::string::npos)
        << "rank " << me.rank << ": " << sentence;
    rondoCommDestroy(me.comm);
  });
}

size_t openFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

/// Sockets belong to the process: a communicator more opens none, and one less closes none.
TEST(WorldHosts, ManyCommunicatorsOneAfterTheOther) {
  const auto one = [] {
    World(3).hosts({0, 1, 0}).run([](const Rank& me) { EXPECT_EQ(sumsOf(me, 3000), ""); });
  };
  one();
  const size_t before = openFiles();
  for (int k = 0; k < 30; ++k) one();
  EXPECT_EQ(openFiles(), before);
}

/// Who waits for a rank that has left is told, also where that rank said goodbye.
TEST(WorldHosts, AMessageThatNeverComesIsNoHang) {
  World(2).hosts({0, 1}).open([](const Rank& me) {
    int32_t value = 0;
    if (me.rank == 1) {
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    EXPECT_EQ(rondoRecv(&value, 1, rondoInt32, 1, me.comm, nullptr), rondoRemoteError);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("rank 1"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("host1"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("destroyed its communicator"), std::string::npos) << sentence;
    rondoCommDestroy(me.comm);
  });
}

/// Nor one that is more than what is under way, and whose receiver has left.
TEST(WorldHosts, AMessageThatNobodyTakesIsNoHang) {
  constexpr size_t kMuch = 3'000'000;
  using Gives = std::function<rondoResult_t(std::vector<int32_t>&, rondoComm_t)>;
  const Gives all[] = {
      [](std::vector<int32_t>& data, rondoComm_t comm) {
        return rondoSend(data.data(), kMuch, rondoInt32, 1, comm, nullptr);
      },
      [](std::vector<int32_t>& data, rondoComm_t comm) {
        return rondoBroadcast(data.data(), data.data(), kMuch, rondoInt32, 0, comm, nullptr);
      },
      [](std::vector<int32_t>& data, rondoComm_t comm) {
        return rondoReduce(data.data(), nullptr, kMuch, rondoInt32, rondoSum, 1, comm, nullptr);
      }};
  for (const Gives& gives : all) {
    World(2).hosts({0, 1}).open([&gives](const Rank& me) {
      if (me.rank == 1) {
        EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
        return;
      }
      std::vector<int32_t> data(kMuch);
      EXPECT_EQ(gives(data, me.comm), rondoRemoteError);
      const std::string sentence = rondoGetLastError(nullptr);
      EXPECT_NE(sentence.find("rank 1"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("while this rank had more for it"), std::string::npos) << sentence;
      rondoCommDestroy(me.comm);
    });
  }
}

}  // namespace
}  // namespace rondo::testing
