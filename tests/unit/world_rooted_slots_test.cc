// GatherV and ScatterV with blocks of any order, on communicators and with roots that change from
// call to call.

#include <gtest/gtest.h>

#include <vector>

#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

constexpr int32_t kPoison = -7;

int32_t value(int rank, size_t i) { return rank * 1000 + static_cast<int32_t>(i); }

/// What the root of a call knows: each rank's block, in int32_t.
struct Blocks {
  std::vector<size_t> counts, displs;
  size_t extent = 0;
};

enum class Order { Packed, Gaps, Backwards };

Blocks blocks(int ranks, size_t most, Order order) {
  Blocks out;
  out.displs.resize(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    out.counts.push_back(r % 3 == 1 ? 0 : most - static_cast<size_t>(r) % (most + 1));
  }
  for (int k = 0; k < ranks; ++k) {
    const auto at = static_cast<size_t>(order == Order::Backwards ? ranks - 1 - k : k);
    out.displs[at] = out.extent;
    out.extent += out.counts[at] + (order == Order::Packed ? 0 : 2);
  }
  return out;
}

void gather(rondoComm_t comm, int rank, int root, const Blocks& all) {
  const size_t mine = all.counts[static_cast<size_t>(rank)];
  std::vector<int32_t> src(mine + 1), dst(all.extent + 1, kPoison), wanted = dst;
  for (size_t i = 0; i < mine; ++i) src[i] = value(rank, i);
  RONDO_OK(rondoGatherV(src.data(), mine, dst.data(), all.counts.data(), all.displs.data(),
                        rondoInt32, root, comm, nullptr));
  for (size_t r = 0; rank == root && r < all.counts.size(); ++r) {
    for (size_t i = 0; i < all.counts[r]; ++i) {
      wanted[all.displs[r] + i] = value(static_cast<int>(r), i);
    }
  }
  ASSERT_EQ(dst, wanted) << "root " << root;
}

void scatter(rondoComm_t comm, int rank, int root, const Blocks& all) {
  const size_t mine = all.counts[static_cast<size_t>(rank)];
  std::vector<int32_t> src(all.extent + 1), dst(mine + 1, kPoison), wanted = dst;
  for (size_t i = 0; i < src.size(); ++i) src[i] = value(root, i);
  RONDO_OK(rondoScatterV(src.data(), all.counts.data(), all.displs.data(), dst.data(), mine,
                         rondoInt32, root, comm, nullptr));
  for (size_t i = 0; i < mine; ++i) {
    wanted[i] = value(root, all.displs[static_cast<size_t>(rank)] + i);
  }
  ASSERT_EQ(dst, wanted) << "root " << root;
}

TEST(WorldRootedSlots, AnyOrderRootAndCommunicator) {
  World(4).run([](const Rank& me) {
    rondoComm_t half = nullptr;
    RONDO_OK(rondoCommSplit(me.comm, me.rank % 2, me.rank, &half, nullptr));
    for (const Order order : {Order::Packed, Order::Gaps, Order::Backwards, Order::Packed}) {
      for (const size_t most : {1, 5, 9000}) {
        for (int root = 0; root < me.size; ++root) {
          const Blocks four = blocks(4, most, order), two = blocks(2, most + 1, order);
          gather(me.comm, me.rank, root, four);
          gather(half, me.rank / 2, root / 2, two);
          scatter(me.comm, me.rank, root, four);
          scatter(half, me.rank / 2, root / 2, two);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
    RONDO_OK(rondoCommDestroy(half));
  });
}

}  // namespace
}  // namespace rondo::testing
