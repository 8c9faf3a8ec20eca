// All-reduce through windows, for every number of ranks a kernel of its own: loops over peers then
// unroll, and their loads and polls overlap.

#include "coll/algo/window.h"
#include "kernels/impl/standing.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(OneShot, allReduceOneShot);
RONDO_ALGORITHM(TwoShot, allReduceTwoShot);
using LL128 = ProtocolLL128<15>;

template <int kRanks>
void add(std::vector<Kernel>& rows) {
  rows.push_back(standingRow<OneShot, ProtocolLL, HotReducer, kRanks>("allreduce", "oneshot"));
  rows.push_back(standingRow<OneShot, LL128, HotReducer, kRanks>("allreduce", "oneshot"));
  rows.push_back(windowRow<TwoShot, LL128, HotReducer, kRanks>("allreduce", "twoshot"));
}

}  // namespace

std::vector<Kernel> allReduceKernels() {
  std::vector<Kernel> rows;
  add<2>(rows);
  add<3>(rows);
  add<4>(rows);
  add<5>(rows);
  add<6>(rows);
  add<7>(rows);
  add<8>(rows);
  return rows;
}

}  // namespace rondo
