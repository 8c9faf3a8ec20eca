// The two ends of a channel, without ranks: order, back pressure, the end of the staging ring,
// several readers.

#include "p2p/shm_ports.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace rondo {
namespace {

/// A lease of this process's segment for `ranks` ranks, of which rank 0 writes.
class Lease {
 public:
  explicit Lease(int ranks, uint64_t areaBytes = ShmLayout::kLeastArea, int windows = 0)
      : layout_{ranks, 1, areaBytes, windows} {
    Segment& own = Segment::own();
    offset_ = own.lease(layout_.leaseBytes(), layout_.controlBytes(), ~uint64_t{0} / 2);
  }
  ~Lease() { Segment::own().endLease(offset_); }
  const ShmLayout& layout() const { return layout_; }
  char* at() const { return Segment::own().base() + offset_; }
  std::shared_ptr<WideArea> wide() const {
    return std::make_shared<WideArea>(layout_, Segment::own().base(),
                                      offset_ + layout_.windowsAt());
  }
  ShmSendPort sender(int to, int readers, std::shared_ptr<WideArea> wide = nullptr) const {
    return ShmSendPort(layout_, layout_.channel(0, 0, to), readers, at(), Segment::own().base(),
                       &stamp_, std::move(wide));
  }
  ShmRecvPort receiver(int to, int reader) const {
    return ShmRecvPort(layout_, layout_.channel(0, 0, to), reader, at(), Segment::own().base());
  }

 private:
  ShmLayout layout_;
  uint64_t offset_ = 0;
  uint32_t stamp_ = 77;
};

bool send(ShmSendPort& port, unsigned char mark, size_t bytes) {
  void* space = port.tryAcquire(bytes);
  if (space == nullptr) return false;
  std::memset(space, mark, bytes);
  port.post(bytes, nullptr);
  return true;
}

bool receive(ShmRecvPort& port, unsigned char mark, size_t bytes, bool wide = false) {
  Message message;
  if (!port.tryPeek(&message)) return false;
  EXPECT_EQ(message.bytes, bytes);
  EXPECT_EQ(message.wide, wide);
  const auto* data = static_cast<const unsigned char*>(message.data);
  for (size_t i = 0; i < bytes; ++i) {
    if (data[i] != mark) {
      ADD_FAILURE() << "byte " << i << " of " << bytes << " is " << int{data[i]};
      break;
    }
  }
  port.release();
  return true;
}

TEST(ShmPorts, EmptyThenInOrder) {
  const Lease lease(2);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  Message message;
  EXPECT_FALSE(in.tryPeek(&message));
  EXPECT_TRUE(send(out, 1, 0));
  EXPECT_TRUE(send(out, 2, ShmLayout::kInline));
  EXPECT_TRUE(send(out, 3, ShmLayout::kInline + 1));
  EXPECT_TRUE(receive(in, 1, 0));
  EXPECT_TRUE(receive(in, 2, ShmLayout::kInline));
  EXPECT_TRUE(receive(in, 3, ShmLayout::kInline + 1));
  EXPECT_FALSE(in.tryPeek(&message));
}

/// A ring holds one message while it posts the next: with room for one only, all ranks would wait
/// for each other.
TEST(ShmPorts, TwoMessagesOfAnyLengthsFindRoom) {
  const Lease lease(2);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  std::mt19937 random(7);
  const size_t most = lease.layout().chunkBytes();
  const size_t lengths[] = {
      0, 1, ShmLayout::kInline + 1, most / 3, most / 2, most / 2 + 64, most - 65, most - 1, most};
  size_t before = most;
  ASSERT_TRUE(send(out, 0, before));
  for (int i = 1; i < 5000; ++i) {
    const size_t bytes = lengths[random() % std::size(lengths)];
    ASSERT_TRUE(send(out, static_cast<unsigned char>(i), bytes))
        << i << ": " << bytes << " after " << before;
    ASSERT_TRUE(receive(in, static_cast<unsigned char>(i - 1), before)) << i;
    before = bytes;
  }
}

/// Sends on a machine where the wide area is quick; says whether the message went there.
bool sendWide(ShmSendPort& port, unsigned char mark, size_t bytes) {
  void* const space = port.tryAcquire(bytes);
  EXPECT_NE(space, nullptr);
  if (space == nullptr) return false;
  std::memset(space, mark, bytes);
  StagingWay* const way = port.way();
  const bool wide = way != nullptr && way->wide();
  if (way != nullptr) way->learn(wide ? bytes : 100 * bytes, bytes);
  port.post(bytes, nullptr);
  return wide;
}

TEST(ShmPorts, ChannelsTakeTheWindowsOfAWideAreaInTurn) {
  constexpr uint64_t kArea = ShmLayout::kMostArea;
  for (const int windows : {1, 2, 3, 5, 16}) {
    const Lease lease(3, kArea, windows);
    const auto wide = lease.wide();
    ShmSendPort out[2] = {lease.sender(1, 1, wide), lease.sender(2, 1, wide)};
    ShmRecvPort in[2] = {lease.receiver(1, 0), lease.receiver(2, 0)};
    std::mt19937 random(static_cast<unsigned>(windows));
    struct Sent {
      unsigned char mark;
      size_t bytes;
      bool wide;
    };
    std::vector<Sent> underWay[2];
    int found = 0;
    for (int i = 0; i < 8000; ++i) {
      const size_t c = random() % 2;
      const size_t bytes = random() % (kArea / 2) + 1;
      if (underWay[c].size() == 2 || (random() % 3 == 0 && !underWay[c].empty())) {
        const Sent& first = underWay[c].front();
        ASSERT_TRUE(receive(in[c], first.mark, first.bytes, first.wide)) << i;
        underWay[c].erase(underWay[c].begin());
      }
      if (underWay[c].size() == 2) continue;
      const auto mark = static_cast<unsigned char>(i);
      underWay[c].push_back({mark, bytes, sendWide(out[c], mark, bytes)});
      found += underWay[c].back().wide ? 1 : 0;
    }
    EXPECT_GT(found, windows >= 4 ? 1000 : 0) << windows;
  }
}

/// How many of the pages there are.
size_t resident(char* at, uint64_t bytes) {
  std::vector<unsigned char> pages(bytes / RangeAllocator::kPage);
  EXPECT_EQ(mincore(at, bytes, pages.data()), 0);
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                           [](unsigned char page) { return (page & 1) != 0; }));
}

