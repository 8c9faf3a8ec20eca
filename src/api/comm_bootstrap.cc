#include "api/comm_bootstrap.h"

#include <algorithm>
#include <cstring>

#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {

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
  if (transfers.empty()) return;
  switch (parent_.runExchange(transfers)) {
    case RunResult::Ok:
      return;
    case RunResult::Mismatch:
      throw Error(rondoMismatch, parent_.exchangeMismatch());
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
