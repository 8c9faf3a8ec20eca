#pragma once
// What a kernel makes of n operands of 16 bytes: a switch over the few hot cases, or a call of the
// one function that knows all types and operators.

#include "kernels/impl/float8.h"
#include "kernels/launch.h"

namespace rondo {
namespace device {

__device__ __forceinline__ float2 twoFloats(unsigned long long word) {
  return make_float2(__uint_as_float(static_cast<uint32_t>(word)),
                     __uint_as_float(static_cast<uint32_t>(word >> 32)));
}
__device__ __forceinline__ unsigned long long wordOf(float2 v) {
  return static_cast<unsigned long long>(__float_as_uint(element::canonical(v.y))) << 32 |
         __float_as_uint(element::canonical(v.x));
}

/// Not inlined: a division is long, and only averages need it.
__device__ __noinline__ inline float4 divided(float4 x, float by) {
  return make_float4(x.x / by, x.y / by, x.z / by, x.w / by);
}

struct Float32Word {
  float2 x;
  __device__ explicit Float32Word(unsigned long long w) : x(twoFloats(w)) {}
  __device__ void add(const Float32Word& o) { x = make_float2(x.x + o.x.x, x.y + o.x.y); }
  __device__ void multiply(const Float32Word& o) { x = make_float2(x.x * o.x.x, x.y * o.x.y); }
  __device__ void divide(float by) {
    const float4 q = divided(make_float4(x.x, x.y, 0, 0), by);
    x = make_float2(q.x, q.y);
  }
  __device__ unsigned long long word() const { return wordOf(x); }
};

/// Four 16-bit floats, in float32.
template <class Format>
struct Narrow16Word {
  float x[4];
  __device__ explicit Narrow16Word(unsigned long long w) {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = Format::widen(static_cast<uint16_t>(w >> 16 * i));
  }
  __device__ void add(const Narrow16Word& o) {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] += o.x[i];
  }
  __device__ void multiply(const Narrow16Word& o) {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= o.x[i];
  }
  __device__ void divide(float by) {
    const float4 q = divided(make_float4(x[0], x[1], x[2], x[3]), by);
    x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
  }
  __device__ unsigned long long word() const {
    unsigned long long w = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      w |= static_cast<unsigned long long>(Format::narrow(x[i])) << 16 * i;
    }
    return w;
  }
};

/// The first n words, from left to right.
template <class Word, int kMost>
__device__ __forceinline__ unsigned long long sumWords(const unsigned long long (&in)[kMost], int n,
                                                       uint32_t divisor) {
  Word sum(in[0]);
#pragma unroll
  for (int r = 1; r < kMost; ++r) {
    if (r < n) sum.add(Word(in[r]));
  }
  if (divisor != 0) sum.divide(static_cast<float>(divisor));
  return sum.word();
}

template <class Word>
__device__ __forceinline__ unsigned long long productOf(unsigned long long word,
                                                        unsigned long long factor) {
  Word product(word);
  product.multiply(Word(factor));
  return product.word();
}

/// A word of elements times a word of scalars, rounded to the type as a buffer of products would
/// be. Not inlined: kernels would be twice as large.
__device__ __noinline__ inline unsigned long long scaledWord(rondoDataType_t type,
                                                             unsigned long long word,
                                                             unsigned long long factor) {
  switch (type) {
    case rondoFloat16:
      return productOf<Narrow16Word<element::Float16>>(word, factor);
    case rondoBfloat16:
      return productOf<Narrow16Word<element::Bfloat16>>(word, factor);
    default:
      return productOf<Float32Word>(word, factor);
  }
}

/// A word full of the scalar.
__device__ __forceinline__ unsigned long long readScalar(const Scale& scale,
                                                         uint32_t elementBytes) {
  unsigned long long one = scale.value;
  if (scale.scalar != nullptr) {
    one = elementBytes == 4 ? *reinterpret_cast<const uint32_t*>(scale.scalar)
                            : *reinterpret_cast<const uint16_t*>(scale.scalar);
  }
  return elementBytes == 4 ? (one & 0xffffffffu) * 0x100000001u
                           : (one & 0xffffu) * 0x1000100010001u;
}

/// Of 8-bit floats, which are wider on the way than at the end.
__device__ __forceinline__ bool foldsBytes(const Reduction& r) {
  return r.type == rondoFloat8e4m3 || r.type == rondoFloat8e5m2;
}

/// Of n units in memory, four elements at a time, in float32.
template <class Format>
__device__ __forceinline__ Unit foldBytes(const Reduction& r, const Unit* in, int n) {
  Unit out;
#pragma unroll 1
  for (int at = 0; at < 4; ++at) {
    const uint32_t* const four = reinterpret_cast<const uint32_t*>(in) + at;
    float2 low = widened<Format>(four[0]), high = widened<Format>(four[0] >> 16);
#pragma unroll 1
    for (int k = 1; k < n; ++k) {
      low = foldTwoFloats(r.op, low, widened<Format>(four[4 * k]));
      high = foldTwoFloats(r.op, high, widened<Format>(four[4 * k] >> 16));
    }
    if (r.divisor != 0) {
      const float4 q =
          divided(make_float4(low.x, low.y, high.x, high.y), static_cast<float>(r.divisor));
      low = make_float2(q.x, q.y), high = make_float2(q.z, q.w);
    }
    reinterpret_cast<uint32_t*>(&out)[at] = narrowed<Format>(low) | narrowed<Format>(high) << 16;
  }
  return out;
}

