#pragma once
// Whether a call on device memory of a communicator that spans hosts goes in levels: by kernels
// inside the hosts, and between them on every rail with its part of the data; or all of it by way
// of host memory. A pure function of agreed facts and arguments.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coll/device_planner.h"
#include "coll/device_runner.h"
#include "coll/facts.h"
#include "coll/levels_layout.h"

namespace rondo {

/// What kernels inside a host take, by the bytes of a slot.
struct NearTimes {
  static constexpr int kFirst = 6;             ///< The shortest slot has 1 << kFirst bytes...
  static constexpr int kSizes = 31;            ///< ... and each further one twice as many.
  using Times = std::array<uint64_t, kSizes>;  ///< Picoseconds.
  Times reduceScatter{}, allGather{};

  /// As the host's runner predicts them.
  static NearTimes of(const DeviceRunner& near);
  /// The slower of both, everywhere.
  void worst(const NearTimes& other);
  /// Between two sizes on a line, above the last in proportion.
  static uint64_t at(const Times& times, uint64_t bytes);
};

/// Agreed by all ranks.
struct LevelsFacts {
  int hosts, places;
  LevelsOrder order;
  int lanes;      ///< Chunks that move at once.
  CommFacts all;  ///< Of the host communicators of all ranks.
  DeviceCosts costs;
  NearTimes near;
  std::vector<TuneRule> tune;
  bool exchanges = true;  ///< The ranks of a host can send to each other.
};

/// What a call is predicted to take either way, picoseconds.
struct LevelsForecast {
  uint64_t host = 0;
  uint64_t levels = 0;
  const char* why = nullptr;   ///< Why it cannot go in levels; nullptr: it can.
  const char* rule = nullptr;  ///< The algorithm that a rule asks for.
  bool byLevels = false;
};

class LevelsChoice {
 public:
  explicit LevelsChoice(LevelsFacts facts);

  /// Of `count` elements a slot. A rule for device memory that names a hierarchy asks for levels,
  /// one that names another algorithm for host memory. Remembers what it has worked out.
  LevelsForecast forecast(Collective collective, uint64_t count, uint32_t elementBytes);
  /// What it forecasts by.
  const LevelsFacts& facts() const { return facts_; }
  /// The same if the far costs were these.
  void setCosts(const DeviceCosts& costs) { facts_.costs = costs; }
  /// Lines for RONDO_EXPLAIN.
  std::string explain(Collective collective, uint64_t bytes, const LevelsForecast& forecast) const;

 private:
  const char* impossible(Collective collective, uint64_t count) const;
  /// What goes by host memory: the whole call among all ranks, or a rail's part of it.
  struct Part {
    Collective collective;
    uint32_t elementBytes;
    bool onRail;
  };
  uint64_t farTime(const Part& part, uint64_t count);
  uint64_t chunkTime(const Part& part, uint64_t count, int together);
  uint64_t levelsTime(Collective collective, uint64_t count, uint32_t elementBytes);

  LevelsFacts facts_;
  const CommFacts rail_;
  // by collective, count, bytes, rail, and how many at once
  std::map<std::array<uint64_t, 5>, uint64_t> chunks_;
};

}  // namespace rondo