// To meet its pages one by one took ten times a message's time for a hundred messages.
TEST(ShmPorts, AWideAreaIsThereAtOnceButNotForTheFirstMessages) {
#ifndef MADV_POPULATE_WRITE
  GTEST_SKIP() << "this system's headers have no MADV_POPULATE_WRITE";
#else
  const Lease lease(2, ShmLayout::kMostArea, ShmLayout::kWindows);
  const ShmLayout& layout = lease.layout();
  char* const windows = lease.at() + layout.windowsAt();
  madvise(windows, layout.windowBytes(), MADV_REMOVE);  // of tests before
  const auto wide = lease.wide();
  size_t carried = 0;
  for (; !wide->open(16384); carried += 16384) {
    ASSERT_EQ(resident(windows, layout.windowBytes()), 0u) << carried;
  }
  EXPECT_GE(carried, size_t{64} << 10);
  EXPECT_LE(carried, size_t{256} << 10);
  const size_t pages = layout.windowBytes() / RangeAllocator::kPage;
  if (resident(windows, layout.windowBytes()) == 0) GTEST_SKIP() << "a kernel before 5.14";
  EXPECT_EQ(resident(windows, layout.windowBytes()), pages);
#endif
}

// Each new page costs both sides 5 us, and who measures short calls meets one every few of them.
TEST(ShmPorts, ShortMessagesInStepStayInTheFirstPages) {
  const Lease lease(2, ShmLayout::kMostArea);
  char* const area = lease.at() + lease.layout().areaAt(lease.layout().channel(0, 0, 1));
  madvise(area, ShmLayout::kMostArea, MADV_REMOVE);  // of tests before
  ShmSendPort sender = lease.sender(1, 1);
  ShmRecvPort receiver = lease.receiver(1, 0);
  for (int n = 0; n < 1000; ++n) {
    ASSERT_TRUE(send(sender, static_cast<unsigned char>(n), 512));
    ASSERT_TRUE(receive(receiver, static_cast<unsigned char>(n), 512));
  }
  EXPECT_LE(resident(area, ShmLayout::kMostArea), size_t{ShmLayout::kHeaders} * 512 / 4096 + 1);
}

