// An all-to-all in place as sends and receives (src/coll/device_in_place.h), carried out by ranks
// that copy from each other's memory as late as they may.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "coll/device_in_place.h"

namespace rondo::testing {
namespace {

/// Bytes that rank a and rank b have for each other.
uint64_t between(size_t a, size_t b, uint64_t unit) { return (a + b) % 4 * unit + (a * b) % 3; }

unsigned char byteOf(size_t from, size_t to, uint64_t i) {
  return static_cast<unsigned char>(from * 97 + to * 31 + i * 7 + 1);
}

struct InPlaceRank {
  std::vector<char> data, scratch;
  std::vector<uint64_t> places;
  std::vector<Transfer> copies, moves;
};

InPlaceRank rankOf(size_t me, size_t size, uint64_t unit) {
  InPlaceRank rank;
  uint64_t end = 5;  // off any alignment
  for (size_t r = 0; r < size; ++r) {
    rank.places.push_back(end);
    end += between(me, r, unit) + 3;
  }
  rank.data.assign(end, 99);
  std::vector<Transfer> transfers;
  for (size_t r = 0; r < size; ++r) {
    char* const at = rank.data.data() + rank.places[r];
    const uint64_t bytes = between(me, r, unit);
    for (uint64_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(byteOf(me, r, i));
    transfers.push_back({static_cast<int>(r), true, at, bytes});
    transfers.push_back({static_cast<int>(r), false, at, bytes});
  }
  InPlaceExchange exchange(transfers, static_cast<int>(me));
  rank.scratch.resize(exchange.scratchBytes() + 16);
  const uint64_t off = reinterpret_cast<uint64_t>(rank.scratch.data()) % 16;
  exchange.useScratch(rank.scratch.data() + (16 - off) % 16);
  rank.copies.assign(exchange.copies().begin(), exchange.copies().end());
  rank.moves.assign(exchange.moves().begin(), exchange.moves().end());
  return rank;
}

TEST(InPlaceExchange, EveryRankHasWhatTheOthersHadForIt) {
  for (size_t size = 1; size <= 6; ++size) {
    for (const uint64_t unit : {uint64_t{0}, uint64_t{1}, uint64_t{16}, uint64_t{1001}}) {
      std::vector<InPlaceRank> ranks;
      for (size_t r = 0; r < size; ++r) ranks.push_back(rankOf(r, size, unit));
      for (InPlaceRank& rank : ranks) {
        for (size_t k = 0; k < rank.copies.size(); k += 2) {
          const Transfer &from = rank.copies[k], &to = rank.copies[k + 1];
          ASSERT_EQ(from.bytes, to.bytes);
          EXPECT_TRUE(from.sends && !to.sends);
          EXPECT_EQ(reinterpret_cast<uint64_t>(from.data) % 16,
                    reinterpret_cast<uint64_t>(to.data) % 16);
          const char* const end = rank.scratch.data() + rank.scratch.size();
          ASSERT_TRUE(to.data >= rank.scratch.data() && to.data + to.bytes <= end);
          std::memcpy(to.data, from.data, from.bytes);
        }
      }
      // One receive after the other, from what the sender's memory is by then.
      for (size_t to = 0; to < size; ++to) {
        for (size_t from = 0; from < size; ++from) {
          const Transfer& in = ranks[to].moves[2 * from + 1];
          const Transfer& out = ranks[from].moves[2 * to];
          ASSERT_EQ(in.bytes, out.bytes);
          std::memmove(in.data, out.data, in.bytes);
        }
      }
      for (size_t to = 0; to < size; ++to) {
        uint64_t wrong = 0, at = 0;
        const auto untouched = [&](uint64_t until) {
          for (; at < until; ++at) wrong += ranks[to].data[at] != 99;
        };
        for (size_t from = 0; from < size; ++from) {
          untouched(ranks[to].places[from]);
          for (uint64_t i = 0; i < between(to, from, unit); ++i, ++at) {
            wrong += static_cast<unsigned char>(ranks[to].data[at]) != byteOf(from, to, i);
          }
        }
        untouched(ranks[to].data.size());
        EXPECT_EQ(wrong, 0u) << "rank " << to << " of " << size << ", unit " << unit;
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing
