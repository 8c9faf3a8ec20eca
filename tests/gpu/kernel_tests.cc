// What can be checked of the kernels without a GPU.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "api/types.h"
#include "coll/device_planner.h"
#include "coll/reduce/reduce.h"
#include "coll/registry.h"
#include "kernels/joint_call.h"
#include "kernels/launch.h"
#include "kernels/unaligned.h"

namespace rondo::test {
namespace {

// Of every length, to and from every address: the same bytes, and none beside them.
TEST(Unaligned, LoadsAndStoresMeetAnyAddress) {
  std::mt19937_64 random(7);
  alignas(16) unsigned char from[64], to[48];
  for (unsigned char& byte : from) byte = static_cast<unsigned char>(random());
  for (uint32_t shift = 0; shift < 16; ++shift) {
    Unit around[2];
    std::memcpy(around, from, sizeof around);
    const Unit unit = unitWithin(around[0], around[1], shift);
    EXPECT_EQ(std::memcmp(&unit, from + shift, 16), 0) << shift;
    for (uint32_t at = 0; at < 16; ++at) {
      for (uint32_t bytes : {8u, 16u}) {
        std::memset(to, 0xee, sizeof to);
        storeParts(to + at, unit, bytes);
        EXPECT_EQ(std::memcmp(to + at, from + shift, bytes), 0) << shift << " " << at;
        for (uint32_t i = 0; i < sizeof to; ++i) {
          if (i >= at && i < at + bytes) continue;
          ASSERT_EQ(to[i], 0xee) << i << " beside " << at;
        }
      }
    }
  }
}

TEST(Unaligned, UnitsReachNoFurtherThanTheBuffer) {
  for (uint32_t shift = 0; shift < 16; ++shift) {
    for (uint64_t bytes = 0; bytes < 200; ++bytes) {
      const uint64_t units = unitsWithin(bytes, shift);
      EXPECT_EQ(units % 16, 0u);
      const auto reach = [&](uint64_t end) {  // of the last vector that is loaded
        return end == 0 ? 0 : end + (shift != 0 ? 16 - shift : 0);
      };
      EXPECT_LE(reach(units), bytes) << shift;
      EXPECT_GT(reach(units + 16), bytes) << shift << ": one more would do";
    }
  }
}

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
    if (std::string(kernel.algorithm) == kJoint)
      continue;  // of several calls, by such an algorithm
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

// A registered algorithm that says it runs on a device has a kernel, whatever it must compute.
TEST(Kernels, CoverTheRegistry) {
  for (const Algorithm& row : registry()) {
    if (!row.device) continue;
    const bool reduces = isReduction(row.collective);
    for (const Reduces what : {Reduces::kNothing, Reduces::kHot, Reduces::kAll, Reduces::kScaled}) {
      if ((what == Reduces::kNothing) == reduces) continue;
      if (what == Reduces::kScaled && isScan(row.collective)) continue;  // two kernels
      for (const int ranks : {2, 3, 8}) {
        bool found = false;
        for (const Protocol p : {Protocol::kLL, Protocol::kLL128, Protocol::kSimple}) {
          found |= findKernel(collectiveName(row.collective), row.name, p, what, ranks) != nullptr;
        }
        EXPECT_TRUE(found) << collectiveName(row.collective) << " " << row.name;
      }
    }
  }
}

// What builds without CUDA predict for is what there are kernels for.
TEST(Kernels, AreWhatThePlannerSaysWithoutThem) {
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const char* const algorithm : {"oneshot", "twoshot", "direct", "ring", "chain", "tree"}) {
      for (const Protocol p : {Protocol::kLL, Protocol::kLL128, Protocol::kSimple}) {
        for (const Reduces what :
             {Reduces::kNothing, Reduces::kHot, Reduces::kAll, Reduces::kScaled}) {
          for (const int ranks : {1, 2, 3, 8, 9}) {
            const bool there =
                findKernel(collectiveName(collective), algorithm, p, what, ranks) != nullptr;
            EXPECT_EQ(hasDeviceKernel({collective, 1, 4, what}, algorithm, p, ranks), there)
                << collectiveName(collective) << " " << algorithm << " " << protocolName(p) << ", "
                << ranks << " ranks, reduces " << static_cast<int>(what);
          }
        }
      }
    }
  }
}

// Where the planner lets rings ask whether they go straight the kernel can.
TEST(Kernels, GoStraightWhereThePlannerAsks) {
  DeviceFacts facts;
  facts.lanes = 128;
  facts.lineStores = true;
  for (const int ranks : {2, 4}) {
    facts.ranks = ranks;
    int asking = 0;
    for (const Kernel& row : kernels()) {
      if (row.protocol != Protocol::kSimple || (row.ranks != 0 && row.ranks != ranks)) continue;
      for (int c = 0; c < kCollectives; ++c) {
        if (std::string_view(collectiveName(static_cast<Collective>(c))) != row.collective) {
          continue;
        }
        const DeviceRequest request{static_cast<Collective>(c), 256u << 20, 4, row.reduces};
        const DeviceChoice choice = chooseDevice(request, facts, {});
        ASSERT_NE(choice.kernel, nullptr) << row.collective;
        if (choice.kernel != &row) {  // there is one for so many ranks
          EXPECT_EQ(choice.kernel->ranks, ranks) << row.collective;
          continue;
        }
        EXPECT_EQ(choice.straightRing, row.straight) << row.collective;
        asking += choice.straightRing ? 1 : 0;
      }
    }
    EXPECT_EQ(asking, 3) << ranks;
  }
}

