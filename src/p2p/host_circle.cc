#include "p2p/host_circle.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>

namespace rondo {
namespace {

/// 64 processes on 16 hosts have 49 descriptors where few meet and 102 where all do
/// (tests/many_hosts.sh, 2026-11-25); up to here a network that does not work shows at once.
constexpr int kMostInTouch = 32;

bool isPowerOfTwo(int n) { return n > 0 && std::has_single_bit(static_cast<unsigned>(n)); }

}  // namespace

bool fewInTouch(int ranks) {
  return ranks > kMostInTouch || std::getenv("RONDO_TEST_FEW_MET") != nullptr;
}

std::vector<HostStanding> hostStandings(const std::vector<int>& hostOf, int rank) {
  const size_t n = hostOf.size();
  std::vector<int> numbers(n), sizes(n);  // of a rank on its host, of a host
  int hosts = 0;
  for (size_t r = 0; r < n; ++r) {
    numbers[r] = sizes[static_cast<size_t>(hostOf[r])]++;
    hosts = std::max(hosts, hostOf[r] + 1);
  }
  const auto mine = static_cast<size_t>(rank);
  std::vector<HostStanding> out(n);
  for (size_t r = 0; r < n; ++r) {
    if (hostOf[r] == hostOf[mine]) continue;
    const int least =
        std::min(sizes[static_cast<size_t>(hostOf[mine])], sizes[static_cast<size_t>(hostOf[r])]);
    out[r].opposite = numbers[mine] % least == numbers[r] % least;
    const int on = (hostOf[r] - hostOf[mine] + hosts) % hosts;
    out[r].next = isPowerOfTwo(on) || isPowerOfTwo(hosts - on);
  }
  return out;
}

}  // namespace rondo
