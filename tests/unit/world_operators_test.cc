// Operators made at run time, and the same bits whatever the algorithm.

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <random>

#include "api/handle.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

constexpr const char* kRules[] = {"", "allreduce:host:0-:oneshot,reduce:host:0-:twoshot",
                                  "allreduce:host:0-:ring,reduce:host:0-:ring,"
                                  "reducescatter:host:0-:ring,scan:host:0-:chain",
                                  "allreduce:host:0-:twoshot/1/1K,reduce:host:0-:oneshot"};

void checkScaled(const Rank& me, size_t count) {
  const int32_t mine = me.rank + 2;
  rondoRedOp_t op = 0;
  RONDO_OK(rondoRedOpCreatePreMulSum(&op, &mine, rondoInt32, rondoScalarHostImmediate, me.comm));
  const auto n = static_cast<size_t>(me.size);
  std::vector<int32_t> in(n * count), out(n * count);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i) + me.rank;
  const auto sum = [](int ranks, size_t i) {
    int32_t all = 0;
    for (int r = 0; r < ranks; ++r) all += (static_cast<int32_t>(i) + r) * (r + 2);
    return all;
  };
  RONDO_OK(rondoAllReduce(in.data(), out.data(), count, rondoInt32, op, me.comm, nullptr));
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], sum(me.size, i)) << "all-reduce " << i;
  RONDO_OK(
      rondoReduce(in.data(), out.data(), count, rondoInt32, op, me.size - 1, me.comm, nullptr));
  for (size_t i = 0; me.rank == me.size - 1 && i < count; ++i) ASSERT_EQ(out[i], sum(me.size, i));
  RONDO_OK(rondoReduceScatter(in.data(), out.data(), count, rondoInt32, op, me.comm, nullptr));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(out[i], sum(me.size, static_cast<size_t>(me.rank) * count + i)) << i;
  }
  RONDO_OK(rondoScan(in.data(), out.data(), count, rondoInt32, op, me.comm, nullptr));
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], sum(me.rank + 1, i)) << "scan " << i;
  RONDO_OK(rondoAllReduce(in.data(), in.data(), count, rondoInt32, op, me.comm, nullptr));
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(in[i], sum(me.size, i)) << "in place " << i;
  RONDO_OK(rondoRedOpDestroy(op, me.comm));
  EXPECT_EQ(rondoAllReduce(in.data(), in.data(), count, rondoInt32, op, me.comm, nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoRedOpDestroy(op, me.comm), rondoInvalidArgument);
}

TEST(WorldScaled, EveryRankHasItsOwnScalar) {
  for (const char* rule : kRules) {
    for (const int ranks : {1, 2, 3, 5}) {
      World(ranks).tune(rule).run([](const Rank& me) {
        for (const size_t count : {1, 24, 25, 1025, 20001}) checkScaled(me, count);
      });
    }
  }
}

TEST(WorldScaled, TheScalarIsReadWhenTheCollectiveRuns) {
  World(2).run([](const Rank& me) {
    float scalar = 1, in = 3, out = 0;
    rondoRedOp_t op = 0;
    RONDO_OK(rondoRedOpCreatePreMulSum(&op, &scalar, rondoFloat32, rondoScalarDevice, me.comm));
    for (const float s : {2.0f, 0.5f}) {
      scalar = s;
      RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, op, me.comm, nullptr));
      EXPECT_EQ(out, 6 * s);
    }
    double wrong = 1;
    EXPECT_EQ(rondoAllReduce(&wrong, &wrong, 1, rondoFloat64, op, me.comm, nullptr),
              rondoInvalidArgument);
    RONDO_OK(rondoBarrier(me.comm, nullptr));
  });
}

rondoRedOp_t multipliedBy(const Rank& me, float scalar) {
  rondoRedOp_t op = 0;
  EXPECT_EQ(
      rondoRedOpCreatePreMulSum(&op, &scalar, rondoFloat32, rondoScalarHostImmediate, me.comm),
      rondoSuccess);
  return op;
}

