#pragma once
// What was measured on GPUs: the rows of tests/measurements.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "coll/device_planner.h"

namespace rondo::test {

struct DeviceMeasurement {
  Collective collective;
  int ranks;
  uint64_t bytes;      ///< As rondo-bench counts: of a slot; reduce-scatter's of the whole vector.
  double picoseconds;  ///< Of a call in a graph.
  std::string rule;    ///< What ran, as in RONDO_TUNE.
  bool close = false;  ///< Kernels came close behind those before them.

  DeviceRequest request() const {
    const uint64_t slots =
        collective == Collective::ReduceScatter ? static_cast<uint64_t>(ranks) : 1;
    return {collective, bytes / 4 / slots, 4,
            isReduction(collective) ? Reduces::kHot : Reduces::kNothing};
  }
  DeviceFacts facts() const {
    DeviceFacts facts;
    facts.ranks = ranks;
    facts.lanes = 128;
    facts.lineStores = true;
    facts.close = close ? Close::kBeside : Close::kNot;
    return facts;
  }
};

inline Collective collectiveNamed(const std::string& name) {
  for (int c = 0; c < kCollectives; ++c) {
    if (name == collectiveName(static_cast<Collective>(c))) return static_cast<Collective>(c);
  }
  throw std::runtime_error("there is no collective " + name);
}

/// The words of a file's lines, up to six, without comments.
inline std::vector<std::array<std::string, 6>> measuredWords(const std::string& name) {
  const char* const root = std::getenv("TEST_SRCDIR");
  const std::string path =
      std::string(root == nullptr ? "." : root) + "/tests/measurements/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path << " cannot be read; TEST_SRCDIR names the source tree";
  std::vector<std::array<std::string, 6>> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream fields(line);
    for (std::string& each : out.emplace_back()) std::getline(fields, each, ',');
  }
  return out;
}

/// Sends, receives and what is made of them.
struct ExchangeMeasurement {
  std::string what;  ///< "gather", "scatter", "latency": a message of a ping-pong.
  int ranks;
  uint64_t bytes;
  double picoseconds;
};
inline std::vector<ExchangeMeasurement> exchangeMeasurements(const std::string& name) {
  std::vector<ExchangeMeasurement> out;
  for (const auto& word : measuredWords(name)) {
    out.push_back({word[0], std::stoi(word[1]), std::stoull(word[2]), std::stod(word[3]) * 1e6});
  }
  return out;
}

/// Files of kernels that came close.
inline bool isClose(const std::string& name) {
  return name == "h200_close.csv" || name == "h200_x4_check.csv";
}

inline std::vector<DeviceMeasurement> deviceMeasurements(const std::string& name) {
  std::vector<DeviceMeasurement> out;
  for (const auto& word : measuredWords(name)) {
    out.push_back({collectiveNamed(word[0]), std::stoi(word[1]), std::stoull(word[2]),
                   std::stod(word[3]) * 1e6, word[0] + ":device:0-:" + word[5], isClose(name)});
  }
  return out;
}

}  // namespace rondo::test
