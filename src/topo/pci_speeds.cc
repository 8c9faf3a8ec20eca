#include "topo/pci_speeds.h"

namespace rondo::topo {

uint64_t pciLaneBytes(std::string_view speed) {
  if (speed.ends_with(" PCIe")) speed.remove_suffix(5);
  if (!speed.ends_with(" GT/s")) return 0;
  for (const PciGeneration& known : kPciGenerations) {
    const std::string_view name = known.speed;
    // Older kernels say "16 GT/s".
    const size_t number = name.find(' ');
    const std::string_view shorter = name.substr(0, name.find(".0 "));
    if (speed == name || speed.substr(0, speed.size() - 5) == name.substr(0, number) ||
        speed.substr(0, speed.size() - 5) == shorter) {
      return known.bytesPerSecond;
    }
  }
  return 0;
}

PciSpeed nearestPci(uint64_t bytesPerSecond) {
  PciSpeed best{kUnknownPciSpeed, kUnknownPciWidth};
  uint64_t least = ~uint64_t{0};
  for (const PciGeneration& known : kPciGenerations) {
    for (const int width : {16, 8, 4, 2, 1}) {
      const uint64_t have = known.bytesPerSecond * static_cast<uint64_t>(width);
      const uint64_t off = have > bytesPerSecond ? have - bytesPerSecond : bytesPerSecond - have;
      if (off >= least) continue;
      least = off;
      best = {known.speed, width};
    }
  }
  return best;
}

uint64_t nvLinkBytes(int sm) {
  if (sm >= 100) return 50'000'000'000;
  if (sm == 86) return 14'062'500'000;  // Bridges of workstations' cards: 4 links, 56.25 GB/s.
  return sm >= 70 ? 25'000'000'000 : 20'000'000'000;
}

}  // namespace rondo::topo
