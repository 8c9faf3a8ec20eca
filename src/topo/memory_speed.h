#pragma once
// How quickly processing units read memory that is near others, by reading it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::topo {

/// The processing units of a NUMA node (the kernel's number) that this process may run on. Where
/// the kernel tells of no NUMA nodes, all that it may run on, for node 0. `sys` is for tests.
std::vector<int> cpusOfNuma(int numa, const std::string& sys = "/sys");

struct MemorySpeed {
  uint64_t bytesPerSecond = 0;  ///< All readers together.
  uint64_t picoseconds = 0;     ///< From an address to its value, to one reader.
};

/// A thread on each of `readers` reads memory that a thread on one of `homes` touched first;
/// `bytes` of it together, which should be several times the last cache. The best of three looks.
/// Takes about a second and returns zeros where a thread cannot be bound. Throws Error where there
/// is not enough memory.
MemorySpeed measureMemory(const std::vector<int>& readers, const std::vector<int>& homes,
                          size_t bytes);

/// How many bytes are enough for a last cache of so many, and not too many for what is free.
size_t bytesToMeasure(uint64_t l3Bytes);

}  // namespace rondo::topo
