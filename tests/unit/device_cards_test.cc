// What ranks conclude from each other's devices before they share memory.

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <gtest/gtest.h>

#include "coll/device_lease.h"

namespace rondo {
namespace {

DeviceCard cardOf(unsigned char device, uint64_t process, bool together) {
  DeviceCard card{};
  card.device.fill(device);
  card.process = {process, 1};
  card.together = together ? 1 : 0;
  return card;
}

TEST(DeviceCards, ThreadsOfAProcessAndGpusOfTheirOwnTakeNoTurns) {
  EXPECT_EQ(turnsTaken({cardOf(1, 1, false), cardOf(1, 1, false)}), "");
  EXPECT_EQ(turnsTaken({cardOf(1, 1, false), cardOf(2, 2, false), cardOf(3, 3, false)}), "");
  EXPECT_EQ(turnsTaken({}), "");
}

TEST(DeviceCards, ProcessesOnOneGpuTakeTurnsButUnderMps) {
  const std::string said =
      turnsTaken({cardOf(1, 1, false), cardOf(2, 2, false), cardOf(2, 3, false)});
  EXPECT_NE(said.find("ranks 1 and 2 are processes that share a GPU"), std::string::npos) << said;
  EXPECT_NE(said.find("nvidia-cuda-mps-control"), std::string::npos) << said;
  EXPECT_EQ(turnsTaken({cardOf(2, 2, true), cardOf(2, 3, true)}), "");
  EXPECT_NE(turnsTaken({cardOf(2, 2, true), cardOf(2, 3, false)}), "");
}

}  // namespace
}  // namespace rondo

#endif
