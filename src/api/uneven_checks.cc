#include "api/uneven_checks.h"

#include <algorithm>
#include <numeric>

#include "api/comm_create.h"
#include "api/types.h"
#include "base/error.h"
#include "base/of_thread.h"

namespace rondo {
namespace {

rondoResult_t refuse(const CollectiveArgs& args, const std::string& what) {
  return refuseCall(args, rondoInvalidArgument, what);
}

/// Whether each block begins behind the ones before it, as most do: then they are disjoint.
bool inOrder(const UnevenBlocks& blocks) {
  uint64_t end = 0;
  for (size_t r = 0; r < blocks.counts.size(); ++r) {
    if (blocks.counts[r] == 0) continue;
    if (blocks.displs[r] < end) return false;
    end = blocks.displs[r] + blocks.counts[r];
  }
  return true;
}

rondoResult_t checkDisjoint(const CollectiveArgs& args, const UnevenArgs& uneven,
                            const UnevenBlocks& blocks) {
  if (inOrder(blocks)) return rondoSuccess;
  auto& order = ofThread<std::vector<size_t>, struct OfChecks>();  // keeps its memory
  order.resize(blocks.counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return blocks.displs[a] < blocks.displs[b]; });
  size_t before = SIZE_MAX;
  for (const size_t r : order) {
    if (blocks.counts[r] == 0) continue;
    if (before != SIZE_MAX && blocks.displs[before] + blocks.counts[before] > blocks.displs[r]) {
      return refuse(args,
                    format("argument %s: blocks %zu ([%zu, %zu)) and %zu ([%zu, %zu)) overlap; "
                           "allowed: blocks that do not",
                           uneven.displsName, before, blocks.displs[before],
                           blocks.displs[before] + blocks.counts[before], r, blocks.displs[r],
                           blocks.displs[r] + blocks.counts[r]));
    }
    before = r;
  }
  return rondoSuccess;
}

}  // namespace

rondoResult_t checkUneven(const CollectiveArgs& args, const UnevenArgs& uneven,
                          UnevenBlocks* blocks) {
  const auto n = static_cast<size_t>(args.comm->impl->place().size);
  if (uneven.counts == nullptr) {
    return refuse(
        args, format("argument %s is NULL; allowed: %zu counts, one a rank", uneven.countsName, n));
  }
  const uint64_t most = PTRDIFF_MAX / typeSize(args.type);
  UnevenBlocks& out = *blocks;
  out.counts.resize(n);
  out.displs.resize(n);
  out.extent = out.total = 0;
  for (size_t r = 0; r < n; ++r) {
    const uint64_t count = uneven.counts[r];
    if (count > most || out.total + count > most) {
      return refuse(args,
                    format("argument %s[%zu] is %s elements of %s, after %zu of the ranks before; "
                           "allowed: at most %zu together, so that the buffer fits the address "
                           "space",
                           uneven.countsName, r, countText(count).c_str(), typeName(args.type),
                           out.total, most));
    }
    const uint64_t displ = uneven.displs == nullptr ? out.total : uneven.displs[r];
    if (count > 0 && displ > most - count) {
      return refuse(args, format("argument %s[%zu] is %s, with a block of %zu elements; allowed: "
                                 "blocks that end at %zu elements at most",
                                 uneven.displsName, r, countText(displ).c_str(), count, most));
    }
    out.counts[r] = count;
    out.displs[r] = count > 0 ? displ : 0;
    out.total += count;
    if (count > 0) out.extent = std::max(out.extent, displ + count);
  }
  if (uneven.written && uneven.displs != nullptr) {
    if (const rondoResult_t bad = checkDisjoint(args, uneven, out)) return bad;
  }
  return rondoSuccess;
}

rondoResult_t checkMine(const CollectiveArgs& args, const char* name, size_t mine,
                        const char* countsName, uint64_t entry) {
  if (mine == entry) return rondoSuccess;
  const int rank = args.comm->impl->place().rank;
  return refuse(args,
                format("argument %s is %s and %s[%d], this rank's own, is %s; allowed: "
                       "equal counts",
                       name, countText(mine).c_str(), countsName, rank, countText(entry).c_str()));
}

}  // namespace rondo