// Short ones begin again where the area begins, long ones go on, in it and in windows.
TEST(ShmPorts, NoMessageOverwritesOneThatIsUnderWay) {
  const Lease lease(2, ShmLayout::kMostArea, ShmLayout::kWindows);
  ShmSendPort sender = lease.sender(1, 1, lease.wide());
  ShmRecvPort receiver = lease.receiver(1, 0);
  std::mt19937 random(7);
  const size_t sizes[] = {8, 97, 512, 3000, 4095, 4096, 5000, 16384, 32768};
  std::vector<std::pair<unsigned char, size_t>> under;
  for (int n = 0; n < 30000; ++n) {
    const auto mark = static_cast<unsigned char>(n);
    const size_t bytes = sizes[random() % (n % 500 < 250 ? 5 : std::size(sizes))];
    if (random() % 2 == 0 && send(sender, mark, bytes)) under.push_back({mark, bytes});
    // Now and then all of them, so that the channel is empty.
    const size_t takes = random() % 8 == 0 ? under.size() : random() % 2;
    for (size_t k = 0; k < takes && !under.empty(); ++k) {
      Message message;
      ASSERT_TRUE(receiver.tryPeek(&message));
      const auto [wanted, length] = under.front();
      ASSERT_EQ(message.bytes, length);
      const auto* data = static_cast<const unsigned char*>(message.data);
      ASSERT_TRUE(std::all_of(data, data + length, [w = wanted](auto c) { return c == w; })) << n;
      receiver.release();
      under.erase(under.begin());
    }
  }
}

TEST(ShmPorts, OnlyLongMessagesAreEverWrittenPastTheCaches) {
  const Lease lease(2, ShmLayout::kMostArea);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  for (const size_t bytes : {kLeastPast, kLeastPast - 1, kLeastPast + 1, size_t{8}}) {
    ASSERT_NE(out.tryAcquire(bytes), nullptr);
    EXPECT_EQ(out.way() != nullptr, bytes >= kLeastPast) << bytes;
    EXPECT_TRUE(send(out, 1, bytes));
    EXPECT_TRUE(receive(in, 1, bytes));
  }
}

TEST(ShmPorts, FullOfShortMessagesAndOfLongOnes) {
  const Lease lease(2);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  for (int i = 0; i < ShmLayout::kHeaders; ++i) EXPECT_TRUE(send(out, 7, 8)) << i;
  EXPECT_EQ(out.tryAcquire(8), nullptr);
  EXPECT_TRUE(receive(in, 7, 8));
  EXPECT_TRUE(send(out, 7, 8));
  EXPECT_EQ(out.tryAcquire(0), nullptr);
  for (int i = 0; i < ShmLayout::kHeaders; ++i) EXPECT_TRUE(receive(in, 7, 8));
  const size_t chunk = lease.layout().chunkBytes();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(send(out, 9, chunk)) << i;
  EXPECT_EQ(out.tryAcquire(chunk), nullptr);
  EXPECT_TRUE(receive(in, 9, chunk));
  EXPECT_TRUE(send(out, 9, chunk));
}

TEST(ShmPorts, MessagesOfAnySizePassTheRingsEnd) {
  const Lease lease(2);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  std::mt19937 random(11);
  const size_t chunk = lease.layout().chunkBytes();
  std::vector<std::pair<unsigned char, size_t>> underWay;
  unsigned char mark = 0;
  for (int i = 0; i < 30000; ++i) {
    if (random() % 2 == 0) {
      const size_t bytes = random() % (chunk + 1);
      ++mark;
      if (send(out, mark, bytes)) {
        underWay.emplace_back(mark, bytes);
      } else {
        // What is under way must be the reason: with nothing there is always room.
        ASSERT_FALSE(underWay.empty());
      }
    } else if (!underWay.empty()) {
      ASSERT_TRUE(receive(in, underWay[0].first, underWay[0].second));
      underWay.erase(underWay.begin());
    }
  }
}

TEST(ShmPorts, TheSlowestOfSeveralReadersCounts) {
  const Lease lease(4);
  ShmSendPort out = lease.sender(-1, 3);
  std::vector<ShmRecvPort> in;
  for (int r = 0; r < 3; ++r) in.push_back(lease.receiver(-1, r));
  for (int i = 0; i < ShmLayout::kHeaders; ++i) EXPECT_TRUE(send(out, 5, 40));
  for (int r = 0; r < 2; ++r) EXPECT_TRUE(receive(in[static_cast<size_t>(r)], 5, 40));
  EXPECT_EQ(out.tryAcquire(40), nullptr);
  EXPECT_TRUE(receive(in[2], 5, 40));
  EXPECT_NE(out.tryAcquire(40), nullptr);
}

