#pragma once
// Links of a host of which nobody tells: hwloc does not measure them, nor does the kernel.

#include <cstdint>

namespace rondo::topo {

constexpr uint64_t kMemoryBytes = 200'000'000'000, kSocketBytes = 60'000'000'000;
constexpr uint64_t kMemoryLatency = 50'000, kSocketLatency = 100'000, kPciLatency = 250'000;
constexpr uint64_t kPciBytes = 63'015'384'608;  ///< 5.0 x16, where a virtual machine says nothing.
constexpr uint64_t kNetworkLatency = 500'000;   ///< A cable and a switch.

}  // namespace rondo::topo
