#include "p2p/boot_tree.h"

#include <algorithm>

#include "base/error.h"

namespace rondo {
namespace {

std::vector<TreeBranch> childrenOf(TreeBranch branch) {
  std::vector<TreeBranch> children;
  int first = branch.first + 1;
  for (int left = std::min(kTreeChildren, branch.end - first); left > 0; --left) {
    const int end = first + (branch.end - first) / left;
    children.push_back({first, end});
    first = end;
  }
  return children;
}

}  // namespace

TreePlace treePlace(int rank, int ranks) {
  TreePlace place;
  place.own = {0, ranks};
  place.children = childrenOf(place.own);
  while (place.own.first != rank) {
    const auto next = std::find_if(place.children.begin(), place.children.end(),
                                   [rank](const TreeBranch& child) { return rank < child.end; });
    place.parent = place.own.first;
    ++place.depth;
    place.own = *next;
    place.children = childrenOf(place.own);
  }
  return place;
}

std::string ranksText(const std::vector<int>& ranks) {
  constexpr size_t kMost = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMost) text += format(" and %zu others", ranks.size() - kMost);
  return text;
}

}  // namespace rondo
