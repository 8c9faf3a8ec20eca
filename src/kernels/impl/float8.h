#pragma once
// 8-bit floats two at a time, by the instructions for them where there are any (compute capability
// 9.0, and 8.9 since CUDA 12.1), with the bits that element_ops.h has for one.

#include "kernels/reduce_units.h"

namespace rondo {
namespace device {

/// a op b of two each, as NarrowOrder has it: a NaN makes a NaN, and -0 is less than 0.
__device__ __forceinline__ float2 foldTwoFloats(rondoRedOp_t op, float2 a, float2 b) {
  switch (op) {
    case rondoProd:
      return make_float2(a.x * b.x, a.y * b.y);
    case rondoMax:
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(a.x) : "f"(b.x));
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(a.y) : "f"(b.y));
      return a;
    case rondoMin:
      asm("min.NaN.f32 %0, %0, %1;" : "+f"(a.x) : "f"(b.x));
      asm("min.NaN.f32 %0, %0, %1;" : "+f"(a.y) : "f"(b.y));
      return a;
    default:
      return make_float2(a.x + b.x, a.y + b.y);
  }
}

#if __CUDA_ARCH__ >= 900 || \
    (__CUDA_ARCH__ >= 890 && 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1201)
template <class Format>
constexpr bool kIsE4m3 = Format::kMost == element::Float8e4m3::kMost;

/// The two in the lower half of `bytes`, as float16, which every one of them is.
template <class Format>
__device__ __forceinline__ uint32_t halvesOf(uint32_t bytes) {
  const uint16_t two = static_cast<uint16_t>(bytes);
  uint32_t halves;
  if constexpr (kIsE4m3<Format>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(two));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(two));
  }
  return halves;
}

template <class Format>
__device__ __forceinline__ uint32_t bytesOf(uint32_t halves) {
  uint16_t two;
  if constexpr (kIsE4m3<Format>) {
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(two) : "r"(halves));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(two) : "r"(halves));
  }
  return two;
}

template <class Format>
__device__ __forceinline__ float2 widened(uint32_t bytes) {
  const uint32_t halves = halvesOf<Format>(bytes);
  return make_float2(element::Float16::widen(static_cast<uint16_t>(halves)),
                     element::Float16::widen(static_cast<uint16_t>(halves >> 16)));
}

template <class Format>
__device__ __forceinline__ uint32_t narrowed(float2 x) {
  uint16_t two;
  if constexpr (kIsE4m3<Format>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(x.y), "f"(x.x));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(x.y), "f"(x.x));
  }
  return two;
}

/// a op b of two each. Sums and products are rounded to float16 before they are rounded to the
/// format. The bits are those of a rounding at once: float16 has more than twice the format's bits
/// of a number and two (S. Figueroa, "When is double rounding innocuous?", 1995), products that it
/// cannot hold exactly are less than half of the least number, and what is too large for it
/// saturates.
template <class Format>
__device__ __forceinline__ uint32_t foldTwoBytes(rondoRedOp_t op, uint32_t a, uint32_t b) {
  const uint32_t x = halvesOf<Format>(a), y = halvesOf<Format>(b);
  uint32_t halves;
  switch (op) {
    case rondoProd:
      asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(x), "r"(y));
      break;
    case rondoMax:
      asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(x), "r"(y));
      break;
    case rondoMin:
      asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(x), "r"(y));
      break;
    default:
      asm("add.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(x), "r"(y));
  }
  return bytesOf<Format>(halves);
}
#else
template <class Format>
__device__ __forceinline__ float2 widened(uint32_t bytes) {
  return make_float2(Format::widen(static_cast<uint8_t>(bytes)),
                     Format::widen(static_cast<uint8_t>(bytes >> 8)));
}

template <class Format>
__device__ __forceinline__ uint32_t narrowed(float2 x) {
  return Format::narrow(x.x) | static_cast<uint32_t>(Format::narrow(x.y)) << 8;
}

template <class Format>
__device__ __forceinline__ uint32_t foldTwoBytes(rondoRedOp_t op, uint32_t a, uint32_t b) {
  return narrowed<Format>(foldTwoFloats(op, widened<Format>(a), widened<Format>(b)));
}
#endif

}  // namespace device
}  // namespace rondo
