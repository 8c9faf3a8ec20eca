#include "api/comm_costs.h"

#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {
namespace {

/// Of rank 0: what all ranks choose by from now on.
struct Pick {
  HostCosts costs;
  MeasuredCosts measured;
  char source[576];
};

}  // namespace

void settleCosts(Bootstrap& boot, Communicator& comm, const std::vector<CostsState>& states,
                 const std::vector<int>& hostOf) {
  const FlagPair pair = flagPairOf(comm.facts(), hostOf);
  if (pair.first < 0) return;
  Pick mine{};
  together(boot, [&] {
    uint64_t flag = 0;
    if (comm.flagWay(pair, &flag) != RunResult::Ok) {
      throw Error(rondoRemoteError, comm.aborted() ? comm.abortText()
                                                   : "a rank did not answer while the costs of "
                                                     "this machine's state were looked for");
    }
    if (states.empty()) return;
    const CostsState& state = nearestState(states, flag);
    mine.costs = state.costs;
    mine.measured = state.measuredBits();
    const std::string source =
        comm.costsSource() + format(", %s (now %.0f)", stateText(state, states).c_str(),
                                    static_cast<double>(flag) * 1e-3);
    source.copy(mine.source, sizeof mine.source - 1);
  });
  std::vector<Pick> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  comm.adoptCosts(all.front().costs, all.front().measured, all.front().source);
}

}  // namespace rondo
