#pragma once
// Who of the ranks of other hosts looks after whom, where not all can after all: hosts in the order
// of their numbers are a circle.

#include <vector>

namespace rondo {

/// Whether of so many ranks each is in touch with few before they have something for each other.
/// Tests have RONDO_TEST_FEW_MET say so of less.
bool fewInTouch(int ranks);

/// How a rank of another host stands to one.
struct HostStanding {
  /// i of n ranks here stands opposite to those of m there whose number is i modulo the lesser of n
  /// and m: each rank to one or a few of every other host, and each of theirs to one here.
  bool opposite = false;
  /// Its host is 1, 2, 4, ... further on in the circle, or back. What is passed on among opposite
  /// ranks of these comes to all hosts, also where some are gone.
  bool next = false;
};

/// By rank, how they stand to `rank`; those of its own host are neither. `hostOf`: by rank, the
/// number of its host, below the number of ranks.
std::vector<HostStanding> hostStandings(const std::vector<int>& hostOf, int rank);

}  // namespace rondo
