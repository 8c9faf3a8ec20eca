#pragma once
// Which ranks of a communicator lie close together, as its ranks have agreed.

#include <string>
#include <vector>

#include "coll/algo/base.h"

namespace rondo {

class RankGroups {
 public:
  /// Nothing is known.
  RankGroups() = default;
  /// groupOf[r] is rank r's group, by any numbers; here they are numbered by their first rank.
  explicit RankGroups(const std::vector<int>& groupOf);

  int count() const { return begin_.empty() ? 0 : static_cast<int>(begin_.size()) - 1; }
  int smallest() const { return smallest_; }
  int largest() const { return largest_; }
  /// Whether a hierarchy can gain anything: there are groups, and not every rank is one.
  bool layered() const { return count() > 1 && largest_ > 1; }
  /// Whether data between these ranks leave a group.
  bool far(int a, int b) const {
    return !of_.empty() && of_[static_cast<size_t>(a)] != of_[static_cast<size_t>(b)];
  }
  /// How many of ranks [lo, hi) are far from `rank`.
  int farOf(int rank, int lo, int hi) const;
  /// As RONDO_GROUPS would have it: "0,0,1,1"; empty: nothing is known.
  std::string text() const;
  /// What algorithms see of it; ends with this object.
  algo::Placement placement() const {
    return {count(), of_.data(), place_.data(), ranks_.data(), begin_.data()};
  }

 private:
  std::vector<int> of_, place_, ranks_, begin_;
  int smallest_ = 0, largest_ = 0;
};

}  // namespace rondo
