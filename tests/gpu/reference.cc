#include "gpu/reference.h"

#include <algorithm>
#include <cstring>

#include "api/types.h"
#include "coll/plan.h"
#include "coll/reduce/reduce.h"

namespace rondo::test {
namespace {

/// Rank `rank`'s bits of data set `seed`: random, every third word made of what is special in some
/// type (zeros, ones, signs, infinities, NaNs).
Bytes randomBits(int rank, size_t bytes, uint32_t seed) {
  Bytes out(bytes);
  uint64_t state = (static_cast<uint64_t>(seed) << 32 | static_cast<uint32_t>(rank)) * 2 + 1;
  for (size_t i = 0; i < bytes; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t word = state * 0x2545f4914f6cdd1du;
    static constexpr uint64_t kSpecial[] = {0,
                                            ~uint64_t{0},
                                            0x8000000080000000u,
                                            0x7ff000007f800000u,
                                            0x3ff000003f800000u,
                                            0x7c007f80fc00ff80u,
                                            0x0101010101010101u,
                                            0x7f7e7c7bff807dfcu};
    if (state % 3 == 0) word = kSpecial[(state >> 20) % 8];
    std::memcpy(&out[i], &word, std::min<size_t>(8, bytes - i));
  }
  return out;
}

Bytes productsOf(const Bytes& input, rondoDataType_t type, int rank) {
  const size_t element = typeSize(type);
  const Unit scalar = scalarOf(type, rank);
  Bytes out(input.size());
  for (size_t at = 0; at < input.size(); at += element) {
    Unit factors[2] = {{0, 0}, scalar};
    std::memcpy(&factors[0], &input[at], element);
    const Unit product = foldAny(Reduction{type, rondoProd, 0}, factors, 2);
    std::memcpy(&out[at], &product, element);
  }
  return out;
}

size_t slotsOf(Slots use, int size) {
  return use == Slots::None ? 0 : use == Slots::All ? static_cast<size_t>(size) : 1;
}

}  // namespace

size_t Problem::sendBytes(int rank, int ranks) const {
  return slotsOf(slotUse(collective, rank, root).src, ranks) * count * typeSize(type);
}
size_t Problem::recvBytes(int rank, int ranks) const {
  return slotsOf(slotUse(collective, rank, root).dst, ranks) * count * typeSize(type);
}
size_t Problem::ownAt(int rank) const {
  const bool mine = collective == Collective::AllGather || collective == Collective::ReduceScatter;
  return mine ? static_cast<size_t>(rank) * count * typeSize(type) : 0;
}

Reduces reducesOf(const Problem& p, int ranks) {
  if (!isReduction(p.collective)) return Reduces::kNothing;
  if (!isHot(p.type, p.op)) return Reduces::kAll;
  if (isScan(p.collective)) return Reduces::kHot;
  return p.scaled && ranks > 1 ? Reduces::kScaled : Reduces::kHot;
}

DeviceRequest requestOf(const Problem& p, int ranks) {
  return {p.collective, p.count, static_cast<uint32_t>(typeSize(p.type)), reducesOf(p, ranks)};
}

Unit scalarOf(rondoDataType_t type, int rank) {
  const bool third = rank % 2 == 0;
  switch (type) {
    case rondoFloat16:
      return {third ? 0x3555u : 0x3e66u, 0};
    case rondoBfloat16:
      return {third ? 0x3eabu : 0x3fcdu, 0};
    case rondoFloat32:
      return {third ? 0x3eaaaaabu : 0x3fcccccdu, 0};
    case rondoFloat64:
      return {third ? 0x3fd5555555555555u : 0x3ff999999999999au, 0};
    default:
      return {third ? 3u : 5u, 0};
  }
}

Reference::Reference(const Problem& p, const DeviceChoice& choice, int size, uint32_t seed)
    : p_(p),
      ring_(choice.protocol == Protocol::kSimple),
      geometry_(choice.geometry),
      size_(size),
      element_(typeSize(p.type)) {
  for (int r = 0; r < size; ++r) {
    inputs_.push_back(randomBits(r, p.sendBytes(r, size), seed));
    if (p.scaled) products_.push_back(productsOf(inputs_.back(), p.type, r));
  }
}

Bytes Reference::output(int rank) const {
  const size_t slot = p_.count * element_;
  Bytes out(p_.recvBytes(rank, size_));
  if (out.empty()) return out;
  const auto copy = [&](size_t to, int from, size_t at) {
    std::memcpy(&out[to * slot], &input(from)[at * slot], slot);
  };
  switch (p_.collective) {
    case Collective::AllGather:
      for (int r = 0; r < size_; ++r) copy(static_cast<size_t>(r), r, 0);
      break;
    case Collective::AllToAll:
      for (int r = 0; r < size_; ++r) copy(static_cast<size_t>(r), r, static_cast<size_t>(rank));
      break;
    case Collective::Broadcast:
      copy(0, p_.root, 0);
      break;
    case Collective::ReduceScatter:
      reduce(&out, static_cast<size_t>(rank) * slot, 0, p_.count, ring_ ? rank + 1 : 0);
      break;
    case Collective::Reduce:
      reduce(&out, 0, 0, p_.count, ring_ ? p_.root + 1 : 0);
      break;
    case Collective::Scan:
    case Collective::Exscan:
      fold(&out, 0, 0, p_.count, 0, p_.collective == Collective::Scan ? rank + 1 : rank);
      break;
    default:
      allReduce(&out);
  }
  return out;
}

/// Elements [begin, end) of the result from byte `at` of the inputs. A ring adds one rank after
/// the other from rank `first` on; windows take all at once, in rank order.
void Reference::reduce(Bytes* out, size_t at, size_t begin, size_t end, int first) const {
  fold(out, at, begin, end, first, size_);
}

/// The same of so many `ranks`.
void Reference::fold(Bytes* out, size_t at, size_t begin, size_t end, int first, int ranks) const {
  if (begin >= end) return;
  const ReduceFn fn = findReduce(p_.type, p_.op, CpuLevel::kPlain);
  const uint32_t divisor = p_.op == rondoAvg ? static_cast<uint32_t>(size_) : 0;
  std::vector<const void*> in;
  for (int k = 0; k < ranks; ++k) {
    const auto r = static_cast<size_t>((first + k) % size_);
    in.push_back(&(p_.scaled ? products_ : inputs_)[r][at + begin * element_]);
  }
  unsigned char* const to = &(*out)[begin * element_];
  if (ranks == 1) {
    std::memcpy(to, in[0], (end - begin) * element_);
    return;
  }
  if (!ring_) {
    fn({to, nullptr, in.data(), ranks, end - begin, divisor, false});
    return;
  }
  std::memcpy(to, in[0], (end - begin) * element_);
  for (size_t k = 1; k < in.size(); ++k) {
    const void* two[] = {to, in[k]};
    fn({to, nullptr, two, 2, end - begin, k + 1 == in.size() ? divisor : 0, false});
  }
}

void Reference::allReduce(Bytes* out) const {
  const algo::Geometry& g = geometry_;
  for (uint64_t period = 0; period <= g.fullPeriods(); ++period) {
    for (int lane = 0; lane < g.lanes; ++lane) {
      algo::Part part =
          period < g.fullPeriods() ? algo::fullPart(g, lane) : algo::lastPart(g, lane);
      part.offset += period * g.period();
      for (int j = 0; j < g.blocks; ++j) {
        const algo::Block b = part.at(j);
        reduce(out, 0, b.offset, b.offset + b.count, ring_ ? j + 1 : 0);
      }
    }
  }
}

}  // namespace rondo::test
