#include "coll/mixed_pass.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/types.h"
#include "coll/plan.h"
#include "coll/scaled_ops.h"

namespace rondo {
namespace {

using Head = uint64_t;  // of a block: with how many calls its rank could begin

uint64_t slotsOf(Slots use, int ranks) {
  if (use == Slots::None) return 0;
  return use == Slots::All ? static_cast<uint64_t>(ranks) : 1;
}

uint64_t slotBytes(const PlanKey& key) { return key.count * typeSize(key.type); }

/// What any rank puts into the call at most: in rooted ones the root's.
uint64_t inputBytes(const PlanKey& key, int ranks) {
  return slotsOf(slotUse(key.collective, key.root, key.root).src, ranks) * slotBytes(key);
}

/// Bytes that the call makes on one rank, at most.
uint64_t outputBytes(const PlanKey& key, int rank, int ranks) {
  return slotsOf(slotUse(key.collective, rank, key.root).dst, ranks) * slotBytes(key);
}

/// Premultiplied sums have a scalar that the block does not tell of.
bool mixes(const HostRequest& request) {
  return !request.key.uneven && request.key.op < ScaledOps::kFirst &&
         request.key.count <= MixedPass::kMostBytes;
}

bool overlap(const char* a, uint64_t aBytes, const char* b, uint64_t bBytes) {
  return aBytes > 0 && bBytes > 0 && a < b + bBytes && b < a + aBytes;
}

}  // namespace

size_t MixedPass::passOf(std::span<const HostRequest> waiting, int ranks) {
  if (ranks < 2) return 1;
  uint64_t block = sizeof(Head);
  size_t n = 0;
  for (; n < waiting.size() && n < kMostCalls && mixes(waiting[n]); ++n) {
    block += inputBytes(waiting[n].key, ranks);
    if (block * static_cast<uint64_t>(ranks) > kMostBytes) break;
  }
  return std::max<size_t>(n, 1);
}

bool MixedPass::differ(std::span<const HostRequest> pass) {
  return std::any_of(pass.begin(), pass.end(), [first = pass[0].key](const HostRequest& request) {
    PlanKey like = request.key;
    like.count = first.count;
    return like != first;
  });
}

MixedPass::MixedPass(std::span<const HostRequest> pass, const RankPlace& place)
    : pass_(pass), place_(place), blockBytes_(sizeof(Head)) {
  for (const HostRequest& request : pass) blockBytes_ += bytesOf(request);
}

uint64_t MixedPass::bytesOf(const HostRequest& request) const {
  return inputBytes(request.key, place_.size);
}

PlanKey MixedPass::key() const { return {blockBytes_, rondoUint8, 0, 0, Collective::AllGather}; }

/// The calls before the first one that reads what another makes.
size_t MixedPass::ready() const {
  for (size_t i = 1; i < pass_.size(); ++i) {
    const PlanKey& key = pass_[i].key;
    const SlotUse use = slotUse(key.collective, place_.rank, key.root);
    const uint64_t reads = slotsOf(use.src, place_.size) * slotBytes(key);
    for (size_t j = 0; j < i; ++j) {
      if (overlap(static_cast<const char*>(pass_[i].src), reads,
                  static_cast<const char*>(pass_[j].dst),
                  outputBytes(pass_[j].key, place_.rank, place_.size))) {
        return i;
      }
    }
  }
  return pass_.size();
}

void MixedPass::fill(char* block) const {
  const Head head = ready();
  std::memcpy(block, &head, sizeof head);
  char* to = block + sizeof head;
  for (const HostRequest& request : pass_) {
    const SlotUse use = slotUse(request.key.collective, place_.rank, request.key.root);
    const uint64_t bytes = slotsOf(use.src, place_.size) * slotBytes(request.key);
    if (bytes > 0) std::memcpy(to, request.src, bytes);  // else its buffer may be null
    to += bytesOf(request);
  }
}

size_t MixedPass::finish(const char* blocks, CpuLevel cpu, bool tree) const {
  Head ready = pass_.size();
  for (int r = 0; r < place_.size; ++r) {
    Head theirs = 0;
    std::memcpy(&theirs, blocks + static_cast<size_t>(r) * blockBytes_, sizeof theirs);
    ready = std::min(ready, theirs);
  }
  const char* first = blocks + sizeof(Head);
  for (const HostRequest& request : pass_.first(ready)) {
    if (request.key.count > 0) handOut(request, first, cpu, tree);
    first += bytesOf(request);
  }
  return ready;
}

/// `first`: what rank 0 put in; the others' follow a block apart.
void MixedPass::handOut(const HostRequest& request, const char* first, CpuLevel cpu,
                        bool tree) const {
  const PlanKey& key = request.key;
  const uint64_t bytes = slotBytes(key);
  const auto of = [&](int rank) { return first + static_cast<size_t>(rank) * blockBytes_; };
  const uint64_t mine = static_cast<uint64_t>(place_.rank) * bytes;
  char* const dst = static_cast<char*>(request.dst);
  const auto gather = [&](uint64_t from) {
    for (int r = 0; r < place_.size; ++r) {
      std::memcpy(dst + static_cast<uint64_t>(r) * bytes, of(r) + from, bytes);
    }
  };
  if (outputBytes(key, place_.rank, place_.size) == 0) return;
  switch (key.collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
      return reduce(request, first, place_.size, cpu, tree);
    case Collective::ReduceScatter:
      return reduce(request, first + mine, place_.size, cpu, tree);
    case Collective::Scan:
      return reduce(request, first, place_.rank + 1, cpu, tree);
    case Collective::Exscan:
      return reduce(request, first, place_.rank, cpu, tree);
    case Collective::AllGather:
    case Collective::Gather:
      return gather(0);
    case Collective::AllToAll:
      return gather(mine);
    case Collective::Broadcast:
      std::memcpy(dst, of(key.root), bytes);
      return;
    case Collective::Scatter:
      std::memcpy(dst, of(key.root) + mine, bytes);
      return;
    case Collective::Barrier:
      return;
  }
}

/// Of ranks 0 .. ranks-1.
void MixedPass::reduce(const HostRequest& request, const char* first, int ranks, CpuLevel cpu,
                       bool tree) const {
  constexpr int kFew = 64;
  const void* few[kFew];
  std::vector<const void*> many;
  const void** in = few;
  if (ranks > kFew) {
    many.resize(static_cast<size_t>(ranks));
    in = many.data();
  }
  for (int r = 0; r < ranks; ++r) in[r] = first + static_cast<size_t>(r) * blockBytes_;
  const PlanKey& key = request.key;
  const uint32_t divisor = key.op == rondoAvg ? static_cast<uint32_t>(place_.size) : 0;
  findReduce(static_cast<rondoDataType_t>(key.type), static_cast<rondoRedOp_t>(key.op),
             cpu)({request.dst, nullptr, in, ranks, key.count, divisor, false, tree});
}

}  // namespace rondo
