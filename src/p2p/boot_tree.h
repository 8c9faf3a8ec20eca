#pragma once
// The tree over ranks along which a group that joined by id gathers.

#include <string>
#include <vector>

namespace rondo {

/// Ranks first .. end - 1, joined by the first of them.
struct TreeBranch {
  int first;
  int end;
};

/// One rank's place: it stands for the ranks `own` towards its parent.
struct TreePlace {
  int parent = -1;  ///< -1: the root, rank 0.
  int depth = 0;    ///< Hops to the root.
  TreeBranch own{0, 1};
  std::vector<TreeBranch> children;
};

/// More children: fewer rounds, more bytes to send at each. Every branch is a range of ranks, so
/// that what it gathers lies side by side.
constexpr int kTreeChildren = 4;

/// The ranks below one are cut into at most kTreeChildren ranges of equal length.
TreePlace treePlace(int rank, int ranks);

/// "rank 3" or "ranks 1, 2, 3"; at most eight of them.
std::string ranksText(const std::vector<int>& ranks);

}  // namespace rondo