TEST(ShmPorts, InPlaceIsReadWhereItIsAndDrained) {
  const Lease lease(2);
  ShmSendPort out = lease.sender(1, 1);
  ShmRecvPort in = lease.receiver(1, 0);
  void* memory = Segment::own().allocate(100000);
  int local = 0;
  EXPECT_TRUE(out.reaches(memory, 100000));
  EXPECT_FALSE(out.reaches(&local, 4));
  EXPECT_TRUE(out.drained());
  ASSERT_TRUE(out.tryPostInPlace(memory, 100000, &static_cast<char*>(memory)[8], {}));
  EXPECT_FALSE(out.drained());
  Message message;
  ASSERT_TRUE(in.tryPeek(&message));
  EXPECT_EQ(message.data, memory);
  EXPECT_EQ(message.landing, &static_cast<char*>(memory)[8]);
  EXPECT_FALSE(out.drained());
  in.release();
  EXPECT_TRUE(out.drained());
  EXPECT_TRUE(send(out, 1, 5));
  EXPECT_TRUE(out.drained()) << "copies need no waiting";
  EXPECT_TRUE(Segment::own().release(memory));
}

TEST(ShmPorts, ARunIsOneMessageToTheChannelAndManyToItsReaders) {
  const Lease lease(3);
  ShmSendPort out = lease.sender(-1, 2);
  ShmRecvPort in[] = {lease.receiver(-1, 0), lease.receiver(-1, 1)};
  char* memory = static_cast<char*>(Segment::own().allocate(100000));
  constexpr uint32_t kBlocks = 3 * ShmLayout::kHeaders;
  ASSERT_TRUE(send(out, 1, 5));
  ASSERT_TRUE(out.tryPostInPlace(memory, 64, memory + 32, {kBlocks, 1000}));
  ASSERT_TRUE(out.tryPostInPlace(memory, 0, nullptr, {2, 0}));
  ASSERT_TRUE(send(out, 2, 60));
  for (ShmRecvPort& port : in) {
    EXPECT_FALSE(out.drained());
    ASSERT_TRUE(receive(port, 1, 5));
    Message message;
    for (uint32_t b = 0; b < kBlocks; ++b) {
      for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(port.tryPeek(&message));
        EXPECT_EQ(message.data, memory + 1000 * b);
        EXPECT_EQ(message.landing, memory + 32 + 1000 * b);
        EXPECT_EQ(message.bytes, 64u);
        EXPECT_EQ(message.left, kBlocks - 1 - b);
      }
      EXPECT_FALSE(out.drained());
      port.release();
    }
    for (uint32_t left : {1u, 0u}) {
      ASSERT_TRUE(port.tryPeek(&message));
      EXPECT_EQ(message.bytes, 0u);
      EXPECT_EQ(message.landing, nullptr);
      EXPECT_EQ(message.left, left);
      port.release();
    }
    ASSERT_TRUE(receive(port, 2, 60));
    EXPECT_FALSE(port.tryPeek(&message));
  }
  EXPECT_TRUE(out.drained());
  EXPECT_TRUE(Segment::own().release(memory));
}

TEST(WorldShmPorts, AWriterAndItsReadersAtFullSpeed) {
  const Lease lease(3);
  ShmSendPort out = lease.sender(-1, 2);
  const auto sizeOf = [&](int i) {
    return static_cast<size_t>(i * 7919 % 3 == 0 ? i % 90 : i * 31 % 1024);
  };
  constexpr int kMessages = 20000;
  const auto read = [&](int reader) {
    ShmRecvPort in = lease.receiver(-1, reader);
    for (int i = 0; i < kMessages;) {
      if (receive(in, static_cast<unsigned char>(i), sizeOf(i))) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::thread first(read, 0), second(read, 1);
  for (int i = 0; i < kMessages;) {
    if (send(out, static_cast<unsigned char>(i), sizeOf(i))) {
      ++i;
    } else {
      std::this_thread::yield();
    }
  }
  first.join();
  second.join();
}

}  // namespace
}  // namespace rondo
