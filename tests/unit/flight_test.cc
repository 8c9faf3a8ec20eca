// The flight recorder: rings that wrap, readers that see nothing torn, and what calls leave there.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/printable.h"
#include "coll/flight_view.h"
#include "p2p/segment.h"
#include "support/world.h"

namespace rondo {
namespace {

using testing::Rank;
using testing::World;

OpWords words(uint64_t seed) { return {{seed, seed * 3, ~seed, seed ^ 0x5555}}; }

TEST(OpRing, KeepsTheLastOnes) {
  const auto ring = std::make_unique<OpRing>();
  OpEntry entry;
  EXPECT_EQ(ring->last(), 0u);
  EXPECT_FALSE(ring->read(0, &entry));
  EXPECT_FALSE(ring->read(1, &entry));
  constexpr uint64_t kAll = 3 * OpRing::kEntries + 17;
  for (uint64_t n = 1; n <= kAll; ++n) {
    ring->begin(n, words(n), 10 * n, 10 * n + 1);
    if (n % 2 == 0) ring->end(n, 10 * n + 5);
  }
  EXPECT_EQ(ring->last(), kAll);
  for (uint64_t n = 1; n <= kAll + 1; ++n) {
    const bool kept = n > kAll - OpRing::kEntries && n <= kAll;
    ASSERT_EQ(ring->read(n, &entry), kept) << n;
    if (!kept) continue;
    EXPECT_EQ(entry.enqueued, 10 * n);
    EXPECT_EQ(entry.started, 10 * n + 1);
    EXPECT_EQ(entry.ended, n % 2 == 0 ? 10 * n + 5 : 0);
    EXPECT_TRUE(std::equal(entry.words.at, entry.words.at + OpWords::kWords, words(n).at));
  }
  ring->clear();
  EXPECT_EQ(ring->last(), 0u);
  for (uint64_t n = 1; n <= kAll; ++n) EXPECT_FALSE(ring->read(n, &entry));
}

/// A reader follows a writer as closely as it can.
TEST(OpRing, NothingTornIsRead) {
  const auto ring = std::make_unique<OpRing>();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t n = 1; !stop.load(std::memory_order_relaxed); ++n) {
      ring->begin(n, words(n), n + 1, n + 2);
      ring->end(n, n + 3);
    }
  });
  uint64_t whole = 0, refused = 0;
  const uint64_t until = monotonicNs() + 300'000'000;
  // The oldest is overwritten next.
  for (uint64_t last = 0; whole < 1000 || monotonicNs() < until;) {
    last = ring->last();
    const uint64_t number = last > OpRing::kEntries ? last - OpRing::kEntries + 1 : last;
    OpEntry entry;
    if (!ring->read(number, &entry)) {
      ++refused;
      continue;
    }
    ++whole;
    const OpWords expected = words(number);
    ASSERT_TRUE(std::equal(entry.words.at, entry.words.at + OpWords::kWords, expected.at));
    ASSERT_EQ(entry.enqueued, number + 1);
    ASSERT_EQ(entry.started, number + 2);
    ASSERT_TRUE(entry.ended == 0 || entry.ended == number + 3);
  }
  stop = true;
  writer.join();
  EXPECT_GT(whole, 0u);
  std::printf("%llu entries whole, %llu refused\n", static_cast<unsigned long long>(whole),
              static_cast<unsigned long long>(refused));
}

TEST(SharedText, IsReadWholeWhileItChanges) {
  const auto text = std::make_unique<SharedText<64>>();
  EXPECT_EQ(text->read(), "");
  text->write(std::string(200, 'x'));
  EXPECT_EQ(text->read(), std::string(63, 'x')) << "cut";
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (char c = 'a'; !stop.load(std::memory_order_relaxed); c = c == 'z' ? 'a' : c + 1) {
      text->write(std::string(40, c));
      usleep(50);  // a reader gives up on a writer that never pauses
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const std::string seen = text->read();
    if (seen.size() == 63) continue;  // the first one
    ASSERT_EQ(seen, std::string(40, seen[0]));
  }
  stop = true;
  writer.join();
}

