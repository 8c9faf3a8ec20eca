#pragma once
// What links carry, by their generation.

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo::topo {

struct PciGeneration {
  const char* speed;        ///< As the kernel says it, without " PCIe".
  uint64_t bytesPerSecond;  ///< Of one lane, with its coding taken off.
};

/// 2.5 to 64 GT/s, the slowest first.
constexpr PciGeneration kPciGenerations[] = {
    {"2.5 GT/s", 250'000'000},    {"5.0 GT/s", 500'000'000},    {"8.0 GT/s", 984'615'384},
    {"16.0 GT/s", 1'969'230'769}, {"32.0 GT/s", 3'938'461'538}, {"64.0 GT/s", 7'562'500'000}};
/// Where nothing is said, as in virtual machines.
constexpr const char* kUnknownPciSpeed = "32.0 GT/s";
constexpr int kUnknownPciWidth = 16;

/// "16.0 GT/s PCIe", "16 GT/s"; 0: it is no generation's.
uint64_t pciLaneBytes(std::string_view speed);

/// The generation and width that come nearest.
struct PciSpeed {
  const char* speed;
  int width;
};
PciSpeed nearestPci(uint64_t bytesPerSecond);

/// One NVLink in each direction, of GPUs of compute capability `sm` (90 is 9.0).
uint64_t nvLinkBytes(int sm);

}  // namespace rondo::topo
