#include "coll/verify/expressions.h"

#include <algorithm>

namespace rondo::verify {

Expressions::Expressions(int ranks, int slots, int calls)
    : ranks_(ranks), slots_(slots), leaves_(static_cast<Expr>(ranks * slots * calls)) {}

Expr Expressions::node(Kind kind, Expr a, Expr b) {
  // 31 bits each are far more than a plan's expressions.
  const uint64_t key = static_cast<uint64_t>(kind) << 62 | static_cast<uint64_t>(a) << 31 | b;
  const auto [place, isNew] = known_.try_emplace(key, leaves_ + static_cast<Expr>(nodes_.size()));
  if (isNew) nodes_.push_back(Node{kind, a, b});
  return place->second;
}

std::vector<Expr> Expressions::leavesOf(Expr value, size_t most, int* finals) const {
  std::vector<Expr> out, todo{value};
  *finals = 0;
  while (!todo.empty() && out.size() < most) {
    const Expr next = todo.back();
    todo.pop_back();
    if (isLeaf(next)) {
      out.push_back(next);
      continue;
    }
    const Node& n = at(next);
    if (n.kind == Kind::Final) {
      ++*finals;
    } else {
      todo.push_back(n.b);
    }
    todo.push_back(n.a);
  }
  return out;
}

std::string Expressions::findReductionFault(Expr value, const Reduction& wanted) const {
  int finals = 0;
  const auto all = leavesOf(value, static_cast<size_t>(ranks_) * 2 + 2, &finals);
  std::vector<int> seen(static_cast<size_t>(ranks_));
  for (const Expr leaf : all) {
    const int rank = rankOf(leaf);
    if (callOf(leaf) != wanted.call || slotOf(leaf) != wanted.slot || rank < wanted.lo ||
        rank >= wanted.hi) {
      return "it holds " + text(leaf);
    }
    ++seen[static_cast<size_t>(rank)];
  }
  for (int r = wanted.lo; r < wanted.hi; ++r) {
    const int times = seen[static_cast<size_t>(r)];
    if (times == 0) return "rank " + std::to_string(r) + "'s contribution is missing";
    if (times > 1) return "rank " + std::to_string(r) + "'s contribution is in more than once";
  }
  if (wanted.hi - wanted.lo == 1 || !wanted.final) return "";
  if (isLeaf(value) || at(value).kind != Kind::Final) return "it does not end in a Final reduction";
  if (finals != 1) return "Final is applied before the end";
  return "";
}

Roundings Expressions::roundings(Expr value) {
  // Operands are older than what is made of them.
  while (rounded_.size() < nodes_.size()) {
    const Node& n = nodes_[rounded_.size()];
    const auto of = [this](Expr e) { return isLeaf(e) ? Roundings{0, 0} : rounded_[e - leaves_]; };
    const Roundings a = of(n.a), b = n.kind == Kind::Final ? a : of(n.b);
    if (n.kind == Kind::Final) {
      rounded_.push_back(a);
      continue;
    }
    // What a Chain goes on with is not rounded yet.
    const int pending = n.kind == Kind::Chain ? 1 : 0;
    rounded_.push_back({std::max(a.wide, b.wide) + 1, std::max(a.narrow - pending, b.narrow) + 1});
  }
  return isLeaf(value) ? Roundings{0, 0} : rounded_[value - leaves_];
}

const std::string& Expressions::reductionFault(Expr value, const Reduction& wanted) {
  const uint64_t which = (static_cast<uint64_t>(wanted.call) << 24) |
                         (static_cast<uint64_t>(wanted.slot) << 12) |
                         static_cast<uint64_t>(wanted.hi);
  const auto [place, isNew] = faults_.try_emplace(which << 32 | value);
  if (isNew) place->second = findReductionFault(value, wanted);
  return place->second;
}

std::string Expressions::copyFault(Expr value, Expr wanted) const {
  return value == wanted ? "" : "it holds " + text(value) + ", not " + text(wanted);
}

std::string Expressions::text(Expr value) const {
  if (isLeaf(value)) {
    const std::string slot = slots_ > 1 ? "slot " + std::to_string(slotOf(value)) + " of " : "";
    return slot + "rank " + std::to_string(rankOf(value)) + "'s src of call " +
           std::to_string(callOf(value) + 1);
  }
  int finals = 0;
  auto all = leavesOf(value, 20, &finals);
  std::sort(all.begin(), all.end());
  std::string out = "a reduction of ranks";
  for (size_t i = 0; i < all.size(); ++i) {
    out += (i == 0 ? " " : ", ") + std::to_string(rankOf(all[i]));
  }
  return out;
}

}  // namespace rondo::verify
