#pragma once
// Blocks of a v-collective, as the programs about what the layer before MPI adds to a call have
// them.

#include <cstddef>
#include <vector>

namespace drop_in_bench {

/// As MPI's arguments and as Rondo's.
struct Blocks {
  std::vector<int> counts, displs;
  std::vector<size_t> rondosCounts, rondosDispls;
  std::vector<double> in, out;
  /// countOf(r) elements for rank r, one block behind the other.
  template <class CountOf>
  void make(int ranks, const CountOf& countOf) {
    int at = 0;
    for (int r = 0; r < ranks; ++r) {
      const int count = countOf(r);
      counts.push_back(count);
      displs.push_back(at);
      rondosCounts.push_back(static_cast<size_t>(count));
      rondosDispls.push_back(static_cast<size_t>(at));
      at += count;
    }
    in.assign(static_cast<size_t>(at), 1.0);
    out.assign(static_cast<size_t>(at), 0.0);
  }
};

}  // namespace drop_in_bench
