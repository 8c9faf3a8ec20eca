#include "pattern_set.h"

namespace rondo::bench {
namespace {

template <class Byte>
Byte* at(Byte* buffer, const Piece& piece, size_t elementSize) {
  return buffer + piece.at * elementSize;
}

}  // namespace

const Pattern& PatternSet::of(const Piece& piece) const {
  const Values values = piece.values == Values::kUntouched ? Values::kInput : piece.values;
  const auto found = patterns_.find({values, piece.rank});
  if (found != patterns_.end()) return found->second;
  const auto value = [&](size_t index) {
    switch (values) {
      case Values::kReduced:
        return reducedValue(reduction_, index);
      case Values::kPrefix:
        return prefixValue(reduction_, piece.rank, index);
      default:
        return inputValue(reduction_, piece.rank, index);
    }
  };
  return patterns_.emplace(std::pair(values, piece.rank), Pattern(*reduction_.type, value))
      .first->second;
}

void PatternSet::fill(const std::vector<Piece>& pieces, void* buffer, size_t phase) const {
  for (const Piece& piece : pieces) {
    of(piece).fill(at(static_cast<char*>(buffer), piece, elementSize()),
                   piece.count * elementSize(), phase + piece.origin);
  }
}

void PatternSet::poison(const std::vector<Piece>& pieces, void* buffer, size_t phase) const {
  for (const Piece& piece : pieces) {
    char* to = at(static_cast<char*>(buffer), piece, elementSize());
    const size_t bytes = piece.count * elementSize();
    if (piece.values == Values::kUntouched) {
      of(piece).fill(to, bytes, phase + piece.origin);
    } else {
      of(piece).fillInverted(to, bytes, phase + piece.origin);
    }
  }
}

uint64_t PatternSet::countWrong(const std::vector<Piece>& pieces, const void* buffer,
                                size_t phase) const {
  uint64_t wrong = 0;
  for (const Piece& piece : pieces) {
    wrong += of(piece).countDifferent(at(static_cast<const char*>(buffer), piece, elementSize()),
                                      piece.count * elementSize(), phase + piece.origin);
  }
  return wrong;
}

}  // namespace rondo::bench
