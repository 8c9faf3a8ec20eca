#include "coll/device_order.h"

#include <algorithm>
#include <atomic>
#include <random>

namespace rondo {
namespace {

std::atomic<uint64_t> largestSeen{0};

uint64_t nextTag() {
  static const uint64_t ofProcess = std::random_device{}();
  static std::atomic<uint64_t> given{0};
  return (ofProcess + ++given) * 0x9e3779b97f4a7c15u;
}

}  // namespace

OrderCard nextOrderCard() { return {largestSeen.load(), nextTag()}; }

uint64_t agreedOrder(std::span<const OrderCard> cards) {
  uint64_t clock = 0;
  for (const OrderCard& card : cards) clock = std::max(clock, card.clock);
  ++clock;
  uint64_t seen = largestSeen.load();
  while (seen < clock && !largestSeen.compare_exchange_weak(seen, clock)) {
  }
  return clock << 32 | cards.front().tag >> 32;
}

}  // namespace rondo
