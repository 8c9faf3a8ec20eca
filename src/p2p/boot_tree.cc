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

TreePlace onePlace(int rank, int ranks) {
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

void shift(TreePlace& place, int by) {
  if (place.parent >= 0) place.parent += by;
  place.own = {place.own.first + by, place.own.end + by};
  for (TreeBranch& child : place.children) child = {child.first + by, child.end + by};
}

}  // namespace

int IdPart::slotOf(int rank) const {
  if (rank < 0 || rank >= ranks) return -1;
  if (rank >= begin() && rank < end()) return rank - begin();
  const int part = of(rank, ranks, ids);
  return index == 0 && rank == beginOf(part) ? end() + part - 1 : -1;
}

int IdPart::rankOf(int slot) const {
  return begin() + slot < end() ? begin() + slot : beginOf(slot - end() + 1);
}

int IdPart::of(int rank, int ranks, int ids) {
  const IdPart all{ranks, ids, 0};
  auto part = static_cast<int>(static_cast<long long>(rank) * ids / ranks);
  while (part + 1 < ids && all.beginOf(part + 1) <= rank) ++part;
  return part;
}

TreePlace treePlace(int rank, int ranks, int ids) {
  if (ids <= 1) return onePlace(rank, ranks);
  const int part = IdPart::of(rank, ranks, ids);
  const IdPart parts{ranks, ids, part};
  TreePlace place = onePlace(rank - parts.begin(), parts.end() - parts.begin());
  const TreePlace above = onePlace(part, ids);
  shift(place, parts.begin());
  place.depth += above.depth;
  if (rank != parts.begin()) return place;
  place.parent = above.parent < 0 ? -1 : parts.beginOf(above.parent);
  place.own.end = parts.beginOf(above.own.end);
  for (const TreeBranch& child : above.children) {
    place.children.push_back({parts.beginOf(child.first), parts.beginOf(child.end)});
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