__device__ __forceinline__ Unit foldInMemory(const Reduction& r, const Unit* in, int n) {
  if (!foldsBytes(r)) return foldAny(r, in, n);
  return r.type == rondoFloat8e4m3 ? foldBytes<element::Float8e4m3>(r, in, n)
                                   : foldBytes<element::Float8e5m2>(r, in, n);
}

/// Not inlined, as those below: a kernel is large enough with the calls.
__device__ __noinline__ inline Unit foldAnyCalled(const Reduction& r, const Unit* in, int n) {
  return foldInMemory(r, in, n);
}

/// Where foldsInPairs().
__device__ __noinline__ inline Unit foldPairCalled(rondoDataType_t type, rondoRedOp_t op, Unit a,
                                                   Unit b) {
  return foldPair(type, op, a, b);
}

template <class Format>
__device__ __forceinline__ unsigned long long foldTwoWords(rondoRedOp_t op, unsigned long long a,
                                                           unsigned long long b) {
  unsigned long long w = 0;
#pragma unroll
  for (int i = 0; i < 64; i += 16) {
    const uint32_t two =
        foldTwoBytes<Format>(op, static_cast<uint32_t>(a >> i), static_cast<uint32_t>(b >> i));
    w |= static_cast<unsigned long long>(two) << i;
  }
  return w;
}
template <class Format>
__device__ __forceinline__ Unit foldTwoUnits(rondoRedOp_t op, Unit a, Unit b) {
  return Unit{foldTwoWords<Format>(op, a.a, b.a), foldTwoWords<Format>(op, a.b, b.b)};
}

/// a op b, which come in registers, and leave them only where they must.
__device__ __noinline__ inline Unit foldTwoCalled(Reduction r, Unit a, Unit b) {
  if (foldsInPairs(r)) return foldPair(r.type, r.op, a, b);
  if (foldsBytes(r) && r.divisor == 0) {
    return r.type == rondoFloat8e4m3 ? foldTwoUnits<element::Float8e4m3>(r.op, a, b)
                                     : foldTwoUnits<element::Float8e5m2>(r.op, a, b);
  }
  const Unit in[2] = {a, b};
  return foldInMemory(r, in, 2);
}

}  // namespace device

/// A reducer makes what enters a reduction of what lies in the caller's src: mostly that itself.
struct SourceAsItIs {
  __device__ explicit SourceAsItIs(const CallArgs&) {}
  __device__ unsigned long long operator()(unsigned long long word) const { return word; }
};

/// isHot() in reduce_units.h.
struct HotReducer {
  using Source = SourceAsItIs;
  template <int kMost>
  __device__ static unsigned long long word(const Reduction& r,
                                            const unsigned long long (&in)[kMost], int n) {
    switch (r.type) {
      case rondoFloat16:
        return device::sumWords<device::Narrow16Word<element::Float16>>(in, n, r.divisor);
      case rondoBfloat16:
        return device::sumWords<device::Narrow16Word<element::Bfloat16>>(in, n, r.divisor);
      default:
        return device::sumWords<device::Float32Word>(in, n, r.divisor);
    }
  }
  template <int kWords, int kMost>
  __device__ static void reduce(const Reduction& r, const unsigned long long (&in)[kWords][kMost],
                                int n, unsigned long long (&out)[kWords]) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) out[w] = word(r, in[w], n);
  }
};

/// Sums of products.
struct ScaledReducer : HotReducer {
  class Source {
   public:
    __device__ explicit Source(const CallArgs& args)
        : type_(args.reduction.type), factor_(device::readScalar(args.scale, args.elementBytes)) {}
    __device__ unsigned long long operator()(unsigned long long word) const {
      return device::scaledWord(type_, word, factor_);
    }

   private:
    rondoDataType_t type_;
    unsigned long long factor_;
  };
};

/// Everything.
struct AnyReducer {
  using Source = SourceAsItIs;
  template <int kWords, int kMost>
  __device__ static void reduce(const Reduction& r, const unsigned long long (&in)[kWords][kMost],
                                int n, unsigned long long (&out)[kWords]) {
    static_assert(kWords == 2, "elements have up to 16 bytes");
    Unit result{in[0][0], in[1][0]};
    if constexpr (kMost == 2) {
      result = device::foldTwoCalled(r, result, Unit{in[0][1], in[1][1]});
    } else if (foldsInPairs(r)) {
#pragma unroll
      for (int k = 1; k < kMost; ++k) {
        if (k < n) result = device::foldPairCalled(r.type, r.op, result, Unit{in[0][k], in[1][k]});
      }
    } else {
      Unit units[kMost];
#pragma unroll
      for (int k = 0; k < kMost; ++k) units[k] = Unit{in[0][k], in[1][k]};
      result = device::foldAnyCalled(r, units, n);
    }
    out[0] = result.a;
    out[1] = result.b;
  }
};

/// For collectives that only move.
struct NoReducer {
  using Source = SourceAsItIs;
  template <int kWords, int kMost>
  __device__ static void reduce(const Reduction&, const unsigned long long (&in)[kWords][kMost],
                                int, unsigned long long (&out)[kWords]) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) out[w] = in[w][0];
  }
};

}  // namespace rondo
