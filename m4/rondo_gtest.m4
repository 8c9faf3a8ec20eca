# GoogleTest: the unit tests.
AC_DEFUN([RONDO_GTEST], [
  RONDO_DEP([gtest], [GTEST], [gtest], [-lgtest -lpthread], [<gtest/gtest.h>],
    [testing::UnitTest::GetInstance()], [libgtest-dev], [optional], [unit tests])
])
