// Sends and receives of every type and length, and calls of more elements than 32 bits count.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "support/buffer.h"
#include "support/collective_case.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// Any bytes, others of every rank and type.
std::vector<char> bytesOf(rondoDataType_t type, size_t count, int rank) {
  std::vector<char> bytes(count * typeSize(type));
  lay(bytes.data(), count, inputPattern({Call::Broadcast, type, rondoSum, 0, 0, 0, 0, 0}, rank), 0);
  return bytes;
}

/// To the rank after the next one and from the rank before the last one, by one call or by a group.
void pass(const Rank& me, rondoDataType_t type, size_t count, bool shared, bool grouped) {
  const int to = (me.rank + 2) % me.size, from = (me.rank + 2 * me.size - 2) % me.size;
  const std::vector<char> mine = bytesOf(type, count, me.rank), wanted = bytesOf(type, count, from);
  Buffer out(mine.size(), shared, 1), in(mine.size(), false, typeSize(type));
  std::copy(mine.begin(), mine.end(), out.data());
  if (grouped) {
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoRecv(in.data(), count, type, from, me.comm, nullptr));
    RONDO_OK(rondoSend(out.data(), count, type, to, me.comm, nullptr));
    RONDO_OK(rondoGroupEnd());
  } else {
    RONDO_OK(rondoSendRecv(out.data(), count, to, in.data(), count, from, type, me.comm, nullptr));
  }
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in.data()))
      << "rank " << me.rank << " of " << me.size << ", " << typeName(type) << " count " << count;
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), out.data()) && out.intact() && in.intact());
}

/// Rank 0 sends to each other one, which answers, by calls that block.
void callAndAnswer(const Rank& me, rondoDataType_t type, size_t count) {
  const int first = me.rank == 0 ? 1 : 0, last = me.rank == 0 ? me.size : 1;
  for (int peer = first; peer < last; ++peer) {
    const std::vector<char> wanted = bytesOf(type, count, peer);
    std::vector<char> mine = bytesOf(type, count, me.rank), got(wanted.size() + 1);
    if (me.rank == 0) {
      RONDO_OK(rondoSend(mine.data(), count, type, peer, me.comm, nullptr));
    }
    RONDO_OK(rondoRecv(got.data(), count, type, peer, me.comm, nullptr));
    if (me.rank != 0) {
      RONDO_OK(rondoSend(mine.data(), count, type, peer, me.comm, nullptr));
    }
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), got.begin()) && got.back() == 0)
        << "rank " << me.rank << " of " << me.size << ", " << typeName(type) << " count " << count;
  }
}

class WorldTransfers : public ::testing::TestWithParam<int> {};

TEST_P(WorldTransfers, EveryTypeAndLength) {
  World(GetParam()).run([](const Rank& me) {
    bool odd = false;
    for (const rondoDataType_t type : kAllTypes) {
      const size_t chunk = 32768 / typeSize(type);
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{257}, chunk - 1, chunk,
                                 chunk + 1, 3 * chunk + 5}) {
        odd = !odd;
        pass(me, type, count, odd, count % 2 == 0);
        if (count < 1000) callAndAnswer(me, type, count);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(World, WorldTransfers, ::testing::Values(1, 2, 3, 4, 5, 7, 8, 16));

/// Addresses of more bytes than 32 bits count, with little memory behind them: all but the last
/// bytes are the same page frames over and over.
class LongSpan {
 public:
  explicit LongSpan(size_t bytes) : bytes_(bytes) {
    const UniqueFd frames(memfd_create("frames", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(frames.get(), kPeriod), 0);
    void* all = mmap(nullptr, bytes + 2 * kPeriod, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    data_ = static_cast<char*>(all);
    for (size_t at = 0; at + kPeriod <= bytes; at += kPeriod) {
      EXPECT_NE(mmap(data_ + at, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     frames.get(), 0),
                MAP_FAILED);
    }
  }
  ~LongSpan() { munmap(data_, bytes_ + 2 * kPeriod); }
  LongSpan(const LongSpan&) = delete;
  LongSpan& operator=(const LongSpan&) = delete;

  char* data() { return data_; }
  void fill() {
    for (size_t i = 0; i < kPeriod; ++i) data_[i] = at(i);
    for (size_t i = bytes_ / kPeriod * kPeriod; i < bytes_; ++i) data_[i] = at(i);
  }
  /// The first byte that is not `times` what fill() gives, or not 0 behind the end; or SIZE_MAX.
  size_t firstWrong(int times) const {
    for (size_t i = 0; i < kPeriod; ++i) {
      if (data_[i] != static_cast<char>(times * at(i))) return i;
    }
    for (size_t i = bytes_ / kPeriod * kPeriod; i < bytes_ + kPeriod; ++i) {
      if (data_[i] != (i < bytes_ ? static_cast<char>(times * at(i)) : 0)) return i;
    }
    return SIZE_MAX;
  }

 private:
  static constexpr size_t kPeriod = 1 << 22;
  static char at(size_t i) { return static_cast<char>(1 + i % kPeriod % 61); }
  size_t bytes_;
  char* data_ = nullptr;
};

TEST(LargeCounts, MoreElementsThan32BitsCount) {
  constexpr size_t kCount = (size_t{1} << 32) + 4099;
  World(2).run([](const Rank& me) {
    LongSpan in(kCount), out(kCount);
    in.fill();
    RONDO_OK(rondoAllReduce(in.data(), out.data(), kCount, rondoInt8, rondoSum, me.comm, nullptr));
    EXPECT_EQ(out.firstWrong(2), SIZE_MAX) << "all-reduce";
  });
  World(2).run([](const Rank& me) {
    LongSpan span(kCount);
    if (me.rank == 1) {
      span.fill();
      RONDO_OK(rondoSend(span.data(), kCount, rondoUint8, 0, me.comm, nullptr));
    } else {
      RONDO_OK(rondoRecv(span.data(), kCount, rondoUint8, 1, me.comm, nullptr));
      EXPECT_EQ(span.firstWrong(1), SIZE_MAX) << "send";
    }
  });
}

}  // namespace
}  // namespace rondo::testing
