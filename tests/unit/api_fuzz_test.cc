// Random garbage for arguments, three seconds of it: nothing crashes, hangs or is accepted, no data
// is touched, and the communicators work afterwards.

#include "fuzz/api_calls.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "support/world.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// RONDO_FUZZ_SEED repeats a run.
uint64_t firstSeed() {
  const char* given = std::getenv("RONDO_FUZZ_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

void fuzz(const fuzz::Handles& handles, uint64_t seed, Clock::time_point end) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(4096);
  uint64_t calls = 0;
  while (Clock::now() < end) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    fuzz::Draw draw(bytes.data(), bytes.size());
    while (!draw.empty()) {
      fuzz::Caller caller(handles, draw);
      const std::string wrong = caller.once();
      ASSERT_EQ(wrong, "") << "RONDO_FUZZ_SEED=" << seed << ", call " << calls;
      ++calls;
    }
  }
  EXPECT_GT(calls, 100u);
}

class ApiFuzz : public ::testing::TestWithParam<int> {};

TEST_P(ApiFuzz, NothingInvalidIsAccepted) {
  const int ranks = GetParam();
  const uint64_t seed = firstSeed();
  RecordProperty("seed", std::to_string(seed));
  rondoUniqueId others[2];
  for (rondoUniqueId& id : others) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  World(ranks).run([&](const Rank& me) {
    fuzz::Handles handles{me.comm, nullptr, nullptr, me.size, me.rank};
    ASSERT_EQ(rondoCommInitRank(&handles.finalized, ranks, others[0], me.rank), rondoSuccess);
    ASSERT_EQ(rondoCommInitRank(&handles.destroyed, ranks, others[1], me.rank), rondoSuccess);
    ASSERT_EQ(rondoCommFinalize(handles.finalized), rondoSuccess);
    ASSERT_EQ(rondoCommDestroy(handles.destroyed), rondoSuccess);
    fuzz(handles, seed + static_cast<uint64_t>(me.rank),
         Clock::now() + std::chrono::milliseconds(1500));
    int64_t value = 2;
    EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoInt64, rondoSum, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(value, 2 * me.size);
    EXPECT_EQ(rondoCommDestroy(handles.finalized), rondoSuccess);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, ApiFuzz, ::testing::Values(1, 2));

}  // namespace
}  // namespace rondo::testing
