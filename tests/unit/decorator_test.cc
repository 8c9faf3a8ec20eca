// The faulty ports by themselves, over a queue: they do what they say, and nothing else.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include "p2p/faulty_ports.h"

namespace rondo::testing {
namespace {

/// A channel within one thread. Messages posted in place are read where they are.
struct Queue {
  struct Entry {
    std::string copy;
    const void* place;
    size_t bytes;
    void* landing;
  };
  std::deque<Entry> entries;
  size_t inPlace = 0;
  char space[64];
};

class QueueSend final : public SendPort {
 public:
  explicit QueueSend(Queue& queue) : queue_(queue) {}
  void* tryAcquire(size_t) override { return queue_.space; }
  void post(size_t bytes, void* landing) override {
    queue_.entries.push_back({std::string(queue_.space, bytes), nullptr, bytes, landing});
  }
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run) override {
    queue_.entries.push_back({"", data, bytes, landing});
    ++queue_.inPlace;
    return true;
  }
  bool reaches(const void* data, size_t) const override { return data != nullptr; }
  bool drained() override { return queue_.inPlace == 0; }

 private:
  Queue& queue_;
};

class QueueRecv final : public RecvPort {
 public:
  explicit QueueRecv(Queue& queue) : queue_(queue) {}
  bool tryPeek(Message* message) override {
    if (queue_.entries.empty()) return false;
    const Queue::Entry& first = queue_.entries.front();
    *message = {first.place != nullptr ? first.place : first.copy.data(), first.bytes, 0,
                first.landing};
    return true;
  }
  void release() override {
    if (queue_.entries.front().place != nullptr) --queue_.inPlace;
    queue_.entries.pop_front();
  }

 private:
  Queue& queue_;
};

/// Rank 0's ports to rank 1 and from it, which are the two ends of one queue here.
class FaultyQueue {
 public:
  FaultyQueue(const Faults& sending, const Faults& reading) {
    channels_.ranks = 2;
    channels_.chunkBytes = 32;
    channels_.sends.resize(2);
    channels_.pairRecvs.resize(2);
    channels_.allRecvs.resize(2);
    channels_.sends[1] = std::make_unique<QueueSend>(queue_);
    channels_.pairRecvs[1] = std::make_unique<QueueRecv>(queue_);
    injectFaults(channels_, 0, [&](const PortId& id) {
      EXPECT_TRUE((id == PortId{0, 0, 1, true, false}) || (id == PortId{0, 0, 1, false, false}));
      return id.sends ? sending : reading;
    });
  }
  SendPort& send() { return *channels_.sends[1]; }
  RecvPort& recv() { return *channels_.pairRecvs[1]; }
  Queue& queue() { return queue_; }

  bool post(const std::string& text) {
    void* space = send().tryAcquire(text.size());
    if (space == nullptr) return false;
    std::memcpy(space, text.data(), text.size());
    send().post(text.size(), nullptr);
    return true;
  }
  /// All that can be read within some polls.
  std::string readAll() {
    std::string all;
    for (int poll = 0; poll < 100; ++poll) {
      Message message;
      if (!recv().tryPeek(&message)) continue;
      Message again;
      EXPECT_TRUE(recv().tryPeek(&again));  // the same until it is released
      EXPECT_EQ(again.data, message.data);
      all += std::string(static_cast<const char*>(message.data), message.bytes) + ".";
      recv().release();
    }
    return all;
  }

