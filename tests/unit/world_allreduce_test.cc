// All-reduce by ranks that are threads: every algorithm, type and operator over a sampled grid of
// counts, memory and alignment, equal in every bit to a plain reduction in rank order.

#include <gtest/gtest.h>

#include <random>

#include "p2p/faulty_ports.h"
#include "support/buffer.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// One call as all ranks see it.
struct Case {
  rondoDataType_t type;
  rondoRedOp_t op;
  size_t count;
  bool inPlace;
  uint32_t sharedSend, sharedRecv;  ///< Bit r: rank r's buffer is from rondoMemAlloc.
  size_t skew;                      ///< Bytes off alignment, of every second rank.

  std::string text() const {
    return std::string(typeName(type)) + " " + opName(op) + " count " + std::to_string(count) +
           (inPlace ? " in place" : "") + " shared " + std::to_string(sharedSend) + "/" +
           std::to_string(sharedRecv) + " skew " + std::to_string(skew);
  }
};

void check(const Rank& me, const Case& c) {
  const size_t bytes = c.count * typeSize(c.type);
  const size_t skew = me.rank % 2 == 0 ? c.skew : 0;
  Buffer send(bytes, (c.sharedSend >> me.rank & 1) != 0, skew);
  Buffer recv(bytes, (c.sharedRecv >> me.rank & 1) != 0, 3 * skew);
  const std::vector<char> mine = contribution(c.type, c.op, me.rank);
  repeat(send.data(), bytes, mine);
  char* out = c.inPlace ? send.data() : recv.data();
  ASSERT_EQ(rondoAllReduce(send.data(), out, c.count, c.type, c.op, me.comm, nullptr), rondoSuccess)
      << rondoGetLastError(me.comm) << "; " << c.text();
  const size_t wrong = firstWrong(out, bytes, expectedValues(c.type, c.op, me.size));
  EXPECT_EQ(wrong, bytes) << "rank " << me.rank << " of " << me.size << ", " << c.text();
  if (!c.inPlace) {
    EXPECT_EQ(firstWrong(send.data(), bytes, mine), bytes) << "sendbuff changed, " << c.text();
  }
  EXPECT_TRUE(send.intact() && recv.intact()) << c.text();
}

/// Counts around the boundaries of chunks, blocks and periods of `chunk` bytes, and between.
size_t sampleCount(std::mt19937& random, int ranks, size_t element, size_t chunk) {
  const size_t block = chunk / element, n = static_cast<size_t>(ranks);
  const size_t edges[] = {1,
                          block,
                          n * block,
                          2 * block,
                          n,
                          2 * n * block,
                          4 * n * block,
                          104 / element,
                          64 / element,
                          4096 / element,
                          3 * n * block};
  const size_t edge = edges[random() % std::size(edges)];
  switch (random() % 5) {
    case 0:
      return edge;
    case 1:
      return edge - 1;
    case 2:
      return edge + 1;
    case 3:
      return random() % 300;
    default:
      return random() % (5 * n * block) | 1;
  }
}

uint32_t sampleShared(std::mt19937& random) {
  switch (random() % 3) {
    case 0:
      return 0;
    case 1:
      return ~0u;
    default:
      return static_cast<uint32_t>(random());
  }
}

std::vector<Case> sampleCases(unsigned seed, int ranks, size_t chunk, int perPair) {
  std::mt19937 random(seed);
  std::vector<Case> cases;
  for (const rondoDataType_t type : kAllTypes) {
    for (const rondoRedOp_t op : kAllOps) {
      if (!opDefined(type, op)) continue;
      for (int k = 0; k < perPair; ++k) {
        const size_t element = typeSize(type);
        const size_t skews[] = {0, 0, element, 1, 5};
        cases.push_back({type, op, sampleCount(random, ranks, element, chunk), random() % 3 == 0,
                         sampleShared(random), sampleShared(random), skews[random() % 5]});
      }
    }
  }
  return cases;
}

