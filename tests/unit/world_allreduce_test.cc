// All-reduce by ranks that are threads, against a plain sum.

#include <gtest/gtest.h>

#include <cstring>

#include "support/world.h"

namespace rondo::testing {
namespace {

float value(int rank, size_t i) {
  return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 64) - 31;
}

void checkSum(const Rank& me, size_t count, bool inPlace, bool shared) {
  float *send = nullptr, *recv = nullptr;
  std::vector<float> a, b;
  if (shared) {
    void *p = nullptr, *q = nullptr;
    ASSERT_EQ(rondoMemAlloc(&p, count * 4), rondoSuccess);
    ASSERT_EQ(rondoMemAlloc(&q, count * 4), rondoSuccess);
    send = static_cast<float*>(p);
    recv = static_cast<float*>(q);
  } else {
    a.resize(count);
    b.resize(count);
    send = a.data();
    recv = b.data();
  }
  float* out = inPlace ? send : recv;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < count; ++i) {
      recv[i] = -1e30f;
      send[i] = value(me.rank, i + static_cast<size_t>(round));
    }
    ASSERT_EQ(rondoAllReduce(send, out, count, rondoFloat32, rondoSum, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    for (size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int r = 0; r < me.size; ++r) sum += value(r, i + static_cast<size_t>(round));
      ASSERT_EQ(out[i], sum) << "rank " << me.rank << " of " << me.size << ", element " << i
                             << " of " << count << ", round " << round
                             << (inPlace ? ", in place" : "") << (shared ? ", shared" : "");
    }
  }
  if (shared) {
    rondoBarrier(me.comm, nullptr);
    rondoMemFree(send);
    rondoMemFree(recv);
  }
}

class WorldAllReduce : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(WorldAllReduce, SumsOnEveryRank) {
  const auto [algorithm, ranks] = GetParam();
  const std::string rule = std::string("allreduce:host:0-:") + algorithm;
  World(ranks).tune(rule.c_str()).run([](const Rank& me) {
    for (const size_t count : {1, 2, 3, 15, 16, 17, 1000, 8191, 8192, 8193, 50000, 300001}) {
      for (const bool inPlace : {false, true}) {
        for (const bool shared : {false, true}) checkSum(me, count, inPlace, shared);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, WorldAllReduce,
                         ::testing::Combine(::testing::Values("ring", "oneshot", "twoshot",
                                                              "ring/1/4K", "twoshot/2/1K"),
                                            ::testing::Values(1, 2, 3, 4, 5, 8)));

}  // namespace
}  // namespace rondo::testing
