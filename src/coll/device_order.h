#pragma once
// An order of communicators that all ranks share: where a group launches kernels of several
// communicators on one stream, ranks that took them in different orders would wait for each other.

#include <cstdint>
#include <span>

namespace rondo {

/// What a rank says while a communicator is made.
struct OrderCard {
  uint64_t clock;  ///< The largest number so far that this process has seen.
  uint64_t tag;    ///< Random, and another one each time.
};
OrderCard nextOrderCard();

/// The communicator's number, from the cards of all its ranks: the same on each of them, and larger
/// than that of every communicator that any of them had when it gave its card. Communicators that
/// are made at the same time differ by the tag of their rank 0.
uint64_t agreedOrder(std::span<const OrderCard> cards);

}  // namespace rondo