class WorldAllReduce : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(WorldAllReduce, EqualsThePlainReduction) {
  const auto [algorithm, ranks] = GetParam();
  const bool own = *algorithm == '\0';
  const std::string rule = own ? "" : std::string("allreduce:host:0-:") + algorithm;
  const size_t chunk = std::strstr(algorithm, "/1K") != nullptr ? 1024 : 8192;
  const unsigned seed = static_cast<unsigned>(ranks) * 1000 + static_cast<unsigned>(rule.size());
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Case> cases = sampleCases(seed, ranks, chunk, 2);
  World(ranks).tune(rule.c_str()).run([&](const Rank& me) {
    for (const Case& c : cases) {
      check(me, c);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(World, WorldAllReduce,
                         ::testing::Combine(::testing::Values("", "ring", "oneshot", "twoshot",
                                                              "ring/2/1K", "twoshot/1/1K"),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)));

TEST(WorldAllReduceLarge, PastTheCachesAndOverManyPeriods) {
  for (const char* rule : {"", "allreduce:host:0-:ring", "allreduce:host:0-:oneshot"}) {
    World(3).tune(rule).run([](const Rank& me) {
      // 8 MiB of doubles and more: results are streamed past the caches.
      for (const bool shared : {false, true}) {
        const uint32_t bits = shared ? ~0u : 0u;
        check(me, {rondoFloat64, rondoSum, 1'100'003, false, bits, bits, 0});
        check(me, {rondoInt8, rondoMax, 900'001, true, bits, bits, 1});
      }
    });
  }
}

/// An int64 that says whose it is and where.
int64_t placed(int rank, size_t i) {
  return static_cast<int64_t>(i * 1000003 + static_cast<size_t>(rank) * 7);
}

/// Over many periods memory of rondoMemAlloc is posted in runs, and its answers are told of
/// together.
void checkPlaced(const Rank& me, size_t count, bool inPlace, uint32_t sharedSend,
                 uint32_t sharedRecv) {
  const size_t bytes = count * sizeof(int64_t);
  Buffer send(bytes, (sharedSend >> me.rank & 1) != 0, 0);
  Buffer recv(bytes, (sharedRecv >> me.rank & 1) != 0, 0);
  auto* in = reinterpret_cast<int64_t*>(send.data());
  for (size_t i = 0; i < count; ++i) in[i] = placed(me.rank, i);
  void* out = inPlace ? send.data() : recv.data();
  ASSERT_EQ(rondoAllReduce(in, out, count, rondoInt64, rondoSum, me.comm, nullptr), rondoSuccess)
      << rondoGetLastError(me.comm);
  for (size_t i = 0; i < count; ++i) {
    int64_t want = 0;
    for (int r = 0; r < me.size; ++r) want += placed(r, i);
    ASSERT_EQ(static_cast<int64_t*>(out)[i], want)
        << "element " << i << " of " << count << " on rank " << me.rank << " of " << me.size;
  }
  EXPECT_TRUE(send.intact() && recv.intact());
}

TEST(WorldAllReduceRuns, EveryMixOfMemoryOverManyPeriods) {
  for (const char* rule : {"twoshot/1/4K", "twoshot/2/8K", "oneshot/1/4K", "ring/1/4K", ""}) {
    const std::string tune = *rule == 0 ? "" : std::string("allreduce:host:0-:") + rule;
    for (const int ranks : {2, 3, 4}) {
      World(ranks).tune(tune.c_str()).run([&](const Rank& me) {
        std::mt19937 random(17);
        for (const size_t count : {25600, 65536, 100003}) {
          for (const bool inPlace : {false, true}) {
            checkPlaced(me, count, inPlace, ~0u, ~0u);
            checkPlaced(me, count, inPlace, ~0u, 0);
            checkPlaced(me, count, inPlace, 0, ~0u);
            const auto some = static_cast<uint32_t>(random());
            checkPlaced(me, count, inPlace, some, some >> 8);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      });
    }
  }
}

/// Late messages and channels that seem full, differently on every rank.
TEST(WorldAllReduceRuns, WithDelays) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(3);
    world.tune("allreduce:host:0-:twoshot/2/4K").decorate([seed](Channels& channels, int rank) {
      injectFaults(channels, rank, [&](const PortId& id) {
        Faults faults;
        faults.seed = seed + static_cast<unsigned>(rank) * 10;
        faults.mostDelay = (id.lane + id.peer + rank) % 2 == 0 ? 40 : 2;
        return faults;
      });
    });
    world.run([seed](const Rank& me) {
      for (uint32_t k = 0; k < 6; ++k) {
        checkPlaced(me, 40000 + 999 * k, k % 2 == 0, ~0u, k < 4 ? ~0u : 1u << seed % 3);
      }
    });
  }
}

TEST(WorldAllReduceMany, SeventeenRanks) {
  for (const char* rule : {"", "allreduce:host:0-:ring", "allreduce:host:0-:twoshot/2/1K"}) {
    World(17).tune(rule).run([](const Rank& me) {
      for (const size_t count : {0, 1, 16, 17, 18, 4351, 70001}) {
        check(me, {rondoInt32, rondoSum, count, false, 0x15555, 0x0ff00, 0});
        check(me, {rondoBfloat16, rondoAvg, count, true, 0x0f0f0, 0, 2});
      }
    });
  }
}

}  // namespace
}  // namespace rondo::testing
