// Sizes, offsets and numbers of NCCL 2.28's binary interface, as its header fixes them.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "drop_in/nccl_calls.h"

namespace {

TEST(NcclAbi, StructuresLieAsInTheHeader) {
  EXPECT_EQ(sizeof(ncclUniqueId), 128u);
  EXPECT_EQ(sizeof(ncclConfig_t), 80u);
  EXPECT_EQ(offsetof(ncclConfig_t, magic), 8u);
  EXPECT_EQ(offsetof(ncclConfig_t, version), 12u);
  EXPECT_EQ(offsetof(ncclConfig_t, blocking), 16u);
  EXPECT_EQ(offsetof(ncclConfig_t, maxCTAs), 28u);
  EXPECT_EQ(offsetof(ncclConfig_t, netName), 32u);
  EXPECT_EQ(offsetof(ncclConfig_t, splitShare), 40u);
  EXPECT_EQ(offsetof(ncclConfig_t, trafficClass), 44u);
  EXPECT_EQ(offsetof(ncclConfig_t, commName), 48u);
  EXPECT_EQ(offsetof(ncclConfig_t, collnetEnable), 56u);
  EXPECT_EQ(offsetof(ncclConfig_t, nvlsCTAs), 68u);
  EXPECT_EQ(offsetof(ncclConfig_t, nvlinkCentricSched), 76u);
  EXPECT_EQ(sizeof(ncclSimInfo_t), 24u);
  EXPECT_EQ(offsetof(ncclSimInfo_t, estimatedTime), 16u);
  EXPECT_EQ(sizeof(ncclTeam_t), 12u);
  EXPECT_EQ(sizeof(ncclResult_t), sizeof(int));
}

TEST(NcclAbi, TheVersionIs228UnderBothNames) {
  int version = 0, again = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(pncclGetVersion(&again), ncclSuccess);
  EXPECT_EQ(version, 22809);
  EXPECT_EQ(again, version);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

TEST(NcclAbi, EveryResultHasItsText) {
  for (int code = 0; code <= ncclNumResults + 1; ++code) {
    const char* text = ncclGetErrorString(static_cast<ncclResult_t>(code));
    ASSERT_NE(text, nullptr);
    EXPECT_EQ(std::strcmp(text, "unknown result code") == 0, code >= ncclNumResults) << code;
  }
}

}  // namespace