/// And one plan for each size, whichever operator it is; other types have others.
TEST(WorldScaled, OneForEachCallIsPlannedOnce) {
  World(2).run([](const Rank& me) {
    std::vector<size_t> plans;
    for (int i = 0; i < 20; ++i) {
      const rondoRedOp_t op = multipliedBy(me, static_cast<float>(i));
      float in = 1, out = 0;
      RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, op, me.comm, nullptr));
      EXPECT_EQ(out, static_cast<float>(2 * i));
      RONDO_OK(rondoRedOpDestroy(op, me.comm));
      plans.push_back(me.comm->impl->plans());
    }
    EXPECT_EQ(plans.front(), plans.back());
  });
}

/// Ranks that take different ones, though as many, make different calls.
TEST(WorldScaled, DifferentOnesAreAMismatch) {
  World(2).run([](const Rank& me) {
    const rondoRedOp_t ops[] = {multipliedBy(me, 1), multipliedBy(me, 2)};
    std::vector<float> data(10000, 1);
    EXPECT_EQ(rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32, ops[me.rank],
                             me.comm, nullptr),
              rondoMismatch);
  });
}

/// Programs make an operator for each call: what is left of one that is destroyed is nothing, not
/// even after a call that has yet to run.
TEST(WorldScaled, ThoseThatAreDestroyedTakeNoMemory) {
  World(2).run([](const Rank& me) {
    const auto make = [&](float scalar) { return multipliedBy(me, scalar); };
    ScaledOps& ops = me.comm->impl->scaledOps();
    for (int i = 0; i < 1000; ++i) RONDO_OK(rondoRedOpDestroy(make(1), me.comm));
    EXPECT_EQ(ops.alive(), 0u);
    const rondoRedOp_t stays = make(3);
    float in = 1, out[3] = {};
    RONDO_OK(rondoGroupStart());
    for (int i = 0; i < 2; ++i) {
      const rondoRedOp_t op = make(static_cast<float>(10 + i));
      RONDO_OK(rondoAllReduce(&in, &out[i], 1, rondoFloat32, op, me.comm, nullptr));
      RONDO_OK(rondoRedOpDestroy(op, me.comm));
    }
    RONDO_OK(rondoAllReduce(&in, &out[2], 1, rondoFloat32, stays, me.comm, nullptr));
    for (int i = 0; i < 100; ++i) RONDO_OK(rondoRedOpDestroy(make(-1), me.comm));
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupEndAsync(&request));
    for (int i = 0; i < 100; ++i) RONDO_OK(rondoRedOpDestroy(make(-1), me.comm));
    RONDO_OK(rondoWait(&request));
    EXPECT_EQ(out[0], 20);
    EXPECT_EQ(out[1], 22);
    EXPECT_EQ(out[2], 6);
    EXPECT_EQ(ops.alive(), 1u);
  });
}

/// Numbers come again after two billion operators, some hours of one for each call.
TEST(WorldScaled, OneThatLastsStaysWhatItIsWhenNumbersComeAgain) {
  World(2).run([](const Rank& me) {
    const auto make = [&](float scalar) { return multipliedBy(me, scalar); };
    const auto sum = [&](rondoRedOp_t op) {
      float in = 1, out = 0;
      EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoFloat32, op, me.comm, nullptr), rondoSuccess);
      return out;
    };
    const rondoRedOp_t first = make(3), second = make(4);
    me.comm->impl->scaledOps().startAt(INT_MAX - ScaledOps::kFirst - 1);
    const rondoRedOp_t last = make(5), next = make(6);
    EXPECT_EQ(last, INT_MAX - 1);
    EXPECT_EQ(sum(first), 6);
    EXPECT_EQ(sum(second), 8);
    EXPECT_EQ(sum(last), 10);
    EXPECT_EQ(sum(next), 12);
    for (const rondoRedOp_t op : {next, last, second, first}) {
      RONDO_OK(rondoRedOpDestroy(op, me.comm));
    }
  });
}

