#include "api/comm_bootstrap.h"

#include <algorithm>
#include <cstring>

#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {
namespace {

/// So many send to each other all at once: one way between any two, of which each waits for none.
/// With more, what a rank sends grows as their number does, and it makes a way to each.
constexpr size_t kMostAtOnce = 8;

}  // namespace

Secret sharedSecret(Bootstrap& boot) {
  Secret mine{};
  together(boot, [&] {
    if (boot.rank() == 0) mine = makeSecret();
  });
  std::vector<Secret> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  return all.front();
}

CommBootstrap::CommBootstrap(Communicator& parent, std::vector<int> members)
    : parent_(parent), members_(std::move(members)) {
  const auto own = std::find(members_.begin(), members_.end(), parent.place().rank);
  rank_ = static_cast<int>(own - members_.begin());
  secret_ = sharedSecret(*this);
}

void CommBootstrap::allGather(const void* mine, size_t bytes, void* all) {
  if (members_.size() > kMostAtOnce) return gatherByDoubling(mine, bytes, static_cast<char*>(all));
  std::vector<char> out(bytes);
  std::memcpy(out.data(), mine, bytes);
  char* const in = static_cast<char*>(all);
  std::memcpy(in + static_cast<size_t>(rank_) * bytes, mine, bytes);
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (static_cast<int>(i) == rank_) continue;
    transfers.push_back({members_[i], true, out.data(), bytes});
    transfers.push_back({members_[i], false, in + i * bytes, bytes});
  }
  if (!transfers.empty()) exchange(transfers);
}

/// Bruck's all-gather ("Efficient Algorithms for All-to-All Communications in Multiport
/// Message-Passing Systems", 1997): who has the blocks of d ranks from itself on gets those of the
/// next d from the rank d further.
void CommBootstrap::gatherByDoubling(const void* mine, size_t bytes, char* all) {
  const size_t n = members_.size(), own = static_cast<size_t>(rank_);
  std::vector<char> blocks(n * bytes);
  std::memcpy(blocks.data(), mine, bytes);
  for (size_t have = 1; have < n; have *= 2) {
    const size_t more = std::min(have, n - have);
    const Transfer both[] = {
        {members_[(own + n - have) % n], true, blocks.data(), more * bytes},
        {members_[(own + have) % n], false, blocks.data() + have * bytes, more * bytes}};
    exchange(both);
  }
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(all + (own + i) % n * bytes, blocks.data() + i * bytes, bytes);
  }
}

void CommBootstrap::exchange(std::span<const Transfer> transfers) {
  switch (parent_.runExchange(transfers)) {
    case RunResult::Ok:
      return;
    case RunResult::Mismatch: {
      const std::string why = parent_.exchangeMismatch();
      parent_.abortDiffering(why);  // what this rank knows, the others may not
      throw Error(rondoMismatch, why);
    }
    case RunResult::SpinBound:
      throw Error(rondoRemoteError,
                  format("communicator \"%s\" waited longer than RONDO_SPIN_BOUND_MS for a peer",
                         parent_.name().c_str()));
    case RunResult::Aborted: {
      const Communicator::End end = parent_.endOf();
      throw Error(end.code, end.why);
    }
  }
}

}  // namespace rondo
