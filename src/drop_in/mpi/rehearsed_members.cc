#include "drop_in/mpi/rehearsed_members.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>

#include "base/error.h"

namespace rondo::drop_in {
namespace {

/// Neighbours in a list that are equally far from each other.
struct Run {
  int first, last, stride;
  bool down;
};

Run runAt(const std::vector<int>& ranks, size_t begin, size_t* end) {
  const int step = begin + 1 < ranks.size() ? ranks[begin + 1] - ranks[begin] : 1;
  *end = begin + 1;
  while (*end < ranks.size() && ranks[*end] - ranks[*end - 1] == step) ++*end;
  return {ranks[begin], ranks[*end - 1], std::abs(step), step < 0};
}

/// 1 for the ranks of the run.
std::string isIn(const Run& run) {
  const int low = std::min(run.first, run.last), high = std::max(run.first, run.last);
  std::string out = format("(rank > %d - 1) * (rank < %d + 1)", low, high);
  if (run.stride > 1) out += format(" * ((rank - %d) %% %d == 0)", low, run.stride);
  return out;
}

/// Its place in the run.
std::string placeIn(const Run& run) {
  return run.down ? format("(%d - rank) / %d", run.first, run.stride)
                  : format("(rank - %d) / %d", run.first, run.stride);
}

}  // namespace

int Members::find(int number) const {
  const auto found = std::find(ranks.begin(), ranks.end(), number);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

Members Members::at(const std::vector<int>& positions) const {
  Members out{universe, own, {}};
  for (const int position : positions) out.ranks.push_back(ranks[static_cast<size_t>(position)]);
  return out;
}

Members membersApart(int count, int own) {
  static std::atomic<uint64_t> next{1};
  Members out{next.fetch_add(1), own, std::vector<int>(static_cast<size_t>(count))};
  std::iota(out.ranks.begin(), out.ranks.end(), 0);
  return out;
}

std::string ruleOf(const std::vector<int>& ranks) {
  std::string color, key;
  for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    const Run run = runAt(ranks, begin, &end);
    if (begin > 0) color += " + ", key += " + ";
    color += isIn(run);
    key += isIn(run) + format(" * (%zu + ", begin) + placeIn(run) + ")";
  }
  color += " - 1";
  return std::is_sorted(ranks.begin(), ranks.end()) ? color : color + ", " + key;
}

}  // namespace rondo::drop_in
