// The C++ layer: every method makes its call, types come from pointers, failures are thrown.

#include "api/rondo.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <type_traits>

#include "api/types.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// body(communicator) on n ranks, each of which owns a copy of World's handle for the time.
void onCommunicators(int n, const std::function<void(Communicator&)>& body) {
  World(n).run([&](const Rank& me) {
    Communicator comm(me.comm);
    EXPECT_NO_THROW(body(comm));
    EXPECT_EQ(comm.release(), me.comm);
  });
}

constexpr int kRanks = 3;
using Ints = std::vector<int32_t>;
using Sizes = std::vector<size_t>;

TEST(Hpp, EveryCppTypeHasItsHandle) {
  static_assert(typeOf<bool>() == rondoBool && typeOf<float>() == rondoFloat32);
  static_assert(typeOf<std::complex<float>>() == rondoComplex64);
  static_assert(typeOf<std::complex<double>>() == rondoComplex128);
  static_assert(typeOf<int8_t>() == rondoInt8 && typeOf<uint64_t>() == rondoUint64);
  static_assert(!std::is_copy_constructible_v<Communicator>);
  static_assert(std::is_nothrow_move_constructible_v<Communicator>);
}

TEST(Hpp, EvenCalls) {
  onCommunicators(kRanks, [](Communicator& comm) {
    const int32_t me = comm.rank();
    const Ints mine{me, 10 * me}, all{0, 0, 1, 10, 2, 20};
    Ints two(2, -1), six(6, -1);
    comm.allReduce(mine.data(), two.data(), 2);
    EXPECT_EQ(two, (Ints{3, 30}));
    comm.allReduce(mine.data(), two.data(), 2, rondoMax);
    EXPECT_EQ(two, (Ints{2, 20}));
    comm.reduce(mine.data(), two.data(), 2, 1, rondoMin);
    if (me == 1) {
      EXPECT_EQ(two, (Ints{0, 0}));
    }
    comm.broadcast(mine.data(), two.data(), 2, 2);
    EXPECT_EQ(two, (Ints{2, 20}));
    comm.allGather(mine.data(), six.data(), 2);
    EXPECT_EQ(six, all);
    comm.reduceScatter(all.data(), two.data(), 2);
    EXPECT_EQ(two, (Ints{3 * me, 30 * me}));
    comm.allToAll(all.data(), six.data(), 2);
    EXPECT_EQ(six, (Ints{me, 10 * me, me, 10 * me, me, 10 * me}));
    six.assign(6, -1);
    comm.gather(mine.data(), six.data(), 2, 0);
    EXPECT_EQ(six, me == 0 ? all : Ints(6, -1));
    comm.scatter(all.data(), two.data(), 2, 1);
    EXPECT_EQ(two, mine);
    comm.scan(mine.data(), two.data(), 2);
    EXPECT_EQ(two[0], me * (me + 1) / 2);
    two.assign(2, -1);
    comm.exscan(mine.data(), two.data(), 2);
    EXPECT_EQ(two[0], me == 0 ? -1 : me * (me - 1) / 2);
    comm.barrier();
  });
}

TEST(Hpp, UnevenCallsWithVectorsAndPointers) {
  onCommunicators(kRanks, [](Communicator& comm) {
    const auto me = static_cast<size_t>(comm.rank());
    const Sizes counts{0, 1, 2}, displs{0, 3, 1};
    const Ints all{11, 21, 22},
        mine(all.begin() + (me == 2 ? 1 : 0), all.begin() + (me == 0   ? 0
                                                             : me == 1 ? 1
                                                                       : 3));
    const Ints apart{-1, 21, 22, 11};
    Ints three(3, -1), four(4, -1);
    comm.allGatherV(mine.data(), me, three.data(), counts);
    EXPECT_EQ(three, all);
    comm.allGatherV(mine.data(), me, four.data(), counts.data(), displs.data());
    EXPECT_EQ(four, apart);
    four.assign(4, -1);
    comm.gatherV(mine.data(), me, four.data(), counts, displs, 1);
    EXPECT_EQ(four, me == 1 ? apart : Ints(4, -1));
    three.assign(3, -1);
    comm.gatherV(mine.data(), me, me == 2 ? three.data() : nullptr, me == 2 ? counts : Sizes{},
                 nullptr, 2);
    EXPECT_EQ(three, me == 2 ? all : Ints(3, -1));
    Ints got(me, -1);
    comm.scatterV(apart.data(), counts, displs, got.data(), me, 0);
    EXPECT_EQ(got, mine);
    comm.reduceScatterV(all.data(), got.data(), counts);
    for (size_t i = 0; i < me; ++i) EXPECT_EQ(got[i], 3 * mine[i]);
    // Rank r gives rank q r elements.
    const Sizes give(kRanks, me);
    const Ints gift(kRanks * me, static_cast<int32_t>(me));
    three.assign(3, -1);
    comm.allToAllV(gift.data(), give, {}, three.data(), counts, nullptr);
    EXPECT_EQ(three, (Ints{1, 2, 2}));
  });
}

TEST(Hpp, FailuresAreThrownWithTheSentence) {
  World(2).run([](const Rank& me) {
    Communicator comm(me.comm);
    int32_t value = 7;
    try {
      comm.reduce(&value, &value, 1, 5);
      ADD_FAILURE() << "not thrown";
    } catch (const Exception& e) {
      EXPECT_EQ(e.result(), rondoInvalidArgument);
      EXPECT_EQ(e.what(), "rondoReduce: rank " + std::to_string(me.rank) +
                              ": argument root is 5; allowed: 0 to 1");
    }
    try {
      comm.allGatherV(&value, 1, &value, Sizes{1, 1, 1});
      ADD_FAILURE() << "not thrown";
    } catch (const Exception& e) {
      EXPECT_EQ(e.result(), rondoInvalidArgument);
      EXPECT_EQ(e.what(), std::string("rondo::Communicator::allGatherV: argument recvcounts has 3 "
                                      "entries; allowed: 2, one a rank, or none"));
    }
    EXPECT_THROW(comm.allGatherV(&value, 1, &value, Sizes{}), Exception);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(comm.release(), me.comm);
  });
}

TEST(Hpp, ComplexNumbersAndBoolsTravel) {
  onCommunicators(2, [](Communicator& comm) {
    if (typeSize(rondoComplex64) == 0) return;  // this library does not have them yet
    const std::complex<float> mine(1, static_cast<float>(comm.rank()));
    std::complex<float> sum;
    comm.allReduce(&mine, &sum, 1);
    EXPECT_EQ(sum, std::complex<float>(2, 1));
    const bool here = comm.rank() == 1;
    bool both[2] = {};
    comm.allGather(&here, both, 1);
    EXPECT_TRUE(!both[0] && both[1]);
  });
}

}  // namespace
}  // namespace rondo::testing
