#pragma once
// PrimsSimple's bodies.

#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {
namespace device {

/// What one move reads and writes; nullptr where it does not.
struct Operands {
  const unsigned char* recv;
  const unsigned char* src;
  unsigned char* dst;
  unsigned char* send;
};

/// Some of a Unit's bytes at a time: all of them, or one element.
struct WholeUnits {
  static constexpr int kBytes = 16;
  __device__ uint32_t bytes() const { return 16; }
  __device__ Unit load(const unsigned char* from) const {
    const ulonglong2 v = __ldcg(reinterpret_cast<const ulonglong2*>(from));
    return Unit{v.x, v.y};
  }
  __device__ void store(unsigned char* to, Unit u) const {
    *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(u.a, u.b);
  }
};

struct Elements {
  uint32_t elementBytes;
  __device__ uint32_t bytes() const { return elementBytes; }
  __device__ Unit load(const unsigned char* from) const {
    switch (elementBytes) {
      case 1:
        return Unit{__ldcg(from), 0};
      case 2:
        return Unit{__ldcg(reinterpret_cast<const unsigned short*>(from)), 0};
      case 4:
        return Unit{__ldcg(reinterpret_cast<const unsigned*>(from)), 0};
      default: {
        const auto* words = reinterpret_cast<const unsigned long long*>(from);
        return Unit{__ldcg(words), elementBytes == 16 ? __ldcg(words + 1) : 0};
      }
    }
  }
  __device__ void store(unsigned char* to, Unit u) const {
    switch (elementBytes) {
      case 1:
        *to = static_cast<unsigned char>(u.a);
        break;
      case 2:
        *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(u.a);
        break;
      case 4:
        *reinterpret_cast<unsigned*>(to) = static_cast<unsigned>(u.a);
        break;
      default: {
        auto* words = reinterpret_cast<unsigned long long*>(to);
        words[0] = u.a;
        if (elementBytes == 16) words[1] = u.b;
      }
    }
  }
};

/// Bytes [from, end) of all operands, kUnroll pieces in flight a thread.
template <int bits, class Reducer, int kUnroll, class Piece>
__device__ __forceinline__ void combine(const Operands& o, const Reduction& reduction, Piece piece,
                                        uint32_t from, uint32_t end) {
  const uint32_t step = piece.bytes() * blockDim.x;
  for (uint32_t base = from + threadIdx.x * piece.bytes(); base < end; base += kUnroll * step) {
    Unit a[kUnroll], b[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if ((bits & algo::kRecv) && i < end) a[u] = piece.load(o.recv + i);
      if ((bits & algo::kSrc) && i < end) b[u] = piece.load(o.src + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if (i >= end) continue;
      Unit v = (bits & algo::kRecv) ? a[u] : b[u];
      if constexpr ((bits & algo::kRecv) && (bits & algo::kSrc)) {
        const unsigned long long words[2][2] = {{a[u].a, b[u].a}, {a[u].b, b[u].b}};
        unsigned long long out[2];
        Reducer::reduce(reduction, words, 2, out);
        v = Unit{out[0], out[1]};
      }
      if (bits & algo::kSend) piece.store(o.send + i, v);
      if (bits & algo::kDst) piece.store(o.dst + i, v);
    }
  }
}

}  // namespace device

template <class Reducer>
__device__ __forceinline__ PrimsSimple<Reducer>::PrimsSimple(const RingCall& call, int lane)
    : call_(call),
      in_(call.ring.fromPrev),
      out_(call.ring.toNext),
      steps_(call.ring.steps + lane * kFlagWords) {
  const uint64_t slots = static_cast<uint64_t>(lane) * kFifoSlots * kSlotBytes;
  for (FifoView* fifo : {&in_, &out_}) {
    fifo->slots += slots;
    fifo->head += lane * kFlagWords;
    fifo->credit += lane * kFlagWords;
  }
  received_ = steps_[0];
  sent_ = steps_[1];
}

template <class Reducer>
__device__ __forceinline__ void PrimsSimple<Reducer>::finish() {
  __syncthreads();  // every thread has read the old steps
  if (threadIdx.x == 0) {
    steps_[0] = received_;
    steps_[1] = sent_;
  }
}

/// Waits for the block that comes in and for a slot to send into, by one thread each. Counters may
/// wrap: only differences are looked at.
template <class Reducer>
template <int bits>
__device__ __forceinline__ bool PrimsSimple<Reducer>::ready() {
  bool given = false;
  if ((bits & algo::kRecv) && threadIdx.x == 0) {
    given = !device::waitUntil(call_.args.fault,
                               [&] { return device::loadAcquire(in_.head) - received_ != 0; });
  }
  if ((bits & algo::kSend) && threadIdx.x == 32) {
    given = !device::waitUntil(
        call_.args.fault, [&] { return sent_ - device::loadAcquire(out_.credit) < kFifoSlots; });
  }
  return !__syncthreads_or(given);
}

/// Tells the next rank that a block is there, and the previous one that its slot is free again.
template <class Reducer>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer>::announce() {
  __syncthreads();
  received_ += (bits & algo::kRecv) ? 1 : 0;
  sent_ += (bits & algo::kSend) ? 1 : 0;
  if ((bits & algo::kSend) && threadIdx.x == 0) device::storeRelease(out_.head, sent_);
  if ((bits & algo::kRecv) && threadIdx.x == 32) device::storeRelease(in_.credit, received_);
}

template <class Reducer>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer>::move(algo::Block b, int, int) {
  if (b.count == 0 || gaveUp_) return;
  if (!ready<bits>()) {
    gaveUp_ = true;
    return;
  }
  const uint64_t recvSlot = static_cast<uint64_t>(received_ % kFifoSlots) * kSlotBytes;
  const uint64_t sendSlot = static_cast<uint64_t>(sent_ % kFifoSlots) * kSlotBytes;
  const CallArgs& args = call_.args;
  const uint64_t at = b.offset * args.elementBytes;
  const device::Operands o{
      in_.slots + recvSlot, args.src + static_cast<uint64_t>(b.slot) * args.srcSlot + at,
      args.dst + static_cast<uint64_t>(b.slot) * args.dstSlot + at, out_.slots + sendSlot};
  Reduction reduction = args.reduction;
  if (!(bits & algo::kFinal)) reduction.divisor = 0;
  const uint32_t bytes = static_cast<uint32_t>(b.count) * args.elementBytes;
  const bool wide = ((bits & algo::kSrc) == 0 || device::aligned(o.src, 16)) &&
                    ((bits & algo::kDst) == 0 || device::aligned(o.dst, 16));
  const uint32_t whole = wide ? bytes / 16 * 16 : 0;
  device::combine<bits, Reducer, 4>(o, reduction, device::WholeUnits{}, 0, whole);
  device::combine<bits, Reducer, 1>(o, reduction, device::Elements{args.elementBytes}, whole,
                                    bytes);
  if (bits & (algo::kRecv | algo::kSend)) announce<bits>();
}

}  // namespace rondo
