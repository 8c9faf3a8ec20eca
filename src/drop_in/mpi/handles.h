#pragma once
// MPI's handles as keys: addresses of structs in one implementation and numbers in another.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rondo::drop_in {

/// The handle's place among 2^bits, well spread.
template <int bits, class Handle>
size_t slotOf(Handle handle) {
  uint64_t number;
  if constexpr (std::is_pointer_v<Handle>) {
    number = reinterpret_cast<uintptr_t>(handle);
  } else {
    number = static_cast<uint64_t>(handle);
  }
  return (number * 0x9e3779b97f4a7c15u) >> (64 - bits);
}

}  // namespace rondo::drop_in
