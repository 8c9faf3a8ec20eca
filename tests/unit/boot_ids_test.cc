// Groups that join by several unique ids.

#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "p2p/boot_id.h"
#include "p2p/boot_tree.h"
#include "p2p/id_service.h"
#include "support/refusal.h"
#include "support/world.h"
#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

using rondo::testing::Env;
using rondo::testing::expectRefused;
using rondo::testing::onRanks;

std::vector<rondoUniqueId> newIds(int count) {
  std::vector<rondoUniqueId> ids(static_cast<size_t>(count));
  for (rondoUniqueId& id : ids) makeUniqueId(kHost, &id);
  return ids;
}

TEST(BootIds, EveryRankHasOnePlaceInTheTreeOfAllParts) {
  for (const int n : {1, 2, 3, 7, 16, 65, 300}) {
    for (int ids = 1; ids <= std::min(n, 20); ++ids) {
      std::vector<int> seen(static_cast<size_t>(n));
      ++seen[0];
      for (int rank = 0; rank < n; ++rank) {
        const TreePlace place = treePlace(rank, n, ids);
        EXPECT_EQ(place.own.first, rank);
        EXPECT_EQ(place.parent < 0, rank == 0);
        EXPECT_LE(place.children.size(), 2u * kTreeChildren);
        int next = rank + 1;
        for (const TreeBranch& child : place.children) {
          EXPECT_EQ(child.first, next);
          next = child.end;
          ++seen[static_cast<size_t>(child.first)];
          const TreePlace below = treePlace(child.first, n, ids);
          EXPECT_EQ(below.parent, rank);
          EXPECT_EQ(below.own.end, child.end);
          EXPECT_EQ(below.depth, place.depth + 1);
        }
        EXPECT_EQ(next, place.own.end) << rank << " of " << n << " by " << ids;
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), n);
    }
  }
  EXPECT_LE(treePlace(65535, 65536, 256).depth, 9);
}

TEST(BootIds, APartAndTheFirstRanksOfTheOthersJoinById0) {
  for (const int n : {1, 5, 16, 100}) {
    for (int ids = 1; ids <= std::min(n, 12); ++ids) {
      std::vector<int> joins(static_cast<size_t>(n));
      for (int index = 0; index < ids; ++index) {
        const IdPart part{n, ids, index};
        for (int slot = 0; slot < part.slots(); ++slot) {
          const int rank = part.rankOf(slot);
          EXPECT_EQ(part.slotOf(rank), slot);
          ++joins[static_cast<size_t>(rank)];
        }
        for (int rank = part.begin(); rank < part.end(); ++rank) {
          EXPECT_EQ(IdPart::of(rank, n, ids), index);
          // Its parent joins by the same id, or both do by id 0.
          const int parent = treePlace(rank, n, ids).parent;
          const IdPart first{n, ids, 0};
          EXPECT_TRUE(parent < 0 || part.slotOf(parent) >= 0 ||
                      (first.slotOf(parent) >= 0 && first.slotOf(rank) >= 0));
        }
      }
      for (int rank = 0; rank < n; ++rank) {
        const IdPart part{n, ids, IdPart::of(rank, n, ids)};
        const int expected = part.index > 0 && rank == part.begin() ? 2 : 1;
        EXPECT_EQ(joins[static_cast<size_t>(rank)], expected) << rank << " of " << n;
      }
      // What this is for: no maker serves more than its part, and one rank a part.
      EXPECT_LE((IdPart{n, ids, 0}.slots()), (n + ids - 1) / ids + ids - 1);
    }
  }
  EXPECT_EQ((IdPart{8, 2, 1}.slotOf(3)), -1);
  EXPECT_EQ((IdPart{8, 2, 1}.slotOf(8)), -1);
  EXPECT_EQ((IdPart{8, 2, 0}.slotOf(-1)), -1);
}

TEST(BootIds, RanksGatherAsWithOne) {
  for (const auto& [n, count] : {std::pair{2, 2}, {5, 2}, {9, 9}, {24, 3}}) {
    const std::vector<rondoUniqueId> ids = newIds(count);
    std::atomic<int> right{0};
    std::atomic<uint64_t> most{0};
    const auto outcomes = onThreads(n, [&, ranks = n](int rank) {
      IdBootstrap boot(ids, ranks, rank, kHost);
      for (uint64_t seen = most; boot.messages() > seen;) {
        if (most.compare_exchange_weak(seen, boot.messages())) break;
      }
      std::vector<int> all(static_cast<size_t>(ranks));
      boot.allGather(&rank, sizeof rank, all.data());
      int place = 0;
      right += std::all_of(all.begin(), all.end(), [&](int value) { return value == place++; });
    });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "");
    EXPECT_EQ(right, n);
    // Three with each of two makers, a parent and eight children, and one round along the tree.
    EXPECT_LE(most, 51u);
  }
}

