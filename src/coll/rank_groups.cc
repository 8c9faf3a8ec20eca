#include "coll/rank_groups.h"

#include <algorithm>
#include <map>

namespace rondo {

RankGroups::RankGroups(const std::vector<int>& groupOf) {
  std::map<int, int> numbers;
  std::vector<std::vector<int>> members;
  for (size_t r = 0; r < groupOf.size(); ++r) {
    const auto [known, isNew] = numbers.try_emplace(groupOf[r], static_cast<int>(numbers.size()));
    if (isNew) members.emplace_back();
    std::vector<int>& group = members[static_cast<size_t>(known->second)];
    of_.push_back(known->second);
    place_.push_back(static_cast<int>(group.size()));
    group.push_back(static_cast<int>(r));
  }
  begin_.push_back(0);
  for (const std::vector<int>& group : members) {
    ranks_.insert(ranks_.end(), group.begin(), group.end());
    begin_.push_back(static_cast<int>(ranks_.size()));
    const int size = static_cast<int>(group.size());
    largest_ = std::max(largest_, size);
    smallest_ = smallest_ == 0 ? size : std::min(smallest_, size);
  }
}

int RankGroups::farOf(int rank, int lo, int hi) const {
  int count = 0;
  for (int r = lo; r < hi; ++r) count += far(rank, r) ? 1 : 0;
  return count;
}

std::string RankGroups::text() const {
  std::string out;
  for (const int group : of_) out += (out.empty() ? "" : ",") + std::to_string(group);
  return out;
}

}  // namespace rondo