// A ring's launch takes it for calls whose blocks are not aligned.
TEST(Kernels, EveryRingHasATwinForMemoryAnywhere) {
  for (const Kernel& row : kernels()) {
    EXPECT_EQ(row.anywhere != nullptr, row.protocol == Protocol::kSimple)
        << row.collective << " " << row.algorithm;
    EXPECT_NE(row.anywhere, row.function) << row.collective << " " << row.algorithm;
  }
}

// Every type and operator on the device, compiled for the host: the same bits as the host's own.
TEST(Fold, EqualsTheHostsReductions) {
  std::mt19937_64 random(1);
  int inPairs = 0;
  for (const rondoDataType_t type : kAllTypes) {
    for (const rondoRedOp_t op : kAllOps) {
      if (!opDefined(type, op)) continue;
      const ReduceFn host = findReduce(type, op, CpuLevel::kPlain);
      for (int k = 0; k < 3000; ++k) {
        Unit in[8];
        const void* operands[8];
        for (int r = 0; r < 8; ++r) {
          in[r] = {random(), random()};
          operands[r] = &in[r];
          unsigned char* bytes = reinterpret_cast<unsigned char*>(&in[r]);
          for (int i = 0; i < 16 && k % 3 == 0; ++i) {
            constexpr unsigned char kSpecial[] = {0x00, 0xff, 0x7f, 0x80, 0x7c, 0xfc};
            const uint64_t which = random() % 8;
            if (which < 6) bytes[i] = kSpecial[which];
          }
        }
        const int n = 2 + k % 7;
        const uint32_t divisor = op == rondoAvg ? static_cast<uint32_t>(n) : 0;
        Unit want, got = foldAny({type, op, divisor}, in, n);
        host({&want, nullptr, operands, n, 16 / typeSize(type), divisor, false});
        ASSERT_TRUE(want.a == got.a && want.b == got.b)
            << typeName(type) << " " << opName(op) << ", " << n << " operands: " << std::hex
            << got.a << " " << got.b << ", not " << want.a << " " << want.b;
        if (!foldsInPairs({type, op, divisor})) continue;
        Unit pairs = in[0];
        for (int r = 1; r < n; ++r) pairs = foldPair(type, op, pairs, in[r]);
        ASSERT_TRUE(want.a == pairs.a && want.b == pairs.b)
            << typeName(type) << " " << opName(op) << ", " << n
            << " operands in pairs: " << std::hex << pairs.a << " " << pairs.b << ", not " << want.a
            << " " << want.b;
        ++inPairs;
      }
    }
  }
  EXPECT_EQ(inPairs, 44 * 3000) << "ten types of four operators, two of two";
}

// Whatever is asked for, the choice fits: lanes, places, and a kernel for it.
TEST(DevicePlanner, ChoosesWhatFits) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 9, 16}) {
    for (const bool lineStores : {false, true}) {
      for (const Collective collective :
           {Collective::AllReduce, Collective::Reduce, Collective::ReduceScatter,
            Collective::AllGather, Collective::Broadcast, Collective::AllToAll}) {
        for (const uint32_t element : {1u, 2u, 4u, 8u, 16u}) {
          for (const Count count : {Count{1}, Count{77}, Count{5000}, Count{1} << 20}) {
            const DeviceFacts facts{ranks, 100, lineStores || ranks == 1};
            const Reduces what = isReduction(collective) ? Reduces::kAll : Reduces::kNothing;
            const DeviceChoice c = chooseDevice({collective, count, element, what}, facts, {});
            const bool served = collective != Collective::AllToAll || ranks <= kMaxWindowRanks;
            ASSERT_EQ(c.algorithm != nullptr, served)
                << collectiveName(collective) << ", " << ranks << " ranks";
            if (!served) continue;
            ASSERT_NE(c.kernel, nullptr);
            EXPECT_GE(c.geometry.lanes, 1);
            EXPECT_LE(c.geometry.lanes, 100);
            EXPECT_EQ(c.threads % 32, 0);
            const Count bytes = c.geometry.chunk * element;
            if (c.protocol == Protocol::kSimple) {
              EXPECT_LE(bytes, kBlockSlices * kSliceBytes);
            } else if (c.protocol == Protocol::kLL) {
              EXPECT_LE(bytes * 2, kShapeLL.placeBytes(ranks));
            } else {
              const Count line = what == Reduces::kAll ? 448 : 480;  // a warp's data
              EXPECT_LE((bytes + line - 1) / line * 512, kShapeLL128.placeBytes(ranks));
            }
          }
        }
      }
    }
  }
}

TEST(DevicePlanner, RulesForceAndAreIgnoredWhereTheyCannotBeMet) {
  const DeviceFacts facts{4, 128, true};
  const DeviceRequest request{Collective::AllReduce, 1000, 4, Reduces::kHot};
  const auto with = [&](const char* rule) {
    return chooseDevice(request, facts, parseTune(std::string("allreduce:device:0-:") + rule));
  };
  EXPECT_STREQ(with("twoshot/5").algorithm, "twoshot");
  EXPECT_EQ(with("twoshot/5").geometry.lanes, 5);
  EXPECT_EQ(with("oneshot/2/LL128").protocol, Protocol::kLL128);
  EXPECT_STREQ(with("tree").algorithm, "oneshot");
  EXPECT_STREQ(chooseDevice(request, facts, parseTune("allreduce:host:0-:twoshot")).algorithm,
               "oneshot");
}

}  // namespace
}  // namespace rondo::test
