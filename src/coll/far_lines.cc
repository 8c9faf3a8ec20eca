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
  const uint64_t each = what.perSlot();
  for (uint64_t s = 0; s < what.slots; ++s, lines += each) {
    for (uint64_t j = 0; j < each; ++j) {
      const uint64_t first = look(lines[j].half[0]), second = look(lines[j].half[1]);
      if (first >> 32 != tag || second >> 32 != tag) return false;
      const FarLined::Place place = what.place(s, j);
      farUnline(to + place.offset, first, second, place.bytes);
    }
  }
  return true;
}

void putLines(FarLine* lines, const FarLined& what, uint32_t tag, const unsigned char* from) {
  const uint64_t each = what.perSlot();
  for (uint64_t s = 0; s < what.slots; ++s, lines += each) {
    for (uint64_t j = 0; j < each; ++j) {
      const FarLined::Place place = what.place(s, j);
      const FarLine line = farLine(from + place.offset, place.bytes, tag);
      write(lines[j].half[0], line.half[0]);
      write(lines[j].half[1], line.half[1]);
    }
  }
}

void clearLines(FarLine* lines, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    for (uint64_t& half : lines[i].half) write(half, 0);
  }
}

}  // namespace rondo
