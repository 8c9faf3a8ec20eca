#pragma once
// Where the ranks of a communicator sit that spans hosts of one size: its rails.

#include <vector>

namespace rondo {

/// How rank numbers run over hosts and places; which slots of a buffer lie side by side.
enum class LevelsOrder {
  ByHost,   ///< Those of a host follow each other: rank = host x places + place.
  ByPlace,  ///< Those of a rail do: rank = place x hosts + host.
  Other
};

/// A rank's place is its number among the ranks of its host, in their order; a rail is the ranks of
/// one place, one of each host, in the hosts' order.
struct LevelsLayout {
  int hosts = 0;
  int places = 0;                     ///< Of every host; 0: hosts have different numbers of ranks.
  int rank = 0, host = 0, place = 0;  ///< Of this one.
  std::vector<int> hostOf, placeOf;   ///< By rank.
  std::vector<int> near;              ///< The ranks of this host, in their order...
  std::vector<int> rail;              ///< ... and of this rank's rail.
  LevelsOrder order = LevelsOrder::Other;

  /// `hostOf`: by rank, hosts numbered in the order of their first ranks.
  static LevelsLayout of(const std::vector<int>& hostOf, int rank);
  /// There is something to do inside hosts, and alike on all of them.
  bool layered() const { return hosts > 1 && places > 1; }
};

}  // namespace rondo
