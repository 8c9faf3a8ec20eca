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
      check(cudaStreamSynchronize(on.stream));
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
      check(cudaStreamSynchronize(on.stream));
      const std::vector<FlightOp> record = recordOf(me);
      ASSERT_EQ(record.size(), 1u);
      EXPECT_EQ(record[0].facts.served(), "one copy");
    }
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test
