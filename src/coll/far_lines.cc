#include "coll/far_lines.h"

#include <atomic>

namespace rondo {
namespace {

uint64_t look(const uint64_t& half) {
  return std::atomic_ref(const_cast<uint64_t&>(half)).load(std::memory_order_acquire);
}
void write(uint64_t& half, uint64_t value) {
  std::atomic_ref(half).store(value, std::memory_order_release);
}

}  // namespace

bool lineBegun(const FarLine& line, uint32_t tag) { return look(line.half[0]) >> 32 == tag; }

bool takeLines(const FarLine* lines, const FarLined& what, uint32_t tag, unsigned char* to) {
  const uint64_t count = what.lines();
  for (uint64_t i = 0; i < count; ++i) {
    for (const int h : {0, 1}) {
      const uint64_t half = look(lines[i].half[h]);
      if (half >> 32 != tag) return false;
      farUnpack(to + what.offset(i, h), half, what.length(i, h));
    }
  }
  return true;
}

void putLines(FarLine* lines, const FarLined& what, uint32_t tag, const unsigned char* from) {
  const uint64_t count = what.lines();
  for (uint64_t i = 0; i < count; ++i) {
    for (const int h : {0, 1}) {
      write(lines[i].half[h], farHalf(from + what.offset(i, h), what.length(i, h), tag));
    }
  }
}

void clearLines(FarLine* lines, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    for (uint64_t& half : lines[i].half) write(half, 0);
  }
}

}  // namespace rondo
