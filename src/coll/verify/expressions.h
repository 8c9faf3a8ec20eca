#pragma once
// What a value is made of, as numbers: equal numbers mean the same contributions in the same
// association.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "coll/verifier.h"

namespace rondo::verify {

using Expr = uint32_t;

/// Interns expressions over leaves "slot s of rank r's src in call c". Element i of a block is the
/// same expression as every other element of that block, so one number stands for all of them.
class Expressions {
 public:
  Expressions(int ranks, int slots, int calls);

  Expr leaf(int call, int rank, int slot) const {
    return static_cast<Expr>((call * ranks_ + rank) * slots_ + slot);
  }
  /// A two-operand reduction, rounded.
  Expr reduce(Expr a, Expr b) { return node(Kind::Reduce, a, b); }
  /// A reduction of several operands, which is rounded once at its end: the first two of them, and
  /// one more.
  Expr join(Expr a, Expr b) { return node(Kind::Join, a, b); }
  Expr chain(Expr a, Expr b) { return node(Kind::Chain, a, b); }
  Expr final(Expr a) { return node(Kind::Final, a, 0); }

  /// What a reduction must hold: the contributions of ranks [lo, hi) to `slot` of `call`.
  struct Reduction {
    int call;
    int slot;
    int lo, hi;
    bool
        final;  ///< Final must be applied; otherwise it does not matter (scans, which have no avg).
  };
  /// What keeps `value` from being each of those contributions exactly once, Final applied last and
  /// only there; empty: nothing.
  const std::string& reductionFault(Expr value, const Reduction& wanted);
  /// What keeps `value` from being that leaf; empty: nothing.
  std::string copyFault(Expr value, Expr wanted) const;

  /// How often one of its leaves is rounded at most.
  Roundings roundings(Expr value);

  /// "rank 2's src of call 1", or "a reduction of ranks 0, 1, 1".
  std::string text(Expr value) const;

 private:
  enum class Kind : uint64_t { Reduce, Join, Chain, Final };
  struct Node {
    Kind kind;
    Expr a, b;
  };
  Expr node(Kind kind, Expr a, Expr b);
  bool isLeaf(Expr value) const { return value < leaves_; }
  const Node& at(Expr value) const { return nodes_[value - leaves_]; }
  /// The leaves of `value`, at most `most` of them; counts the Finals on the way.
  std::vector<Expr> leavesOf(Expr value, size_t most, int* finals) const;
  std::string findReductionFault(Expr value, const Reduction& wanted) const;
  int callOf(Expr leaf) const { return static_cast<int>(leaf) / slots_ / ranks_; }
  int rankOf(Expr leaf) const { return static_cast<int>(leaf) / slots_ % ranks_; }
  int slotOf(Expr leaf) const { return static_cast<int>(leaf) % slots_; }

  int ranks_, slots_;
  Expr leaves_;
  std::vector<Node> nodes_;
  std::vector<Roundings> rounded_;  // of nodes_, as far as they were asked for
  std::unordered_map<uint64_t, Expr> known_;
  std::unordered_map<uint64_t, std::string> faults_;  // of (call, slot, hi) and value
};

}  // namespace rondo::verify
