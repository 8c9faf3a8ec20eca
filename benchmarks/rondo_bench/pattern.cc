#include "pattern.h"

#include <algorithm>
#include <cstring>

#include "values.h"

namespace rondo::bench {

Pattern::Pattern(const ElementType& type, const std::function<Value(size_t)>& value)
    : type_(type), elementSize_(type.size), tile_(2 * kValuePeriod * type.size) {
  for (size_t i = 0; i < kValuePeriod; ++i) {
    storeValue(type, value(i), &tile_[i * elementSize_]);
  }
  const auto half = static_cast<std::ptrdiff_t>(tile_.size() / 2);
  std::copy_n(tile_.begin(), half, tile_.begin() + half);
}

void Pattern::fill(void* buffer, size_t bytes, size_t phase) const {
  const unsigned char* source = &tile_[phase % kValuePeriod * elementSize_];
  const size_t run = kValuePeriod * elementSize_;
  auto* to = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < bytes; at += run) {
    std::memcpy(to + at, source, std::min(run, bytes - at));
  }
}

void Pattern::fillInverted(void* buffer, size_t bytes, size_t phase) const {
  fill(buffer, bytes, phase);
  auto* to = static_cast<unsigned char*>(buffer);
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(~to[i]);
}

uint64_t Pattern::countDifferent(const void* buffer, size_t bytes, size_t phase) const {
  const unsigned char* want = &tile_[phase % kValuePeriod * elementSize_];
  const size_t run = kValuePeriod * elementSize_;
  const auto* have = static_cast<const unsigned char*>(buffer);
  uint64_t different = 0;
  for (size_t at = 0; at < bytes; at += run) {
    const size_t length = std::min(run, bytes - at);
    if (std::memcmp(have + at, want, length) == 0) continue;
    for (size_t i = 0; i < length; i += elementSize_) {
      if (!sameElement(type_, have + at + i, want + i)) ++different;
    }
  }
  return different;
}

}  // namespace rondo::bench
