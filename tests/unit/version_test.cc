// The library's version and the names of its results.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/rondo.h"

TEST(Version, IsTheHeaders) {
  int version = -1;
  EXPECT_EQ(rondoGetVersion(&version), rondoSuccess);
  EXPECT_EQ(version, RONDO_VERSION_CODE);
}

TEST(Version, RefusesNull) { EXPECT_EQ(rondoGetVersion(nullptr), rondoInvalidArgument); }

TEST(ErrorString, EveryResultHasItsOwnName) {
  std::set<std::string> names;
  for (rondoResult_t result :
       {rondoSuccess, rondoUnhandledCudaError, rondoSystemError, rondoInternalError,
        rondoInvalidArgument, rondoInvalidUsage, rondoRemoteError, rondoInProgress,
        rondoUnsupported, rondoMpiError, rondoOutOfMemory, rondoMismatch}) {
    const std::string name = rondoGetErrorString(result);
    EXPECT_EQ(name.rfind("rondo", 0), 0u) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_STREQ(rondoGetErrorString(rondoInvalidArgument), "rondoInvalidArgument");
}

TEST(ErrorString, UnknownValuesHaveANameToo) {
  EXPECT_STREQ(rondoGetErrorString(static_cast<rondoResult_t>(31)), "unknown result");
}
