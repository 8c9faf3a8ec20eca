#pragma once
// Numbers with units, exact in both directions.

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo::topo {

/// "64GB/s", "12.5 GB/s", "800000000B/s"; a number alone is in GB/s (10^9 bytes). False: it is no
/// bandwidth from 1 byte/s to Graph::kMostBandwidth.
bool parseBandwidth(std::string_view text, uint64_t* bytesPerSecond);
/// "600ns", "1.5us", "250000ps", "1s"; a number alone is in nanoseconds. Up to Graph::kMostLatency.
bool parseLatency(std::string_view text, uint64_t* picoseconds);
/// Digits only, from `least` to `most`.
bool parseWhole(std::string_view text, uint64_t least, uint64_t most, uint64_t* value);

/// Read back, both give the same number: "64GB/s", "12.5GB/s", "1us", "1.25ns".
std::string bandwidthText(uint64_t bytesPerSecond);
std::string latencyText(uint64_t picoseconds);

/// To four digits, which is more than a measurement is worth.
uint64_t fourDigits(uint64_t value);

/// For people: "63.02 GB/s".
std::string shortBandwidth(uint64_t bytesPerSecond);

extern const char* const kBandwidthAllowed;
extern const char* const kLatencyAllowed;

}  // namespace rondo::topo