TEST(BootIds, MissingRanksAreNamedToAllParts) {
  const std::vector<rondoUniqueId> ids = newIds(3);
  const auto outcomes = onThreads(8, [&](int rank) {  // of 9: the last part has 6, 7 and 8
    IdBootstrap boot(ids, 9, rank, kHost, 1000);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, rondoSystemError);
    EXPECT_NE(outcome.sentence.find("rank 8 of 9 did not join within 1000 ms"), std::string::npos)
        << outcome.sentence;
  }
}

TEST(BootIds, AFailureInOnePartIsToldToAll) {
  const std::vector<rondoUniqueId> ids = newIds(2);
  const auto outcomes = onThreads(6, [&](int rank) {
    IdBootstrap boot(ids, 6, rank, kHost);
    boot.agree(rondoSuccess, "");
    boot.agree(rank == 4 ? rondoSystemError : rondoSuccess, rank == 4 ? "no more" : "");
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.sentence, "rank 4: no more");
}

TEST(BootIds, RanksThatHaveOtherIdsAreRefused) {
  const std::vector<rondoUniqueId> ids = newIds(2);
  const std::vector<rondoUniqueId> turned{ids[1], ids[0]};
  const Outcome first = outcomeOf([&] { IdBootstrap boot(turned, 4, 3, kHost, 100); });
  EXPECT_EQ(first.sentence, "rank 2 of 4 did not join within 100 ms");
  const Outcome other = outcomeOf([&] { IdBootstrap boot(ids, 4, 0, kHost, 100); });
  EXPECT_EQ(other.code, rondoInvalidUsage);
  EXPECT_EQ(other.sentence, "for rank 0 the id is number 0 of 2, for rank 3 number 1 of 2");
}

TEST(ApiBootIds, ACommunicatorIsAsWithOneId) {
  std::vector<rondoUniqueId> ids(3);
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  onRanks(5, [&](int rank) {
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRankScalable(&comm, 5, ids.data(), 3, rank, nullptr), rondoSuccess)
        << rondoGetLastError(nullptr);
    int mine = 1 << rank, sum = 0;
    EXPECT_EQ(rondoAllReduce(&mine, &sum, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess);
    EXPECT_EQ(sum, 31);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
}

TEST(ApiBootIds, BadArgumentsAreRefusedAtOnce) {
  rondoUniqueId ids[2];
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  rondoComm_t comm = nullptr;
  const char* const call = "rondoCommInitRankScalable";
  for (const int count : {0, -1, 3}) {
    expectRefused(rondoCommInitRankScalable(&comm, 2, ids, count, 0, nullptr), rondoInvalidArgument,
                  call, {"argument idCount is " + std::to_string(count), "allowed: 1 to 2"});
  }
  expectRefused(rondoCommInitRankScalable(&comm, 1 << 16, ids, 4097, 0, nullptr),
                rondoInvalidArgument, call, {"argument idCount is 4097", "at most 4096"});
  expectRefused(rondoCommInitRankScalable(&comm, 2, nullptr, 2, 0, nullptr), rondoInvalidArgument,
                call, {"argument ids is NULL", "allowed: idCount (2) ids"});
  expectRefused(rondoCommInitRankScalable(&comm, 2, ids, 2, 2, nullptr), rondoInvalidArgument, call,
                {"argument rank is 2", "allowed: 0 to 1"});
  const rondoUniqueId twice[2] = {ids[0], ids[0]};
  expectRefused(rondoCommInitRankScalable(&comm, 2, twice, 2, 0, nullptr), rondoInvalidArgument,
                call, {"the same id at 0 and 1", "allowed: different ones"});
  rondoUniqueId changed[2] = {ids[0], ids[1]};
  reinterpret_cast<char*>(&changed[1])[40] ^= 1;
  expectRefused(rondoCommInitRankScalable(&comm, 2, changed, 2, 0, nullptr), rondoInvalidArgument,
                call, {"checksum is wrong"});
  EXPECT_EQ(comm, nullptr);
}

}  // namespace
}  // namespace rondo::test
