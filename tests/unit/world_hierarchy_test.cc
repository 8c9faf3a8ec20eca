// Hierarchies run for real: groups of all kinds, every root, in place and not, against the plain
// account of each call.

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "api/handle.h"
#include "support/collective_case.h"
#include "support/world.h"
#include "topo/near_groups.h"

namespace rondo::testing {
namespace {

const char* const kRules[] = {
    "allreduce:host:0-:hier,broadcast:host:0-:hier,reduce:host:0-:hier,allgather:host:0-:hier,"
    "reducescatter:host:0-:hier,barrier:host:0-:hier,alltoall:host:0-:hier",
    "allreduce:host:0-:stripes/2/1K,broadcast:host:0-:hier/2/1K,reduce:host:0-:hier/2/1K,"
    "allgather:host:0-:hier/2/1K,reducescatter:host:0-:hier/2/"
    "1K,barrier:host:0-:dissemination,alltoall:host:0-:hier/2/1K"};

/// Halves, every other rank, one larger group, everyone alone, and two at random.
std::vector<std::string> groupings(int ranks) {
  std::mt19937 random(static_cast<unsigned>(ranks));
  std::vector<std::string> out(6);
  for (int r = 0; r < ranks; ++r) {
    const int groups[] = {2 * r / ranks,
                          r % 2,
                          r == ranks - 2 ? 1 : 0,
                          r,
                          static_cast<int>(random() % 3),
                          static_cast<int>(random() % 5)};
    for (size_t k = 0; k < out.size(); ++k) {
      out[k] += (r == 0 ? "" : ",") + std::to_string(groups[k]);
    }
  }
  return out;
}

void check(const Rank& me, const Case& call) {
  const Side side = sideOf(call, me.rank, me.size);
  const size_t element = typeSize(call.type);
  const bool place = call.inPlace && side.mayAlias;
  const auto before = static_cast<size_t>(place && side.alias < 0 ? -side.alias : 0);
  const auto past = static_cast<size_t>(place && side.alias > 0 ? side.alias : 0);
  const size_t recvCount = std::max(before + side.recvCount, past + (place ? side.sendCount : 0));
  std::vector<char> recv(recvCount * element + 1, 77), apart(side.sendCount * element + 1);
  char* const in = place ? recv.data() + past * element : apart.data();
  char* const out = recv.data() + before * element;
  if (side.usesSend) lay(in, side.sendCount, inputPattern(call, me.rank), 0);
  std::vector<char> wanted = recv;
  applyBlocks(call, side, wanted.data() + before * element);
  ASSERT_EQ(invoke(call, side, in, out, me.rank, me.comm), rondoSuccess)
      << rondoGetLastError(me.comm) << "; " << call.text();
  ASSERT_TRUE(recv == wanted) << "rank " << me.rank << " of " << me.size << ", " << call.text();
}

/// All calls that have a hierarchy, at one count.
void checkAll(const Rank& me, rondoDataType_t type, size_t count, bool inPlace) {
  for (const Call call :
       {Call::AllReduce, Call::Broadcast, Call::Reduce, Call::AllGather, Call::AllGatherV,
        Call::ReduceScatter, Call::ReduceScatterV, Call::AllToAll}) {
    Case c{call, type, rondoSum, count, 0, inPlace, false, 0};
    c.salt = static_cast<unsigned>(count);
    for (c.root = 0; c.root < (isRooted(call) ? me.size : 1); ++c.root) {
      check(me, c);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

class WorldHierarchy : public ::testing::TestWithParam<int> {};

TEST_P(WorldHierarchy, EqualsThePlainReference) {
  const int ranks = GetParam();
  for (const std::string& groups : groupings(ranks)) {
    for (const char* rule : kRules) {
      SCOPED_TRACE("RONDO_GROUPS=" + groups + " RONDO_TUNE=" + rule);
      World(ranks).tune(rule).groups(groups).run([](const Rank& me) {
        for (const size_t count : {0, 1, 17, 255, 257, 2049, 9001}) {
          checkAll(me, count % 2 == 0 ? rondoInt32 : rondoFloat32, count, count % 3 == 0);
          if (::testing::Test::HasFatalFailure()) return;
        }
      });
      if (HasFailure()) return;
    }
  }
}

/// Messages that are posted where they stand.
TEST_P(WorldHierarchy, LongMessages) {
  const int ranks = GetParam();
  for (const char* rule : {kRules[0], "allreduce:host:0-:stripes"}) {
    World(ranks).tune(rule).groups(groupings(ranks)[4]).run([](const Rank& me) {
      for (const bool inPlace : {false, true}) checkAll(me, rondoFloat32, 50'001, inPlace);
    });
  }
}

TEST_P(WorldHierarchy, NobodyLeavesABarrierBeforeAllCame) {
  const int ranks = GetParam();
  for (const char* rule : kRules) {
    for (const std::string& groups : groupings(ranks)) {
      std::atomic<int> came{0};
      World(ranks).tune(rule).groups(groups).run([&](const Rank& me) {
        for (int round = 1; round <= 20; ++round) {
          came.fetch_add(1);
          ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
          ASSERT_GE(came.load(), round * me.size) << "round " << round << ", groups " << groups;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(World, WorldHierarchy, ::testing::Values(2, 3, 4, 5, 8));

/// The groups that a communicator of 4 ranks has agreed on, as every rank has them.
std::vector<std::string> agreedGroups(const std::function<void(int)>& before) {
  constexpr int kRanks = 4;
  rondoUniqueId id;
  EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  std::vector<std::string> all(kRanks);
  onRanks(kRanks, [&](int rank) {
    before(rank);
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRank(&comm, kRanks, id, rank), rondoSuccess)
        << rondoGetLastError(nullptr);
    all[static_cast<size_t>(rank)] = comm->impl->facts().groups.text();
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
  return all;
}

TEST(WorldGroups, ComeFromTheBindings) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &mine)) cpus.push_back(cpu);
  }
  // Every other rank on this process's first CPU, the rest on its last one.
  std::vector<cpu_set_t> bindings(4);
  for (size_t r = 0; r < bindings.size(); ++r) {
    CPU_ZERO(&bindings[r]);
    CPU_SET(static_cast<size_t>(r % 2 == 0 ? cpus.front() : cpus.back()), &bindings[r]);
  }
  const auto bind = [&](int rank) {
    const cpu_set_t& cpu = bindings[static_cast<size_t>(rank)];
    ASSERT_EQ(sched_setaffinity(0, sizeof cpu, &cpu), 0);
  };
  for (const char* wish : {"", "l3", "numa", "package", "off"}) {
    const Env env("RONDO_GROUPS", wish);
    const RankGroups expected(nearGroups(parseGroups(wish, 4), bindings, readNodeFacts().places));
    for (const std::string& groups : agreedGroups(bind)) EXPECT_EQ(groups, expected.text());
  }
}

TEST(WorldGroups, AListOverridesTheBindings) {
  const Env env("RONDO_GROUPS", "9,4,9,2");
  for (const std::string& groups : agreedGroups([](int) {})) EXPECT_EQ(groups, "0,1,0,2");
}

/// Sums of numbers that are rounded at every step: every rank's bits of one all-reduce.
std::vector<std::vector<float>> roundedSums(const char* rule, const char* groups) {
  constexpr int kRanks = 6;
  constexpr size_t kCount = 3001;
  std::vector<std::vector<float>> all(kRanks, std::vector<float>(kCount));
  World(kRanks).tune(rule).groups(groups).run([&](const Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.rank));
    std::uniform_real_distribution<float> numbers(-1, 1);
    std::vector<float> in(kCount);
    for (float& x : in) x = numbers(random);
    float* const out = all[static_cast<size_t>(me.rank)].data();
    EXPECT_EQ(rondoAllReduce(in.data(), out, kCount, rondoFloat32, rondoSum, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
  });
  return all;
}

TEST(WorldHierarchyBits, RanksAndRunsAgree) {
  for (const char* rule : {"allreduce:host:0-:hier", "allreduce:host:0-:stripes/2/1K"}) {
    for (const char* groups : {"0,0,0,1,1,1", "0,1,2,0,1,0"}) {
      const auto first = roundedSums(rule, groups);
      for (const auto& other : first) EXPECT_EQ(other, first[0]) << rule << " " << groups;
      EXPECT_EQ(roundedSums(rule, groups), first) << rule << " " << groups;
    }
  }
}

TEST(WorldHierarchyBits, ReproducibleSumsDoNotDependOnTheGroups) {
  const Env reproducible("RONDO_REPRODUCIBLE", "1");
  const auto plain = roundedSums("", "0,0,0,0,0,0");
  EXPECT_EQ(roundedSums("", "0,0,0,1,1,1"), plain);
  EXPECT_EQ(roundedSums("", "0,1,0,1,2,2"), plain);
}

TEST(WorldHierarchyBits, ReproducibleSumsCannotBeHierarchies) {
  const Env reproducible("RONDO_REPRODUCIBLE", "1");
  World(4).tune("allreduce:host:0-:hier").groups("0,0,1,1").run([](const Rank& me) {
    int32_t in = 1, out = 0;
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, me.comm, nullptr),
              rondoInvalidUsage);
    EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("cannot be reproducible"),
              std::string::npos)
        << rondoGetLastError(nullptr);
  });
}

}  // namespace
}  // namespace rondo::testing