/// Random bits, with NaN, infinities, zeros and denormals among them.
std::vector<float> wild(int rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 77 + 1);
  std::vector<float> out(count);
  for (float& value : out) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (bits % 61 == 0) bits = 0x7f800000u;
    if (bits % 67 == 0) bits = 0x80000000u;
    if (bits % 71 == 0) bits &= 0x807fffffu;
    std::memcpy(&value, &bits, sizeof bits);
  }
  return out;
}

/// The balanced binary tree over ranks [lo, hi), split at the largest power of two below their
/// number; NaN is the one quiet NaN.
float tree(const std::vector<std::vector<float>>& in, size_t i, size_t lo, size_t hi) {
  if (hi - lo == 1) return in[lo][i];
  size_t half = 1;
  while (2 * half < hi - lo) half *= 2;
  return tree(in, i, lo, lo + half) + tree(in, i, lo + half, hi);
}

bool sameBits(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A scalar that only a device can read, and buffers of the host, which the host would reduce.
TEST(WorldScaled, AScalarOfADeviceIsRefusedForHostMemory) {
  World(2).run([](const Rank& me) {
    float scalar = 1, in[4] = {1, 2, 3, 4}, out[4] = {};
    const size_t counts[2] = {1, 2};
    rondoRedOp_t op = 0;
    RONDO_OK(rondoRedOpCreatePreMulSum(&op, &scalar, rondoFloat32, rondoScalarDevice, me.comm));
    me.comm->impl->scaledOps().find(op)->onDevice = true;  // there need be no device
    const rondoResult_t results[] = {
        rondoAllReduce(in, out, 4, rondoFloat32, op, me.comm, nullptr),
        rondoReduceScatter(in, out, 2, rondoFloat32, op, me.comm, nullptr),
        rondoReduceScatterV(in, out, counts, rondoFloat32, op, me.comm, nullptr)};
    for (const rondoResult_t result : results) EXPECT_EQ(result, rondoUnsupported);
    const std::string sentence = rondoGetLastError(me.comm);
    const std::string wanted =
        "rondoReduceScatterV: rank " + std::to_string(me.rank) + ": argument op";
    EXPECT_EQ(sentence.find(wanted), 0u) << sentence;
    RONDO_OK(rondoBarrier(me.comm, nullptr));
  });
}

TEST(WorldReproducible, OneAssociationWhateverTheAlgorithm) {
  const Env on("RONDO_REPRODUCIBLE", "1");
  for (const char* rule : {"", "allreduce:host:0-:oneshot/1", "allreduce:host:0-:twoshot/2/1K"}) {
    for (const int ranks : {2, 3, 5, 6, 8, 11}) {
      const size_t count = 5003;
      std::vector<std::vector<float>> all;
      for (int r = 0; r < ranks; ++r) all.push_back(wild(r, count));
      World(ranks).tune(rule).run([&](const Rank& me) {
        const auto& in = all[static_cast<size_t>(me.rank)];
        std::vector<float> out(count);
        RONDO_OK(
            rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, me.comm, nullptr));
        for (size_t i = 0; i < count; ++i) {
          const float wanted = tree(all, i, 0, static_cast<size_t>(me.size));
          ASSERT_TRUE(sameBits(out[i], wanted)) << out[i] << " is not " << wanted << " at " << i;
        }
        RONDO_OK(rondoScan(in.data(), out.data(), count, rondoFloat32, rondoSum, me.comm, nullptr));
        for (size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(sameBits(out[i], tree(all, i, 0, static_cast<size_t>(me.rank) + 1)));
        }
      });
    }
  }
}

TEST(WorldReproducible, AnAlgorithmThatCannotIsNotChosen) {
  const Env on("RONDO_REPRODUCIBLE", "1");
  rondoUniqueId id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.tune = "allreduce:host:0-:ring";
  onRanks(2, [&](int rank) {
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 2, id, rank, &config), rondoSuccess);
    float value = 1;
    EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoFloat32, rondoSum, comm, nullptr),
              rondoInvalidUsage);
    const std::string sentence = rondoGetLastError(comm);
    EXPECT_NE(sentence.find("reproducible"), std::string::npos) << sentence;
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing
