// Places of memory that graphs receive into (src/coll/graph_places.h), as the background's threads
// fill them, over a driver that is pretended. Kernels that go by them: gpu_mpi, "background
// graphs".

#include <set>

#include "cuda/processes.h"
#include "kernels/direct_call.h"

namespace rondo::testing {
namespace {

/// Of what graphs receive.
class Graphs : public Processes {
 protected:
  uint64_t wayOf(int owner, uint64_t place) {
    uint64_t& word = of(owner).graphPlaces().host[place & ~kGraphPlace].way;
    return std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire);
  }
  /// Where the peer has what the place says of `data`; nullptr: nowhere.
  unsigned char* follow(int owner, uint64_t place, const unsigned char* data) {
    const uint64_t way = wayOf(owner, place);
    if (way == 0 || way == kNoWay) return nullptr;
    return reinterpret_cast<unsigned char*>(followWay(way, reinterpret_cast<uint64_t>(data)));
  }
  bool comes(int owner, uint64_t place, const unsigned char* data) {
    return soon([&] { return follow(owner, place, data) != nullptr; });
  }
  /// It is said, so that kernels need not look again.
  bool isNowhere(int owner, uint64_t place) {
    return soon([&] { return wayOf(owner, place) == kNoWay; });
  }
};

// What is written by way of the place is read; it is closed when the memory is freed, and the peer
// keeps what it has, because replays may write there yet.
TEST_F(Graphs, PlacesAreFilledAndClosed) {
  start(2);
  uint64_t last = 0;
  for (const bool plainly : {true, false}) {
    unsigned char* const memory = plainly ? plain(1, 4 * kMiB) : exportable(1, 4 * kMiB);
    const uint64_t place = of(1).graphPlaceFor(0, memory + kMiB, kMiB);
    EXPECT_NE(place & kGraphPlace, 0u);
    EXPECT_NE(place, last) << "a place is never another's";
    last = place;
    EXPECT_EQ(of(1).graphPlaceFor(0, memory, 4 * kMiB), place) << "one of each allocation";
    ASSERT_TRUE(comes(1, place, memory));
    EXPECT_EQ(of(1).held().graphs, 1);
    follow(1, place, memory + kMiB)[5] = 77;
    EXPECT_EQ(memory[kMiB + 5], 77);
    unsigned char* const there = follow(1, place, memory);
    plainly ? drop(memory) : freed(memory);
    EXPECT_TRUE(isNowhere(1, place));
    of(0).closeFreed();
    there[7] = 5;
    EXPECT_EQ(there[7], 5) << "it is mapped yet";
    EXPECT_EQ(of(1).held().graphs, 0);
  }
  EXPECT_EQ(of(0).held().mapped, 2u);
}

TEST_F(Graphs, EveryPeerAndAllocationHasAPlaceOfItsOwn) {
  fake.devices = 3;
  start(3);
  unsigned char* const memory = plain(1, 4 * kMiB);
  unsigned char* const other = plain(1, 4 * kMiB);
  std::set<uint64_t> places;
  for (const int peer : {0, 2}) {
    for (const unsigned char* data : {memory, other}) {
      const uint64_t place = of(1).graphPlaceFor(peer, data, 64);
      EXPECT_TRUE(places.insert(place).second);
      EXPECT_TRUE(comes(1, place, data));
    }
  }
  EXPECT_EQ(of(0).held().mapped, 2u);
  EXPECT_EQ(of(2).held().mapped, 2u);
  drop(memory);
  drop(other);
}

// Launches and graphs of one allocation share a mapping, whoever came first. It stays for the
// graphs, but counts as kept once; what launches had of it is closed.
TEST_F(Graphs, LaunchesShareTheMapping) {
  start(2, 10 * kMiB);
  for (const bool graphFirst : {true, false}) {
    unsigned char* const memory = plain(1, 4 * kMiB);
    if (!graphFirst) {
      EXPECT_NE(placed(1, 0, memory, 64), nullptr);
    }
    const uint64_t place = of(1).graphPlaceFor(0, memory, 64);
    ASSERT_TRUE(comes(1, place, memory));
    EXPECT_EQ(placed(1, 0, memory, 64), follow(1, place, memory));
    EXPECT_EQ(of(0).held().mapped, graphFirst ? 1u : 2u);
    drop(memory);
    EXPECT_TRUE(soon([&] { return of(1).held().offered == 0; })) << "its launches' part is closed";
    of(0).closeFreed();
  }
  EXPECT_EQ(of(0).held().mapped, 2u);
  unsigned char* const more = plain(1, 4 * kMiB);
  EXPECT_TRUE(isNowhere(1, of(1).graphPlaceFor(0, more, 64))) << "8 of 10 MiB are kept";
  EXPECT_TRUE(never(1, 0, more, 64));
  drop(more);
}

// Memory of every kind counts, because all of it stays; what has no room, or cannot be exported or
// mapped, stays where it was.
TEST_F(Graphs, PeersKeepNoMoreThanTheyMay) {
  start(2, 10 * kMiB);
  unsigned char* const first = exportable(1, 6 * kMiB);
  unsigned char* const second = exportable(1, 6 * kMiB);
  EXPECT_TRUE(comes(1, of(1).graphPlaceFor(0, first, 64), first));
  EXPECT_TRUE(isNowhere(1, of(1).graphPlaceFor(0, second, 64)));
  fake.refusedAccess = 0;
  unsigned char* const refused = exportable(1, 2 * kMiB);
  EXPECT_TRUE(isNowhere(1, of(1).graphPlaceFor(0, refused, 64)));
  EXPECT_EQ(of(1).held().graphs, 1);
  for (unsigned char* memory : {first, second, refused}) freed(memory);
}

TEST_F(Graphs, WhatIsNoWholeAllocationHasNoPlace) {
  start(2);
  unsigned char* const memory = plain(1, kMiB);
  EXPECT_EQ(of(1).graphPlaceFor(0, memory + 1, kMiB), 0u);
  EXPECT_EQ(of(1).graphPlaceFor(0, reinterpret_cast<unsigned char*>(&fake), 64), 0u);
  EXPECT_NE(of(1).graphPlaceFor(0, memory + 1, kMiB - 1), 0u);
  drop(memory);
}

TEST_F(Graphs, AFullTableIsNoError) {
  start(2);
  for (int i = 0; i < GraphPlaces::kMost; ++i) {
    unsigned char* const memory = plain(1, 64);
    EXPECT_NE(of(1).graphPlaceFor(0, memory, 64), 0u);
    drop(memory);
  }
  unsigned char* const more = plain(1, 64);
  EXPECT_EQ(of(1).graphPlaceFor(0, more, 64), 0u);
  EXPECT_NE(placed(1, 0, more, 64), nullptr) << "launches have another";
  drop(more);
}

TEST_F(Graphs, APeerThatHasEndedIsNowhere) {
  start(2);
  unsigned char* const memory = plain(1, kMiB);
  const uint64_t place = of(1).graphPlaceFor(0, memory, 64);
  ASSERT_TRUE(comes(1, place, memory));
  ranks_[0]->memory.reset();
  unsigned char* const other = plain(1, kMiB);
  EXPECT_TRUE(isNowhere(1, of(1).graphPlaceFor(0, other, 64)));
  EXPECT_TRUE(isNowhere(1, place));
  drop(memory);
  drop(other);
}

// Whatever the numbers, no two transfers of a pair's lanes have one mark.
TEST(GraphMarks, AreAllDifferent) {
  std::set<uint64_t> seen;
  for (uint64_t number = 1; number < 2000; number += number % 7 + 1) {
    for (const int lane : {0, 1, 63}) {
      for (const int receiver : {0, 1, 15}) {
        for (const int sender : {0, 1, 15}) {
          EXPECT_TRUE(seen.insert(markOf(number, receiver, sender, lane)).second);
        }
      }
    }
  }
}

TEST(GraphMarks, AWayLeadsBothUpAndDown) {
  for (const uint64_t there : {uint64_t{0x7f0000000000}, uint64_t{0x7e0000000200}, uint64_t{512}}) {
    const uint64_t here = 0x7f0000000000, way = packWay(there, here);
    EXPECT_NE(way, 0u);
    EXPECT_EQ(followWay(way, here + 100), there + 100);
  }
}

}  // namespace
}  // namespace rondo::testing
