// Scans: through windows, and along the ring's links from rank 0 on.

#include "coll/algo/scan.h"
#include "kernels/impl/entry.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(ScanOneShot, scanOneShot);
RONDO_ALGORITHM(ExscanOneShot, exscanOneShot);
RONDO_ALGORITHM(ScanChain, scanChain);
RONDO_ALGORITHM(ExscanChain, exscanChain);

using Line = ProtocolLL128<15>;
using EvenLine = ProtocolLL128<14>;

/// With unrolled loops over peers.
template <int kRanks>
void addRanked(std::vector<Kernel>& rows) {
  rows.push_back(windowRow<ScanOneShot, Line, HotReducer, kRanks>("scan", "oneshot"));
  rows.push_back(windowRow<ExscanOneShot, Line, HotReducer, kRanks>("exscan", "oneshot"));
}

}  // namespace

std::vector<Kernel> scanKernels() {
  std::vector<Kernel> rows = {
      windowRow<ScanOneShot, Line, HotReducer>("scan", "oneshot"),
      windowRow<ScanOneShot, EvenLine, AnyReducer>("scan", "oneshot"),
      windowRow<ScanOneShot, ProtocolLL, HotReducer>("scan", "oneshot"),
      windowRow<ExscanOneShot, Line, HotReducer>("exscan", "oneshot"),
      windowRow<ExscanOneShot, EvenLine, AnyReducer>("exscan", "oneshot"),
      windowRow<ExscanOneShot, ProtocolLL, HotReducer>("exscan", "oneshot"),
      chainRow<ScanChain, HotReducer>("scan", "chain"),
      chainRow<ScanChain, AnyReducer>("scan", "chain"),
      chainRow<ExscanChain, HotReducer>("exscan", "chain"),
      chainRow<ExscanChain, AnyReducer>("exscan", "chain"),
  };
  addRanked<2>(rows);
  addRanked<4>(rows);
  return rows;
}

}  // namespace rondo
