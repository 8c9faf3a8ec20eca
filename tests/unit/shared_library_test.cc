#include "base/shared_library.h"

#include <gtest/gtest.h>

namespace {

using rondo::SharedLibrary;

TEST(SharedLibrary, IsTheFirstThatIsThere) {
  SharedLibrary library({"librondo-none.so.1", "libm.so.6"});
  double (*root)(double) = nullptr;
  library.need("sqrt", &root);
  ASSERT_TRUE(library.complete()) << library.missing();
  EXPECT_EQ(root(4.0), 2.0);
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  SharedLibrary none({"librondo-none.so.1", "librondo-none.so.2"});
  int (*function)() = [] { return 1; };
  EXPECT_FALSE(none.find("anything", &function));
  EXPECT_EQ(function, nullptr);
  none.need("anything", &function);
  EXPECT_FALSE(none.complete());
  EXPECT_EQ(none.missing().rfind("there is no librondo-none.so.1 (", 0), 0U) << none.missing();

  SharedLibrary math({"libm.so.6"});
  math.need("rondoFirst", &function);
  math.need("rondoSecond", &function);
  EXPECT_FALSE(math.complete());
  EXPECT_EQ(math.missing(), "libm.so.6 has no function rondoFirst");
}

TEST(SharedLibrary, WhatIsOnlyLookedForNeedNotBeThere) {
  SharedLibrary math({"libm.so.6"});
  int (*function)() = nullptr;
  EXPECT_FALSE(math.find("rondoFirst", &function));
  EXPECT_TRUE(math.complete());
}

}  // namespace