TEST(OpFacts, SurviveTheirWords) {
  OpFacts facts;
  facts.collective = static_cast<uint8_t>(Collective::Exscan);
  facts.uneven = true;
  facts.pass = 32;
  facts.origin = OpOrigin::Async;
  facts.type = rondoFloat32;
  facts.op = 0x40000001;
  facts.root = -1;
  facts.count = ~uint64_t{0} >> 3;
  facts.sequence = OpFacts::kMostCalls - 1;
  facts.choice = 1 | 255 << 10;
  facts.way = DeviceWay::kHost;
  const OpFacts back = OpFacts::of(facts.words());
  EXPECT_EQ(back.collective, facts.collective);
  EXPECT_TRUE(back.uneven);
  EXPECT_FALSE(back.sends);
  EXPECT_EQ(back.pass, 32);
  EXPECT_EQ(back.origin, OpOrigin::Async);
  EXPECT_EQ(back.type, facts.type);
  EXPECT_EQ(back.op, facts.op);
  EXPECT_EQ(back.root, -1);
  EXPECT_EQ(back.count, facts.count);
  EXPECT_EQ(back.transfers, 0);
  EXPECT_EQ(back.collectives, 0u);
  EXPECT_EQ(back.sequence, facts.sequence);
  EXPECT_EQ(back.lanes(), 255);
  EXPECT_EQ(back.choice, facts.choice);
  EXPECT_EQ(back.wayText(), "calls on host memory");
  EXPECT_EQ(back.name(), "exscanv");
}

TEST(OpFacts, OfTransfersSurviveToo) {
  OpFacts facts;
  facts.collective = OpFacts::kTransfers;
  facts.origin = OpOrigin::Group;
  facts.sends = true;
  facts.root = 0x7ffffffe;
  facts.count = 5;
  facts.transfers = 0xfffe;
  facts.way = DeviceWay::kOneCopy;
  // The words of both are apart.
  for (const uint64_t sequence : {uint64_t{1}, uint64_t{0x1'0000'0000}, OpFacts::kMostCalls}) {
    for (const uint64_t collectives : {uint64_t{0}, uint64_t{0x2'0000'0003}, OpFacts::kMostCalls}) {
      facts.sequence = sequence;
      facts.collectives = collectives;
      const OpFacts back = OpFacts::of(facts.words());
      EXPECT_EQ(back.sequence, sequence);
      EXPECT_EQ(back.collectives, collectives);
      EXPECT_EQ(back.collectivesSoFar(), collectives);
      EXPECT_EQ(back.transfers, facts.transfers);
      EXPECT_EQ(back.root, facts.root);
      EXPECT_EQ(back.type, 0);
      EXPECT_EQ(back.op, 0);
      EXPECT_TRUE(back.sends);
      EXPECT_EQ(back.count, 5u);
      EXPECT_EQ(back.wayText(), "one copy");
      EXPECT_EQ(back.numberText(), "exchange " + std::to_string(sequence));
    }
  }
}

/// What the recorder of a rank has, if it has one yet. In a World all ranks are in this process.
std::optional<FlightComm> recordSoFar(int rank, int size, const char* name = "comm") {
  const std::vector<FlightProcess> all = readNearFlights();
  for (const FlightComm& comm : all.front().comms) {
    if (comm.alive && comm.name == name && comm.rank == rank && comm.size == size) return comm;
  }
  return std::nullopt;
}

FlightComm recordOf(const Rank& me, const char* name = "comm") {
  const std::optional<FlightComm> record = recordSoFar(me.rank, me.size, name);
  if (!record) ADD_FAILURE() << "no record of rank " << me.rank;
  return record.value_or(FlightComm{});
}

