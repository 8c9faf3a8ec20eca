// "64K" to bytes, and what is none.

#include "base/size_text.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

uint64_t sizeOf(std::string_view text) {
  uint64_t bytes = 77;
  EXPECT_TRUE(parseSize(text, &bytes)) << text;
  return bytes;
}

TEST(SizeText, PowersOf1024) {
  for (const char* text :
       {"64K", "64k", "64KB", "64kB", "64kb", "64KiB", "64kib", "65536", "65536B"}) {
    EXPECT_EQ(sizeOf(text), 65536u) << text;
  }
  EXPECT_EQ(sizeOf("0"), 0u);
  EXPECT_EQ(sizeOf("3M"), 3u << 20);
  EXPECT_EQ(sizeOf("3GiB"), uint64_t{3} << 30);
  EXPECT_EQ(sizeOf("3t"), uint64_t{3} << 40);
  EXPECT_EQ(sizeOf("18446744073709551615"), ~uint64_t{0});
  EXPECT_EQ(sizeOf("16777215T"), uint64_t{16777215} << 40);
}

TEST(SizeText, WhatIsNoneLeavesTheResultAlone) {
  for (const char* text :
       {"", "B", "K", "KB", "iB", "64iB", "64KBB", "64Ki", "64KK", "64Q", "64 K", " 64", "-64",
        "+64", "1.5K", "0x10", "1e3", "18446744073709551616", "16777216T"}) {
    uint64_t bytes = 77;
    EXPECT_FALSE(parseSize(text, &bytes)) << text;
    EXPECT_EQ(bytes, 77u) << text;
  }
}

TEST(SizeText, ACountHasNoBytes) {
  uint64_t number = 0;
  EXPECT_TRUE(parseCount("2K", &number));
  EXPECT_EQ(number, 2048u);
  for (const char* text : {"2KB", "2KiB", "2B"}) EXPECT_FALSE(parseCount(text, &number)) << text;
}

}  // namespace
}  // namespace rondo
