// What can be checked of the kernels without a GPU.

#include <gtest/gtest.h>

#include "api/rondo.h"
#include "coll/registry.h"
#include "kernels/launch.h"

namespace rondo::test {
namespace {

// The kernels' division-free cut is the algorithms' cut.
TEST(Cut, EqualsTheAlgorithmsParts) {
  for (int lanes : {1, 2, 7, 32}) {
    for (int blocks : {1, 3, 4, 8}) {
      for (algo::Count chunk : {4u, 64u, 1024u}) {
        const algo::Count period = static_cast<algo::Count>(lanes * blocks) * chunk;
        for (algo::Count count : {algo::Count{1}, algo::Count{5}, period / 2 + 1, period - 1,
                                  period, period + 1, 3 * period + 17, 4 * period}) {
          const algo::Geometry g{count, lanes, blocks, chunk, 4};
          const Cut cut = cutOf(g);
          for (int lane = 0; lane < lanes; ++lane) {
            algo::Count seen = 0;
            forEachPart(cut, lane, [&](const algo::Part& part) {
              const algo::Count k = seen++;
              algo::Part want =
                  k < g.fullPeriods() ? algo::fullPart(g, lane) : algo::lastPart(g, lane);
              want.offset += k * period;
              ASSERT_EQ(part.offset, want.offset);
              ASSERT_EQ(part.count, want.count);
              ASSERT_EQ(part.block, want.block);
            });
            ASSERT_EQ(seen, g.fullPeriods() + (algo::lastPart(g, lane).count > 0 ? 1 : 0));
          }
        }
      }
    }
  }
}

// Every kernel is made of a registered algorithm that is sound on a device.
TEST(Kernels, StandInTheRegistry) {
  ASSERT_FALSE(kernels().empty());
  for (const Kernel& kernel : kernels()) {
    const Algorithm* algorithm = nullptr;
    for (const Algorithm& row : registry()) {
      if (std::string(kernel.algorithm) == row.name &&
          std::string(kernel.collective) == collectiveName(row.collective)) {
        algorithm = &row;
      }
    }
    ASSERT_NE(algorithm, nullptr) << kernel.collective << " " << kernel.algorithm;
    EXPECT_TRUE(algorithm->device) << kernel.collective << " " << kernel.algorithm;
  }
}

// A registered algorithm that says it runs on a device has a kernel.
TEST(Kernels, CoverTheRegistry) {
  for (const Algorithm& row : registry()) {
    if (!row.device) continue;
    EXPECT_NE(findKernel(collectiveName(row.collective), row.name, 4, rondoFloat32, rondoSum),
              nullptr)
        << collectiveName(row.collective) << " " << row.name;
  }
}

}  // namespace
}  // namespace rondo::test
