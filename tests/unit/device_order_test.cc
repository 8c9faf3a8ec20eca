// The order of communicators that all ranks share.

#include "coll/device_order.h"

#include <gtest/gtest.h>

#include <array>

namespace rondo {
namespace {

TEST(DeviceOrder, IsTheSameForAllRanksOfACommunicator) {
  const std::array<OrderCard, 3> cards = {nextOrderCard(), nextOrderCard(), nextOrderCard()};
  const uint64_t number = agreedOrder(cards);
  EXPECT_EQ(agreedOrder(cards), number);
  EXPECT_EQ(agreedOrder(cards), number);
}

TEST(DeviceOrder, ALaterCommunicatorComesLater) {
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const std::array<OrderCard, 2> cards = {nextOrderCard(), nextOrderCard()};
    const uint64_t number = agreedOrder(cards);
    EXPECT_GT(number, last);
    last = number;
  }
}

// A process that has made few communicators, with one that has made many.
TEST(DeviceOrder, TheLargestNumberOfAnyRankCounts) {
  const std::array<OrderCard, 2> cards = {nextOrderCard(),
                                          OrderCard{nextOrderCard().clock + 1000, 7}};
  const uint64_t far = agreedOrder(cards);
  const std::array<OrderCard, 1> own = {nextOrderCard()};
  EXPECT_GT(agreedOrder(own), far);
}

// Two communicators of the same two ranks, whose cards were given before either was made: each rank
// finishes them in another order, and both still agree which is the first.
TEST(DeviceOrder, ThoseMadeAtTheSameTimeDiffer) {
  const std::array<OrderCard, 2> a = {nextOrderCard(), nextOrderCard()};
  const std::array<OrderCard, 2> b = {nextOrderCard(), nextOrderCard()};
  const uint64_t a0 = agreedOrder(a), b0 = agreedOrder(b);
  const uint64_t b1 = agreedOrder(b), a1 = agreedOrder(a);
  EXPECT_EQ(a0, a1);
  EXPECT_EQ(b0, b1);
  EXPECT_NE(a0, b0);
  EXPECT_EQ(a0 >> 32, b0 >> 32);
}

}  // namespace
}  // namespace rondo