 private:
  Queue queue_;
  Channels channels_;
};

std::string sendAndRead(const Faults& sending, const Faults& reading) {
  FaultyQueue channel(sending, reading);
  for (const char* text : {"one", "two", "three", "four"}) EXPECT_TRUE(channel.post(text));
  const std::string all = channel.readAll();
  EXPECT_TRUE(channel.queue().entries.empty());
  return all;
}

TEST(FaultyPorts, WithoutFaultsNothingChanges) {
  EXPECT_EQ(sendAndRead({}, {}), "one.two.three.four.");
}

TEST(FaultyPorts, AMessageIsLostAtEitherEnd) {
  Faults third;
  third.drop = 2;
  EXPECT_EQ(sendAndRead(third, {}), "one.two.four.");
  EXPECT_EQ(sendAndRead({}, third), "one.two.four.");
}

TEST(FaultyPorts, TwoMessagesChangePlaces) {
  for (const auto& [swap, expected] :
       {std::pair{0, "two.one.three.four."}, std::pair{1, "one.three.two.four."},
        std::pair{2, "one.two.four.three."}}) {
    Faults faults;
    faults.swap = static_cast<uint64_t>(swap);
    EXPECT_EQ(sendAndRead({}, faults), expected);
  }
  // The last one waits for ever for the next.
  Faults last;
  last.swap = 3;
  EXPECT_EQ(sendAndRead({}, last), "one.two.three.");
}

TEST(FaultyPorts, OneByteChangesButNotInTheSendersMemory) {
  Faults faults;
  faults.corrupt = 1;
  FaultyQueue channel({}, faults);
  const std::string mine = "mine";
  EXPECT_TRUE(channel.post("one"));
  EXPECT_TRUE(channel.post(""));  // has no byte: the next one is hit
  EXPECT_TRUE(channel.send().tryPostInPlace(mine.data(), mine.size(), nullptr, {}));
  EXPECT_TRUE(channel.post("four"));
  EXPECT_FALSE(channel.send().drained());
  EXPECT_EQ(channel.readAll(), std::string("one..mi") + static_cast<char>('n' ^ 0x10) + "e.four.");
  EXPECT_EQ(mine, "mine");
  EXPECT_TRUE(channel.send().drained());
}

TEST(FaultyPorts, AFixedDelayCountsPolls) {
  Faults three;
  three.leastDelay = three.mostDelay = 3;
  FaultyQueue channel(three, three);
  const std::string mine = "mine";
  Message message;
  for (int round = 0; round < 3; ++round) {
    for (int poll = 0; poll < 3; ++poll) {
      EXPECT_FALSE(round % 2 == 0
                       ? channel.post("x")
                       : channel.send().tryPostInPlace(mine.data(), mine.size(), nullptr, {}));
    }
    EXPECT_TRUE(round % 2 == 0 ? channel.post("x")
                               : channel.send().tryPostInPlace(mine.data(), 4, nullptr, {}));
    for (int poll = 0; poll < 3; ++poll) EXPECT_FALSE(channel.recv().tryPeek(&message));
    EXPECT_TRUE(channel.recv().tryPeek(&message));
    channel.recv().release();
  }
}

TEST(FaultyPorts, RandomDelaysComeFromTheSeed) {
  const auto delays = [](uint64_t seed) {
    Faults faults;
    faults.mostDelay = 9;
    faults.seed = seed;
    FaultyQueue channel({}, faults);
    std::vector<int> polls;
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(channel.post("x"));
      polls.push_back(0);
      for (Message message; !channel.recv().tryPeek(&message);) ++polls.back();
      EXPECT_LE(polls.back(), 9);
      channel.recv().release();
    }
    return polls;
  };
  EXPECT_EQ(delays(1), delays(1));
  EXPECT_NE(delays(1), delays(2));
}

TEST(FaultyPorts, TheDeadNeitherSendNorRead) {
  Faults faults;
  faults.life = std::make_shared<Life>(3);
  FaultyQueue channel(faults, faults);
  EXPECT_TRUE(channel.post("one"));
  EXPECT_NE(channel.send().tryAcquire(3), nullptr);  // alive still; dead when it posts
  Message message;
  ASSERT_TRUE(channel.recv().tryPeek(&message));
  channel.recv().release();
  EXPECT_TRUE(channel.post("two"));
  EXPECT_TRUE(faults.life->over());
  channel.send().post(3, nullptr);
  EXPECT_EQ(channel.queue().entries.size(), 1u);
  EXPECT_FALSE(channel.post("three"));
  EXPECT_FALSE(channel.send().tryPostInPlace("four", 4, nullptr, {}));
  EXPECT_FALSE(channel.recv().tryPeek(&message));
}

TEST(FaultyPorts, OnlyReadersSwapAndCorrupt) {
  Faults faults;
  faults.swap = 0;
  EXPECT_THROW(FaultyQueue(faults, {}), std::invalid_argument);
  faults = {};
  faults.corrupt = 0;
  EXPECT_THROW(FaultyQueue(faults, {}), std::invalid_argument);
}

}  // namespace
}  // namespace rondo::testing
