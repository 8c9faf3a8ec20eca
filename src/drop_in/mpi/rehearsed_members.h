#pragma once
// Who is in a rehearsed communicator or group, as far as this process can know.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::drop_in {

struct Members {
  /// Numbers of one universe mean the same ranks: 0 has those of MPI_COMM_WORLD. A part that only a
  /// rule knows (MPI_Comm_split, the ranks of a host) has its own numbers, and a universe for them.
  uint64_t universe = 0;
  int own = 0;  ///< This rank's number, whether it is a member or not.
  std::vector<int> ranks;

  /// Position of `number`; -1: no member.
  int find(int number) const;
  /// Those at `positions`.
  Members at(const std::vector<int>& positions) const;
};

/// `count` ranks in a universe of their own, of which this is number `own`.
Members membersApart(int count, int own);

/// The rule of rondoCommSplitVirtual that makes `ranks`, all different, a communicator in this
/// order and all others none.
std::string ruleOf(const std::vector<int>& ranks);

}  // namespace rondo::drop_in
