// What the flight record says of calls on device memory: which kernel served them.

#include <string>

#include "api/handle.h"
#include "coll/communicator.h"
#include "coll/flight_view.h"
#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

/// Calls of `me`'s rank on device memory, the oldest first. All ranks are in this process.
std::vector<FlightOp> recordOf(const Rank& me) {
  const std::vector<FlightProcess> all = readNearFlights();
  for (const FlightComm& comm : all.front().comms) {
    if (comm.alive && comm.rank == me.rank && comm.size == me.ranks) return comm.device;
  }
  ADD_FAILURE() << "no record of rank " << me.rank;
  return {};
}

TEST(DeviceRecord, SaysWhichKernelServedACall) {
  constexpr size_t kMost = 1 << 20;
  rondoUniqueId id;
  onRanks(3, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    {
      Buffers on(me, kMost);
      const size_t counts[] = {1, 5000, kMost};
      for (const size_t count : counts) {
        good(rondoAllReduce(on.src.at(0), on.dst.at(0), count, rondoInt32, rondoSum, comm,
                            on.stream));
      }
      good(rondoBroadcast(on.src.at(0), on.dst.at(0), 7, rondoInt32, 1, comm, on.stream));
      me.launched();
      check(waitFor(on.stream));
      const std::vector<FlightOp> record = recordOf(me);
      ASSERT_EQ(record.size(), 4u);
      for (size_t i = 0; i < record.size(); ++i) {
        const bool sums = i < 3;
        const DeviceChoice choice = comm->impl->deviceRunner()->choose(
            {sums ? Collective::AllReduce : Collective::Broadcast, sums ? counts[i] : 7, 4,
             !sums                         ? Reduces::kNothing
             : isHot(rondoInt32, rondoSum) ? Reduces::kHot
                                           : Reduces::kAll});
        const OpFacts& facts = record[i].facts;
        EXPECT_EQ(facts.algorithm(), choice.algorithm) << i;
        EXPECT_EQ(facts.lanes(), choice.geometry.lanes) << i;
        EXPECT_EQ(facts.wayText(), protocolName(choice.protocol)) << i;
        if (me.rank == 0) std::printf("  %s %s\n", facts.name().c_str(), facts.served().c_str());
      }
    }
    good(rondoCommDestroy(comm));
  });
}

TEST(DeviceRecord, OneRankIsOneCopy) {
  rondoUniqueId id;
  onRanks(1, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    {
      Buffers on(me, 100);
      good(rondoAllReduce(on.src.at(0), on.dst.at(0), 100, rondoInt32, rondoSum, comm, on.stream));
      check(waitFor(on.stream));
      const std::vector<FlightOp> record = recordOf(me);
      ASSERT_EQ(record.size(), 1u);
      EXPECT_EQ(record[0].facts.served(), "one copy");
    }
    good(rondoCommDestroy(comm));
  });
}

/// Three all-to-alls: as chosen, into memory registered for copy engines, and with one buffer.
TEST(DeviceRecord, LongAllToAllsGoStraightUnlessCopyEnginesServeThem) {
  constexpr size_t kEach = 4 << 20, kAll = 3 * kEach;
  rondoUniqueId id;
  onRanks(3, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    {
      Buffers on(me, kAll);
      const auto swapped = [&](size_t i) {
        return element(static_cast<int>(i / kEach),
                       static_cast<size_t>(me.rank) * kEach + i % kEach);
      };
      const DeviceChoice choice = comm->impl->deviceRunner()->choose(
          {Collective::AllToAll, kEach, sizeof(int), Reduces::kNothing});
      const auto last = [&] { return recordOf(me).back().facts; };
      good(rondoAllToAll(on.src.at(0), on.dst.at(0), kEach, rondoInt32, comm, on.stream));
      me.launched();
      check(waitFor(on.stream));
      EXPECT_EQ(last().way == DeviceWay::kTransfers, choice.straight != 0) << last().served();
      EXPECT_EQ(last().name(), "alltoall") << "a collective, numbered as such";
      EXPECT_EQ(on.dst.wrong(on.stream, 0, kAll, swapped), 0u);

      on.dst.fill(on.stream, [](size_t) { return -1; });
      rondoRegistration_t number = 0;
      good(rondoCommRegister(comm, on.dst.at(0), kAll * sizeof(int), RONDO_REGISTER_COPY_ENGINES,
                             &number));
      good(rondoAllToAll(on.src.at(0), on.dst.at(0), kEach, rondoInt32, comm, on.stream));
      me.launched();
      check(waitFor(on.stream));
      EXPECT_EQ(on.dst.wrong(on.stream, 0, kAll, swapped), 0u);
      if (!comm->impl->deviceRunner()->throughHost()) {
        EXPECT_EQ(last().served(), "copy engines");
      }
      good(rondoCommDeregister(comm, number));

      me.loaded();
      good(rondoAllToAll(on.src.at(0), on.src.at(0), kEach, rondoInt32, comm, on.stream));
      me.launched();
      check(waitFor(on.stream));
      EXPECT_NE(last().way, DeviceWay::kTransfers);
      EXPECT_EQ(on.src.wrong(on.stream, 0, kAll, swapped), 0u);
    }
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test
