#pragma once
// What a kernel makes of n operands of 16 bytes: a switch over the few hot cases, or a call of the
// one function that knows all types and operators.

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

__device__ __noinline__ inline Unit foldAnyCalled(const Reduction& r, const Unit* in, int n) {
  return foldAny(r, in, n);
}

/// Where foldsInPairs().
__device__ __noinline__ inline Unit foldPairCalled(rondoDataType_t type, rondoRedOp_t op, Unit a,
                                                   Unit b) {
  return foldPair(type, op, a, b);
}

/// Of two operands, which come in registers, and leave them only where they must.
__device__ __noinline__ inline Unit foldTwoCalled(Reduction r, Unit a, Unit b) {
  if (foldsInPairs(r)) return foldPair(r.type, r.op, a, b);
  const Unit in[2] = {a, b};
  return foldAny(r, in, 2);
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
    if constexpr (kMost == 2) {
      const Unit result =
          device::foldTwoCalled(r, Unit{in[0][0], in[1][0]}, Unit{in[0][1], in[1][1]});
      out[0] = result.a;
      out[1] = result.b;
      return;
    }
    if (foldsInPairs(r)) {
      Unit result{in[0][0], in[1][0]};
#pragma unroll
      for (int k = 1; k < kMost; ++k) {
        if (k < n) result = device::foldPairCalled(r.type, r.op, result, Unit{in[0][k], in[1][k]});
      }
      out[0] = result.a;
      out[1] = result.b;
      return;
    }
    Unit units[kMost];
#pragma unroll
    for (int k = 0; k < kMost; ++k) units[k] = Unit{in[0][k], in[1][k]};
    const Unit result = device::foldAnyCalled(r, units, n);
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
