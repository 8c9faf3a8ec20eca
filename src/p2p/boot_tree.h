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

/// The ranks below one are cut into at most kTreeChildren ranges of equal length. With several ids
/// every part (IdPart) is such a tree, and so are the parts' first ranks: these may have twice as
/// many children.
TreePlace treePlace(int rank, int ranks, int ids = 1);

/// The ranks that join by id `index` of `ids`: a range of `ranks`, and by id 0 the first ones of
/// all other parts too, for they have their parents there. Slots count them.
struct IdPart {
  int ranks = 0;
  int ids = 1;  ///< At most `ranks`.
  int index = 0;

  int begin() const { return beginOf(index); }
  int end() const { return beginOf(index + 1); }
  int slots() const { return end() - begin() + (index == 0 ? ids - 1 : 0); }
  /// -1: it does not join by this id.
  int slotOf(int rank) const;
  int rankOf(int slot) const;
  int beginOf(int part) const {
    return static_cast<int>(static_cast<long long>(ranks) * part / ids);
  }
  /// The part that `rank` is in.
  static int of(int rank, int ranks, int ids);
};

/// "rank 3" or "ranks 1, 2, 3"; at most eight of them.
std::string ranksText(const std::vector<int>& ranks);

}  // namespace rondo
