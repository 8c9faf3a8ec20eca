#include "coll/verify/expressions.h"

#include <algorithm>

namespace rondo::verify {

Expressions::Expressions(int ranks, int calls)
    : ranks_(ranks), leaves_(static_cast<Expr>(ranks * calls)) {}

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

std::string Expressions::findAllReduceFault(Expr value, int call) const {
  int finals = 0;
  const auto all = leavesOf(value, static_cast<size_t>(ranks_) * 2 + 2, &finals);
  std::vector<int> seen(static_cast<size_t>(ranks_));
  for (const Expr leaf : all) {
    if (static_cast<int>(leaf) / ranks_ != call) return "it holds " + text(leaf);
    ++seen[leaf % static_cast<Expr>(ranks_)];
  }
  for (int r = 0; r < ranks_; ++r) {
    const int times = seen[static_cast<size_t>(r)];
    if (times == 0) return "rank " + std::to_string(r) + "'s contribution is missing";
    if (times > 1) return "rank " + std::to_string(r) + "'s contribution is in more than once";
  }
  if (ranks_ == 1) return "";
  if (isLeaf(value) || at(value).kind != Kind::Final) return "it does not end in a Final reduction";
  if (finals != 1) return "Final is applied before the end";
  return "";
}

const std::string& Expressions::allReduceFault(Expr value, int call) {
  const auto [place, isNew] = faults_.try_emplace(static_cast<uint64_t>(call) << 32 | value);
  if (isNew) place->second = findAllReduceFault(value, call);
  return place->second;
}

const std::string& Expressions::broadcastFault(Expr value, int call, int root) {
  const auto [place, isNew] = faults_.try_emplace(static_cast<uint64_t>(call) << 32 | value);
  if (isNew && value != leaf(call, root)) {
    place->second = "it holds " + text(value) + ", not the root's src";
  }
  return place->second;
}

std::string Expressions::text(Expr value) const {
  const Expr ranks = static_cast<Expr>(ranks_);
  if (isLeaf(value)) {
    return "rank " + std::to_string(value % ranks) + "'s src of call " +
           std::to_string(value / ranks + 1);
  }
  int finals = 0;
  auto all = leavesOf(value, 20, &finals);
  std::sort(all.begin(), all.end());
  std::string out = "a reduction of ranks";
  for (size_t i = 0; i < all.size(); ++i) {
    out += (i == 0 ? " " : ", ") + std::to_string(all[i] % ranks);
  }
  return out;
}

}  // namespace rondo::verify
