#pragma once
// What a call of a storm gives and gets on one rank. Values say whose they are, of which call and
// where from, so that a wrong one tells where it came from.

#include <cstring>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/error.h"
#include "support/storm_calls.h"

namespace rondo::testing {

/// Memory between guards, `skew` bytes off a multiple of 64.
class StormBuffer {
 public:
  StormBuffer() = default;
  StormBuffer(size_t bytes, size_t skew) : bytes_(bytes), memory_(bytes + skew + 3 * kGuard) {
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    first_ = (begin + kGuard - 1) / kGuard * kGuard - begin;
    data_ = first_ + kGuard + skew;
  }
  char* data() { return memory_.data() + data_; }
  /// From the first guard to the last.
  std::vector<char>& bytes() { return memory_; }
  /// Guards too, as image() has them.
  void set(const std::vector<char>& image) {
    std::copy(image.begin(), image.end(), memory_.begin());
  }
  /// Marks all over; what it is to hold begins at dataIn(image).
  std::vector<char> image() const { return std::vector<char>(memory_.size(), kMark); }
  char* dataIn(std::vector<char>& image) const { return image.data() + data_; }
  /// What differs from `wanted`, as text; "": nothing.
  std::string difference(const std::vector<char>& wanted) const;

 private:
  static constexpr size_t kGuard = 64;
  static constexpr char kMark = 0x5a;
  size_t bytes_ = 0, first_ = 0, data_ = 0;
  std::vector<char> memory_;
};

/// Moved data: words of the call's number, the sender, and the place in its buffer.
struct StormWords {
  uint32_t stamp;
  int rank;

  uint32_t word(size_t w) const {
    return stamp << 24 | static_cast<uint32_t>(rank) << 20 | (static_cast<uint32_t>(w) & 0xfffff);
  }
  /// Bytes [from, from + count) of its buffer.
  void lay(char* out, size_t from, size_t count) const {
    for (size_t p = from; p < from + count;) {
      const uint32_t value = word(p / 4);
      const size_t skip = p % 4, part = std::min(4 - skip, from + count - p);
      std::memcpy(out + (p - from), reinterpret_cast<const char*>(&value) + skip, part);
      p += part;
    }
  }
};

/// Sums of int32: numbers that differ from each other.
inline uint32_t stormNumber(uint32_t stamp, int rank, size_t i) {
  return stamp * 100'000'007u + static_cast<uint32_t>(rank) * 1'000'003u +
         static_cast<uint32_t>(i) * 7u;
}

/// By what a rank's premultiplied sums multiply.
inline int32_t stormScalar(int rank) { return rank % 5 + 2; }

/// Contributions to one collective, and its results.
class StormValues {
 public:
  StormValues(const Case& call, bool scaled, uint32_t stamp)
      : case_(call),
        scaled_(scaled),
        linear_(reduces(call.call) && call.type == rondoInt32 && (scaled || call.op == rondoSum)),
        element_(typeSize(call.type)),
        stamp_(stamp) {}

  void give(char* out, int rank, size_t count) const {
    if (linear_) {
      for (size_t i = 0; i < count; ++i) put(out, i, stormNumber(stamp_, rank, i));
    } else if (reduces(case_.call)) {
      lay(out, count, inputPattern(case_, rank), shift());
    } else {
      StormWords{stamp_, rank}.lay(out, 0, count * element_);
    }
  }
  void get(char* out, const Side& side) const {
    if (!side.usesRecv) return;
    for (const Block& block : side.blocks) {
      if (block.count > 0) getBlock(out + block.at * element_, block);
    }
  }

 private:
  void getBlock(char* out, const Block& block) const {
    if (linear_) {
      for (size_t i = 0; i < block.count; ++i) {
        uint32_t sum = 0;
        for (int r = block.lo; r < block.hi; ++r) {
          const uint32_t by = scaled_ ? static_cast<uint32_t>(stormScalar(r)) : 1;
          sum += by * stormNumber(stamp_, r, block.from + i);
        }
        put(out, i, sum);
      }
    } else if (reduces(case_.call)) {
      lay(out, block.count, outputPattern(case_, block.lo, block.hi), block.from + shift());
    } else {
      StormWords{stamp_, block.lo}.lay(out, block.from * element_, block.count * element_);
    }
  }
  size_t shift() const { return stamp_ * 13; }
  static void put(char* out, size_t i, uint32_t value) {
    std::memcpy(out + 4 * i, &value, sizeof value);
  }

  const Case case_;
  const bool scaled_, linear_;
  const size_t element_;
  const uint32_t stamp_;
};

/// Bytes as numbers, and as moved data if two words in a row are.
inline std::string stormText(const char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(count, 12); ++i) {
    text += format("%02x", static_cast<unsigned char>(bytes[i]));
  }
  for (size_t phase = 0; phase < 4 && phase + 8 <= count; ++phase) {
    uint32_t two[2];
    std::memcpy(two, bytes + phase, sizeof two);
    if (two[1] != two[0] + 1) continue;
    return text + format(" (of stamp %u, rank %u, from byte %u)", two[0] >> 24, two[0] >> 20 & 15,
                         (two[0] & 0xfffff) * 4 - static_cast<uint32_t>(phase));
  }
  return text;
}

inline std::string StormBuffer::difference(const std::vector<char>& wanted) const {
  if (std::memcmp(wanted.data(), memory_.data(), memory_.size()) == 0) return "";
  constexpr size_t kRuns = 4, kBetween = 16;  // so many right ones end a run
  std::string text;
  size_t runs = 0;
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (memory_[i] == wanted[i]) continue;
    size_t end = i + 1;
    for (size_t k = end; k < memory_.size() && k < end + kBetween; ++k) {
      if (memory_[k] != wanted[k]) end = k + 1;
    }
    if (++runs <= kRuns) {
      const size_t left = memory_.size() - i;
      text += format("\n  bytes [%td, %td) of %zu: ", static_cast<ptrdiff_t>(i - data_),
                     static_cast<ptrdiff_t>(end - data_), bytes_);
      text += stormText(memory_.data() + i, left) + ", not " + stormText(wanted.data() + i, left);
    }
    i = end;
  }
  return text + format("\n  %zu runs of wrong bytes", runs);
}

}  // namespace rondo::testing
