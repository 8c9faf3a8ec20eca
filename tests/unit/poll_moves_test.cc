// A poll of a collective says that it moved whenever peers can tell: rondoCommFinalize takes ranks
// that look in vain for stuck.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/handle.h"
#include "coll/registry.h"
#include "p2p/trace_ports.h"
#include "support/buffer.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 3;

/// How many polls of this rank sent or took something and said that nothing moved.
int quietMoves(Communicator& comm, const HostRequest& request, MessageLog& log) {
  int quiet = 0;
  comm.begin({&request, 1}, OpOrigin::Group);
  for (;;) {
    bool moved = false;
    const Communicator::Progress progress = comm.poll(&moved);
    const bool seen = !log.take().empty();
    if (progress != Communicator::Progress::Busy) {
      EXPECT_EQ(progress, Communicator::Progress::Done);
      return quiet;
    }
    quiet += seen && !moved ? 1 : 0;
    if (!moved) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

/// In chunks of 4 KiB, each posted in place.
void expectNoQuietMoves(const Algorithm& row) {
  const std::string rule =
      std::string(collectiveName(row.collective)) + ":host:0-:" + row.name + "/1/4K";
  std::array<std::shared_ptr<MessageLog>, kRanks> logs;
  for (auto& each : logs) each = std::make_shared<MessageLog>();
  World world(kRanks);
  world.tune(rule.c_str()).decorate([&](Channels& channels, int rank) {
    tracePorts(channels, rank, logs[static_cast<size_t>(rank)]);
  });
  world.run([&](const Rank& me) {
    for (const uint64_t count : {3u, 40'000u}) {
      const bool barrier = row.collective == Collective::Barrier;
      Buffer send(kRanks * count * sizeof(int32_t), true, 0), recv(send.bytes(), true, 0);
      const HostRequest request{
          {barrier ? 0 : count, rondoInt32, rondoSum, 0, row.collective}, send.data(), recv.data()};
      EXPECT_EQ(quietMoves(*me.comm->impl, request, *logs[static_cast<size_t>(me.rank)]), 0)
          << rule << ", count " << count << ", rank " << me.rank;
    }
  });
}

TEST(PollMoves, WhateverPeersCanTellIsSaid) {
  for (const Algorithm& row : registry()) expectNoQuietMoves(row);
}

}  // namespace
}  // namespace rondo::testing
