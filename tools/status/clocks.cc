#include "status/clocks.h"

#include <algorithm>

namespace rondo::status {
namespace {

/// More than any clock is ahead; two of them can be added.
constexpr int64_t kNoBound = INT64_MAX / 4;

/// most(a, b): by how much clock b is ahead of clock a at most.
class Bounds {
 public:
  explicit Bounds(size_t clocks) : clocks_(clocks), most_(clocks * clocks, kNoBound) {
    for (size_t c = 0; c < clocks; ++c) at(c, c) = 0;
  }
  int64_t most(size_t a, size_t b) const { return most_[a * clocks_ + b]; }
  void bound(size_t a, size_t b, int64_t value) { at(a, b) = std::min(at(a, b), value); }

  /// What follows over third clocks. False: the bounds contradict each other.
  bool close() {
    for (size_t by = 0; by < clocks_; ++by) {
      for (size_t a = 0; a < clocks_; ++a) {
        for (size_t b = 0; b < clocks_; ++b) {
          if (most(a, by) != kNoBound && most(by, b) != kNoBound) {
            bound(a, b, most(a, by) + most(by, b));
          }
        }
      }
    }
    for (size_t c = 0; c < clocks_; ++c) {
      if (most(c, c) < 0) return false;
    }
    return true;
  }

 private:
  int64_t& at(size_t a, size_t b) { return most_[a * clocks_ + b]; }

  size_t clocks_;
  std::vector<int64_t> most_;
};

/// Bounds of the newest `used` pieces for each pair of clocks; none: they contradict each other.
std::optional<Bounds> boundsOf(size_t clocks, const std::vector<Evidence>& newestFirst,
                               size_t used) {
  Bounds bounds(clocks);
  std::vector<size_t> taken(clocks * clocks);
  for (const Evidence& each : newestFirst) {
    if (++taken[each.from * clocks + each.to] > used) continue;
    bounds.bound(each.from, each.to, each.after - each.before);
  }
  if (!bounds.close()) return std::nullopt;
  return bounds;
}

}  // namespace

std::vector<ClockOffset> offsetsOf(size_t clocks, std::vector<Evidence> evidence) {
  std::stable_sort(evidence.begin(), evidence.end(),
                   [](const Evidence& a, const Evidence& b) { return a.before > b.before; });
  std::optional<Bounds> bounds;
  for (size_t used = std::max<size_t>(1, evidence.size()); !bounds && used > 0; used /= 2) {
    bounds = boundsOf(clocks, evidence, used);
  }
  if (!bounds) bounds.emplace(clocks);
  const Bounds proven = *bounds;
  std::vector<ClockOffset> out(clocks);
  out[0].known = true;
  for (size_t c = 1; c < clocks; ++c) {
    const int64_t high = bounds->most(0, c), low = bounds->most(c, 0);
    if (high == kNoBound || low == kNoBound) continue;
    const int64_t ahead = (high - low) / 2;
    out[c] = {ahead, std::max(proven.most(0, c) - ahead, ahead + proven.most(c, 0)), true};
    // The clocks after it are set so that they agree with this choice.
    bounds->bound(0, c, out[c].ahead);
    bounds->bound(c, 0, -out[c].ahead);
    bounds->close();
  }
  return out;
}

}  // namespace rondo::status
