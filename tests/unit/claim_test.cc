#include "base/claim.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using rondo::Claim;

TEST(Claim, IsOneScopes) {
  std::atomic<bool> busy{false};
  {
    const Claim first(busy);
    ASSERT_TRUE(first);
    const Claim second(busy);
    EXPECT_FALSE(second);
  }
  EXPECT_FALSE(busy);
}

TEST(Claim, OneThatHasNothingGivesNothingBack) {
  std::atomic<bool> busy{false};
  const Claim first(busy);
  { const Claim second(busy); }
  EXPECT_TRUE(busy);
}

TEST(Claim, IsGivenBackWhenAnExceptionLeaves) {
  std::atomic<bool> busy{false};
  const auto work = [&] {
    const Claim mine(busy);
    throw std::runtime_error("no");
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_TRUE(Claim(busy));
}

}  // namespace