/// What another rank, which may still be making its communicator, has once it waits for `whom`;
/// after 20 s whatever there is.
FlightComm recordOnceItWaits(int rank, int size, const char* whom) {
  const uint64_t limit = monotonicNs() + 20'000'000'000u;
  std::optional<FlightComm> record;
  do {
    usleep(2000);
    record = recordSoFar(rank, size);
  } while ((!record || record->waits.find(whom) == std::string::npos) && monotonicNs() < limit);
  if (!record) ADD_FAILURE() << "no record of rank " << rank;
  return record.value_or(FlightComm{});
}

void expectSoundTimes(const std::vector<FlightOp>& ops) {
  int64_t before = 0;
  const auto now = static_cast<int64_t>(monotonicNs());
  for (const FlightOp& op : ops) {
    EXPECT_LE(op.enqueued, op.started);
    EXPECT_GE(op.started, before) << "one after the other";
    EXPECT_FALSE(op.running());
    EXPECT_LE(op.started, op.ended);
    EXPECT_GT(op.ended, now - int64_t{600} * 1'000'000'000);
    EXPECT_LE(op.ended, now + 1'000'000) << "the same clock as CLOCK_MONOTONIC";
    before = op.started;
  }
}

TEST(Flight, CallsLeaveTheirTraces) {
  World(2).tune("allreduce:host:0-:ring").run([](const Rank& me) {
    float in[4] = {}, out[8] = {};
    EXPECT_EQ(rondoAllReduce(in, out, 4, rondoFloat32, rondoMax, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoBroadcast(in, out, 3, rondoFloat32, 1, me.comm, nullptr), rondoSuccess);
    const int peer = 1 - me.rank;
    EXPECT_EQ(rondoSendRecv(in, 4, peer, out, 4, peer, rondoFloat32, me.comm, nullptr),
              rondoSuccess);
    const FlightComm record = recordOf(me);
    ASSERT_EQ(record.host.size(), 3u);
    expectSoundTimes(record.host);
    const OpFacts &reduce = record.host[0].facts, &cast = record.host[1].facts,
                  &exchange = record.host[2].facts;
    EXPECT_EQ(flightText(reduce), "allreduce with count 4, datatype float32, op max");
    EXPECT_EQ(reduce.algorithm(), "ring");
    EXPECT_EQ(reduce.bytes(), 16u);
    EXPECT_EQ(reduce.sequence, 1u);
    EXPECT_EQ(reduce.origin, OpOrigin::Call);
    EXPECT_EQ(flightText(cast), "broadcast with count 3, datatype float32, root 1");
    EXPECT_EQ(cast.sequence, 2u);
    EXPECT_TRUE(exchange.isTransfers());
    EXPECT_EQ(exchange.transfers, 2);
    EXPECT_EQ(exchange.bytes(), 32u);
    EXPECT_EQ(exchange.root, peer);
    EXPECT_EQ(exchange.collectives, 2u);
    EXPECT_EQ(record.lastCollective()->facts.sequence, 2u);
    ASSERT_EQ(record.members.size(), 2u);
    EXPECT_EQ(record.members[0].pid, getpid());
  });
}

/// What others wrote goes to a terminal and into error texts.
TEST(Flight, TextsOfOthersAreReadPrintable) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "a\x1b[2Jb";
  rondoUniqueId id;
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  ASSERT_EQ(rondoCommInitRankConfig(&comm, 1, id, 0, &config), rondoSuccess);
  bool found = false;
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& each : process.comms) found |= each.name == "a\\x1b[2Jb";
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(Printable, LeavesTextAndShowsWhatATerminalWouldObey) {
  const std::string plain =
      "rank 3 (host \"h\\xfcgel\"), 10 \xc2\xb5s \xe2\x82\xac \xf0\x9f\x8e\xb5";
  EXPECT_EQ(printable(plain), plain);
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("a\x1b]0;b\x07\n\t\x7f"), "a\\x1b]0;b\\x07\\n\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b"
            "2J");  // a control of one byte
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b"
            "2J");                                         // and of two
  EXPECT_EQ(printable("cut \xe2\x82"), "cut \\xe2\\x82");  // in the middle of one
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");  // no UTF-8
}

