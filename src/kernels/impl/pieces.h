#pragma once
// How kernels take data apart: vectors, shifted vectors, or elements.

#include "kernels/impl/copy.h"

namespace rondo::device {

/// How much of the operands is taken at a time: all of a Unit's bytes, or one element. Of the
/// caller's memory Raw is what was loaded; slots are aligned to 16 bytes.
struct WholeUnits {
  using Raw = Unit;
  __device__ uint32_t bytes() const { return 16; }
  __device__ Unit fetch(const unsigned char* slot) const { return loadUnit(slot); }
  __device__ void put(unsigned char* slot, Unit u) const { storeUnit(slot, u); }
  __device__ Raw load(const unsigned char* from) const { return loadUnit(from); }
  __device__ Unit unit(Raw raw) const { return raw; }
  __device__ void store(unsigned char* to, Unit u) const { storeUnit(to, u); }
};

/// Not inlined: eight of them would be most of a verb.
__device__ __noinline__ inline void storeUnitAnywhere(unsigned char* to, Unit u) {
  storeParts(to, u, 16);
}

/// Where the caller's memory is not aligned to 16 bytes.
struct ShiftedUnits {
  using Raw = Vectors;
  uint32_t shift;  ///< Of what is loaded.
  __device__ uint32_t bytes() const { return 16; }
  __device__ Unit fetch(const unsigned char* slot) const { return loadUnit(slot); }
  __device__ void put(unsigned char* slot, Unit u) const { storeUnit(slot, u); }
  __device__ Raw load(const unsigned char* from) const { return loadAround(from, shift); }
  __device__ Unit unit(Raw raw) const { return unitWithin(raw.low, raw.high, shift); }
  __device__ void store(unsigned char* to, Unit u) const { storeUnitAnywhere(to, u); }
};

struct Elements {
  using Raw = Unit;
  uint32_t elementBytes;
  __device__ uint32_t bytes() const { return elementBytes; }
  __device__ Unit fetch(const unsigned char* slot) const { return load(slot); }
  __device__ void put(unsigned char* slot, Unit u) const { store(slot, u); }
  __device__ Unit unit(Raw raw) const { return raw; }
  __device__ Raw load(const unsigned char* from) const {
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

}  // namespace rondo::device
