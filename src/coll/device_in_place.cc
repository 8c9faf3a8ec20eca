#include "coll/device_in_place.h"

namespace rondo {
namespace {

/// As far off a multiple of 16 as the data, which is then copied by whole vectors.
uint64_t placeFor(const Transfer& t, uint64_t from) {
  return (from + 15) / 16 * 16 + reinterpret_cast<uint64_t>(t.data) % 16;
}

}  // namespace

InPlaceExchange::InPlaceExchange(std::span<const Transfer> transfers, int rank)
    : rank_(rank), moves_(transfers.begin(), transfers.end()) {
  for (const Transfer& t : moves_) {
    if (aside(t, rank_)) scratchBytes_ = placeFor(t, scratchBytes_) + t.bytes;
  }
}

void InPlaceExchange::useScratch(char* scratch) {
  uint64_t end = 0;
  for (Transfer& t : moves_) {
    if (!aside(t, rank_)) continue;
    char* const place = scratch + placeFor(t, end);
    end = placeFor(t, end) + t.bytes;
    copies_.push_back({rank_, true, t.data, t.bytes});
    copies_.push_back({rank_, false, place, t.bytes});
    t.data = place;
  }
}

}  // namespace rondo
