#pragma once
// Times stream-ordered calls between two events, launched one by one or replayed from a graph; or
// by the host's clock calls that are waited for one by one.

#include "device.h"
#include "timing.h"

namespace rondo::bench {

enum class Launch { kEager, kGraph, kAwaited };

class DeviceTimer : public Timer {
 public:
  /// A sample is `calls` calls in a row, divided by `calls`. kGraph: they are captured first.
  DeviceTimer(const Device& device, int calls, Launch how);
  ~DeviceTimer() override;

  void check(const Trial& trial, std::vector<Samples>& samples) override;
  double rounds(const Trial& trial, int iterations, bool keep, const OnProgress& progress,
                std::vector<Samples>& samples) override;
  AcrossRanks across() const override { return AcrossRanks::kMax; }

 private:
  class Graphs;

  void launch(const Trial& trial, size_t contender, size_t sample, const Graphs* graphs);
  double timeOne(const Trial& trial, size_t contender, size_t sample, const Graphs* graphs);
  double timeAwaited(const Trial& trial, size_t contender, size_t sample) const;
  void callAwaited(const Trial& trial, size_t contender, bool ours, size_t first,
                   size_t calls) const;
  uint64_t checkLast(const Trial& trial, size_t contender, size_t sample, const Graphs* graphs);
  uint64_t checkAwaited(const Trial& trial, size_t contender, size_t first) const;

  const Device& device_;
  size_t calls_;
  Launch how_;
  CuEvent start_ = nullptr;
  CuEvent end_ = nullptr;
};

}  // namespace rondo::bench