TEST(Flight, GroupsKeepTheTimeOfTheirCalls) {
  World(2).run([](const Rank& me) {
    int in[2] = {}, out[2] = {}, more[2] = {};
    rondoRequest_t request = nullptr;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoAllReduce(in, out, 2, rondoInt32, rondoSum, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoAllReduce(in, more, 1, rondoInt32, rondoSum, me.comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
    ASSERT_EQ(rondoWait(&request), rondoSuccess);
    const FlightComm record = recordOf(me);
    ASSERT_EQ(record.host.size(), 3u);
    expectSoundTimes(record.host);
    EXPECT_LT(record.host[0].enqueued, record.host[0].started);
    EXPECT_EQ(record.host[0].facts.origin, OpOrigin::Group);
    EXPECT_EQ(record.host[0].facts.pass, 2) << "two run as one";
    EXPECT_EQ(record.host[1].facts.pass, 2);
    EXPECT_EQ(record.host[0].ended, record.host[1].ended);
    EXPECT_EQ(record.host[2].facts.origin, OpOrigin::Async);
  });
}

TEST(Flight, TheLastThousandAndTwentyFourStay) {
  World(1).run([](const Rank& me) {
    char byte = 0;
    for (int i = 0; i < 1500; ++i) {
      ASSERT_EQ(rondoBroadcast(&byte, &byte, 1, rondoInt8, 0, me.comm, nullptr), rondoSuccess);
    }
    const FlightComm record = recordOf(me);
    ASSERT_EQ(record.host.size(), OpRing::kEntries);
    EXPECT_EQ(record.host.front().facts.sequence, 1500 - OpRing::kEntries + 1);
    EXPECT_EQ(record.host.back().facts.sequence, 1500u);
  });
}

/// A rank that waits says so, and for whom.
TEST(Flight, AWaitIsSeenFromOutside) {
  World(3).run([](const Rank& me) {
    if (me.rank == 2) {
      const FlightComm first = recordOnceItWaits(0, 3, "rank 2");
      ASSERT_EQ(first.host.size(), 1u);
      EXPECT_TRUE(first.host[0].running());
      EXPECT_NE(first.waits.find("has no message of rank 2"), std::string::npos) << first.waits;
      EXPECT_GE(first.waitsSeen, first.host[0].started);
    }
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
  });
}

TEST(Flight, AnExchangeThatWaitsIsSeenToo) {
  World(2).run([](const Rank& me) {
    char data[64] = {};
    if (me.rank == 1) {
      EXPECT_EQ(recordOnceItWaits(0, 2, "rank 1").waits, "rank 1 has not sent 64 of 64 bytes");
      EXPECT_EQ(rondoSend(data, 64, rondoInt8, 0, me.comm, nullptr), rondoSuccess);
      return;
    }
    // An ordinary call waits by itself; one of an asynchronous group is polled by others.
    rondoRequest_t request = nullptr;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoRecv(data, 64, rondoInt8, 1, me.comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
    ASSERT_EQ(rondoWait(&request), rondoSuccess);
  });
}

/// Beyond the area's places a communicator works as well, unseen.
TEST(Flight, PlacesAreUsedAgainAndMayRunOut) {
  StatusDesk& desk = Segment::own().statuses();
  std::vector<CommStatus*> all;
  while (CommStatus* status = desk.take()) {
    ASSERT_LE(all.size(), StatusArea::kMost);
    all.push_back(status);
  }
  World(1).run([](const Rank& me) { EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess); });
  ASSERT_FALSE(all.empty());
  CommStatus* const first = all.front();
  first->host.begin(1, words(1), 1, 1);
  first->broken.write("of the one before");
  desk.giveBack(first);
  EXPECT_EQ(desk.take(), first) << "the lowest one";
  EXPECT_EQ(first->host.last(), 0u);
  EXPECT_EQ(first->broken.read(), "");
  for (CommStatus* status : all) desk.giveBack(status);
}

}  // namespace
}  // namespace rondo
