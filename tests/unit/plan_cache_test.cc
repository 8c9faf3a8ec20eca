// The plan cache: bounded, never wrong about a key, and its answers outlive other look-ups.

#include "coll/plan_cache.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

PlanKey key(uint64_t count) { return {count, rondoInt8, rondoSum, 0, Collective::AllReduce}; }

BoundPlan plan(uint64_t mark) {
  BoundPlan out{};
  out.totalBytes = mark;
  return out;
}

TEST(PlanCache, FindsWhatWasInserted) {
  PlanCache cache;
  EXPECT_EQ(cache.find(key(1)), nullptr);
  const BoundPlan* inserted = cache.insert(key(1), plan(10));
  EXPECT_EQ(inserted->totalBytes, 10u);
  EXPECT_EQ(cache.find(key(1)), inserted);
  EXPECT_EQ(cache.find(key(2)), nullptr);
}

TEST(PlanCache, EveryFieldOfTheKeyCounts) {
  PlanCache cache;
  const PlanKey keys[] = {{5, rondoInt8, rondoSum, 0, Collective::AllReduce},
                          {6, rondoInt8, rondoSum, 0, Collective::AllReduce},
                          {5, rondoUint8, rondoSum, 0, Collective::AllReduce},
                          {5, rondoInt8, rondoMax, 0, Collective::AllReduce},
                          {5, rondoInt8, rondoSum, 1, Collective::AllReduce},
                          {5, rondoInt8, rondoSum, 0, Collective::Broadcast}};
  for (size_t i = 0; i < std::size(keys); ++i) {
    EXPECT_EQ(cache.find(keys[i]), nullptr) << i;
    cache.insert(keys[i], plan(i));
  }
  for (size_t i = 0; i < std::size(keys); ++i) EXPECT_EQ(cache.find(keys[i])->totalBytes, i);
}

TEST(PlanCache, IsBoundedAndDropsTheOldest) {
  PlanCache cache(40);
  for (uint64_t i = 0; i < 1000; ++i) {
    cache.insert(key(i), plan(i));
    ASSERT_LE(cache.size(), 40u);
    // Whatever is still there is right.
    for (const uint64_t j : {i, i / 2, i > 39 ? i - 39 : 0, i > 40 ? i - 40 : 0}) {
      const BoundPlan* found = cache.find(key(j));
      if (found != nullptr) {
        ASSERT_EQ(found->totalBytes, j);
      }
    }
  }
  EXPECT_NE(cache.find(key(999)), nullptr);
  EXPECT_EQ(cache.find(key(5)), nullptr);
}

TEST(PlanCache, WhatWasUsedLastStays) {
  PlanCache cache(3);
  for (uint64_t i = 0; i < 3; ++i) cache.insert(key(i), plan(i));
  cache.insert(key(3), plan(3));  // drops 0, and the front
  EXPECT_NE(cache.find(key(1)), nullptr);
  cache.insert(key(4), plan(4));  // drops 2
  EXPECT_NE(cache.find(key(1)), nullptr);
  EXPECT_EQ(cache.find(key(2)), nullptr);
}

}  // namespace
}  // namespace rondo
