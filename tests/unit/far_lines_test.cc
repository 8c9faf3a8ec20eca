// Short chunks in lines: what went in comes out, and nothing is taken for it.

#include "coll/far_lines.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rondo {
namespace {

using Bytes = std::vector<unsigned char>;

/// Slots with gaps between them, of which nothing else is written.
TEST(FarLines, SlotsOfAnyLengthAnywhere) {
  std::mt19937 random(7);
  std::vector<FarLine> lines(kMostFarLines);
  for (uint32_t number = 1; number < 600; ++number) {
    const uint64_t slots = 1 + random() % 5, bytes = 1 + random() % 70;
    const uint64_t fromStride = bytes + random() % 9, toStride = bytes + random() % 9;
    const uint64_t shift = random() % 9, other = random() % 9;
    Bytes from(slots * fromStride + 16), to(slots * toStride + 16, 0xa5);
    for (unsigned char& each : from) each = static_cast<unsigned char>(random());
    const FarLined source{slots, bytes, fromStride}, target{slots, bytes, toStride};
    ASSERT_LE(source.lines(), kMostFarLines);
    EXPECT_FALSE(lineBegun(lines[0], farTag(number)));
    putLines(lines.data(), source, farTag(number), from.data() + shift);
    EXPECT_TRUE(lineBegun(lines[0], farTag(number)));
    ASSERT_TRUE(takeLines(lines.data(), target, farTag(number), to.data() + other));
    Bytes wanted(to.size(), 0xa5);
    for (uint64_t s = 0; s < slots; ++s) {
      for (uint64_t b = 0; b < bytes; ++b) {
        wanted[other + s * toStride + b] = from[shift + s * fromStride + b];
      }
    }
    ASSERT_EQ(to, wanted) << slots << " slots of " << bytes;
  }
}

TEST(FarLines, AreTakenWhenAllHalvesHaveCome) {
  std::vector<FarLine> lines(4);
  const Bytes from(26, 'x');
  Bytes to(26);
  const FarLined what{1, 26, 0};
  ASSERT_EQ(what.lines(), 4u);
  putLines(lines.data(), what, farTag(8), from.data());
  for (FarLine& line : lines) {
    for (uint64_t& half : line.half) {
      const uint64_t came = half;
      half = static_cast<uint64_t>(farTag(0)) << 32 | (came & 0xffffffffu);  // of eight chunks ago
      EXPECT_FALSE(takeLines(lines.data(), what, farTag(8), to.data()));
      half = came;
    }
  }
  EXPECT_TRUE(takeLines(lines.data(), what, farTag(8), to.data()));
}

TEST(FarLines, NoNumberHasTheTagOfLinesThatAreClear) {
  std::vector<FarLine> lines(2);
  putLines(lines.data(), {1, 16, 0}, farTag(5), Bytes(16, 1).data());
  clearLines(lines.data(), lines.size());
  for (const uint32_t number : {0u, 1u, 5u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_FALSE(lineBegun(lines[0], farTag(number))) << number;
    EXPECT_FALSE(takeLines(lines.data(), {1, 16, 0}, farTag(number), Bytes(16).data()));
  }
}

}  // namespace
}  // namespace rondo
