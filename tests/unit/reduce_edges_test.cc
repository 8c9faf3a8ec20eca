// Host reductions and copies whose operands begin or end where memory does: a byte read or written
// beside them is a fault. The vector kernels run without AddressSanitizer, so this is their test.

#include <sys/mman.h>

#include "reduce_calls.h"

namespace rondo {
namespace {

using namespace reduce_test;

/// Four pages between two that nothing may touch.
class Island {
 public:
  Island() {
    void* all = mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("mmap failed");
    shore_ = static_cast<unsigned char*>(all);
    if (mprotect(begin(), kBytes, PROT_READ | PROT_WRITE)) throw std::runtime_error("mprotect");
  }
  ~Island() { munmap(shore_, kBytes + 2 * kPage); }
  Island(const Island&) = delete;
  Island& operator=(const Island&) = delete;

  unsigned char* begin() const { return shore_ + kPage; }
  /// `bytes` at the first or the last address.
  unsigned char* place(size_t bytes, bool last) const {
    return last ? begin() + kBytes - bytes : begin();
  }
  static constexpr size_t kPage = 4096;
  static constexpr size_t kBytes = 4 * kPage;

 private:
  unsigned char* shore_;
};

constexpr size_t kCounts[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 129, 200, 515};
constexpr int kMost = 5;

class ReduceEdges : public ::testing::TestWithParam<rondoDataType_t> {
 protected:
  Island operands_[kMost], outputs_[2];

  void run(ReduceFn reduce, int n, size_t count, size_t bytes, bool last, bool second, bool stream,
           bool tree) {
    const void* pointers[kMost];
    for (int k = 0; k < n; ++k) pointers[k] = operands_[k].place(bytes, last);
    reduce({outputs_[0].place(bytes, last), second ? outputs_[1].place(bytes, last) : nullptr,
            pointers, n, count, static_cast<uint32_t>(n), stream, tree});
  }
};

TEST_P(ReduceEdges, NothingBesideTheOperands) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(static_cast<uint64_t>(type) + 11);
  const std::vector<CpuLevel> all = levels();
  for (rondoRedOp_t op : kAllOps) {
    if (!opDefined(type, op)) continue;
    for (size_t count : kCounts) {
      const size_t bytes = count * typeSize(type);
      for (int n : {1, 2, 3, kMost}) {
        for (bool last : {false, true}) {
          const bool second = random() % 2, stream = random() % 2, tree = random() % 4 == 0;
          for (int k = 0; k < n; ++k)
            fillRandom(type, operands_[k].place(bytes, last), count, random);
          Bytes want;
          for (CpuLevel level : all) {
            run(findReduce(type, op, level), n, count, bytes, last, second, stream, tree);
            const unsigned char* got = outputs_[0].place(bytes, last);
            if (level == all.front()) want.assign(got, got + bytes);
            ASSERT_TRUE(std::equal(want.begin(), want.end(), got))
                << opName(op) << " n " << n << " count " << count << " " << cpuLevelName(level);
          }
        }
      }
    }
  }
}

TEST_P(ReduceEdges, NothingBesideWhatIsScaled) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(static_cast<uint64_t>(type) + 13);
  for (CpuLevel level : levels()) {
    const ScaleFn scale = findScale(type, level);
    if (scale == nullptr) continue;
    for (size_t count : kCounts) {
      const size_t bytes = count * typeSize(type);
      for (bool last : {false, true}) {
        unsigned char* const in = operands_[0].place(bytes, last);
        unsigned char* const out = outputs_[0].place(bytes, last);
        fillRandom(type, in, count, random);
        unsigned char* const scalar = operands_[1].place(typeSize(type), last);
        std::copy_n(in, typeSize(type), scalar);
        scale(out, in, scalar, count);
        Bytes one(typeSize(type));  // the last element by itself
        scale(one.data(), in + bytes - one.size(), scalar, 1);
        ASSERT_TRUE(std::equal(one.begin(), one.end(), out + bytes - one.size()))
            << "count " << count << " " << cpuLevelName(level);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceEdges, ::testing::ValuesIn(kAllTypes),
                         [](const auto& test) { return std::string(typeName(test.param)); });

TEST(CopyEdges, NothingBesideThem) {
  const Island src, dst0, dst1;
  std::mt19937_64 random(17);
  for (size_t bytes = 1; bytes <= Island::kBytes; bytes += bytes < 300 ? 1 : 1021) {
    for (bool last : {false, true}) {
      unsigned char* const from = src.place(bytes, last);
      fillRandom(rondoUint8, from, bytes, random);
      for (CpuLevel level : levels()) {
        for (CopyTo to : {CopyTo::kStaging, CopyTo::kUser, CopyTo::kNear, CopyTo::kPast}) {
          findCopy(level)(dst0.place(bytes, last), bytes % 2 ? dst1.place(bytes, last) : nullptr,
                          from, bytes, to);
          ASSERT_TRUE(std::equal(from, from + bytes, dst0.place(bytes, last))) << bytes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo
