#pragma once
// Random programs for ranks that share a GPU: what all ranks draw alike.

#include <string>
#include <vector>

#include "support/storm_calls.h"

namespace rondo::testing {

constexpr int kStormStreams = 4;  ///< Of each rank.
constexpr int kStormComms = 3;    ///< All ranks, all ranks again, and parts of them.
constexpr size_t kStormGraphs = 5;
constexpr int kMostStormRanks = 4;

struct GpuStormStep {
  enum How { kAlone, kGroup, kCapture, kGroupCaptured, kLaunch };
  How how = kAlone;
  size_t graph = 0;     ///< The one that is captured, and launched; or launched again.
  int stream = 0;       ///< Of the launch.
  bool spread = false;  ///< A captured step's calls are on several streams.
  bool finish = false;  ///< Results are looked at, before the next.
  std::vector<StormCall> calls;

  bool launchesGraph() const { return how >= kCapture; }
  bool captures() const { return how == kCapture || how == kGroupCaptured; }
};

struct GpuStorm {
  uint32_t seed = 0;
  std::vector<std::string> hosts;  ///< By rank.
  std::string tune;
  std::vector<int> colors;  ///< Of the third communicator.
  std::vector<GpuStormStep> steps;

  int ranks() const { return static_cast<int>(hosts.size()); }
  std::string text() const {
    std::string all = "seed " + std::to_string(seed) + ", hosts";
    for (const std::string& host : hosts) all += " " + host;
    all += ", colors";
    for (const int color : colors) all += " " + std::to_string(color);
    return all + ", tune \"" + tune + "\"";
  }
  std::string program() const {
    constexpr const char* kHows[] = {"alone", "group", "captured", "group captured", "launched"};
    std::string all = text() + "\n";
    for (size_t k = 0; k < steps.size(); ++k) {
      const GpuStormStep& step = steps[k];
      all += "step " + std::to_string(k) + ": " + kHows[step.how];
      if (step.how >= GpuStormStep::kCapture) {
        all += " as graph " + std::to_string(step.graph) + " on stream " +
               std::to_string(step.stream) + (step.spread ? ", spread" : "");
      }
      all += step.finish ? ", finished\n" : "\n";
      for (const StormCall& call : step.calls) {
        all += "  " + call.text(ranks()) + ", " + std::to_string(call.bytes) + " bytes\n";
      }
    }
    return all;
  }
};

/// Draws programs, a step after the other.
class GpuStormDraw {
 public:
  explicit GpuStormDraw(uint32_t seed) : draw_(seed * 2654435761u + 777u) { storm_.seed = seed; }

  GpuStorm storm(size_t steps, bool hosts) {
    places(hosts);
    size_t graphs = 0;
    for (size_t k = 0; k < steps; ++k) storm_.steps.push_back(step(&graphs));
    return storm_;
  }

 private:
  void places(bool hosts) {
    static const char* const kTunes[] = {
        "", "",
        "allreduce:device:0-:ring,reduce:device:0-:ring,reducescatter:device:0-:ring,"
        "allgather:device:0-:ring,broadcast:device:0-:ring,scan:device:0-:chain,"
        "exscan:device:0-:chain",
        "allreduce:device:0-8K:oneshot/2/LL128,allreduce:device:8K-:twoshot/3,"
        "reduce:device:0-:oneshot/2,reducescatter:device:0-:direct/3,"
        "allgather:device:0-:direct/3,broadcast:device:0-:oneshot/2,"
        "alltoall:device:0-:direct/3,scan:device:0-:oneshot/2,exscan:device:0-:oneshot/2",
        "allreduce:device:0-:oneshot/3/LL,broadcast:device:0-:oneshot/2/LL,"
        "reduce:device:0-:oneshot/2/LL128,allgather:device:0-:direct/3/LL,"
        "alltoall:device:0-:direct/3/LL128"};
    static const char* const kLevels[] = {
        "",
        "allreduce:device:0-:stripes,reducescatter:device:0-:hier,allgather:device:0-:hier,"
        "broadcast:device:0-:hier,reduce:device:0-:hier"};
    const int n = draw_.from(2, kMostStormRanks);
    for (int r = 0; r < n; ++r) {
      storm_.hosts.emplace_back(hosts ? (r < n / 2 ? "a" : "b") : "a");
      storm_.colors.push_back(draw_.oneIn(5) ? RONDO_SPLIT_NOCOLOR : draw_.from(0, 1));
    }
    for (int r = n; hosts && r-- > 1 && draw_.oneIn(2);) {
      std::swap(storm_.hosts[static_cast<size_t>(r)],
                storm_.hosts[draw_.below(static_cast<uint32_t>(r))]);
    }
    storm_.tune = hosts ? draw_.of(kLevels) : draw_.of(kTunes);
  }
  StormCall call(bool captured) {
    StormCall call;
    call.serial = serial_++;
    call.comm = draw_.from(0, kStormComms - 1);
    call.stream = draw_.from(0, kStormStreams - 1);
    call.onHost = !captured && draw_.oneIn(10);
    call.barrier = call.onHost && draw_.oneIn(4);
    call.transfers = draw_.oneIn(4);
    call.draw = draw_.raw();
    call.bytes = stormBytes(draw_, captured ? 200u << 10 : draw_.oneIn(12) ? 3u << 20 : 400u << 10);
    call.call = static_cast<Call>(draw_.below(kCalls));
    call.inPlace = draw_.oneIn(3);
    drawTypeOf(draw_, &call);
    return call;
  }
  GpuStormStep step(size_t* graphs) {
    GpuStormStep step;
    const uint32_t how = draw_.below(12);
    if (how < 4) {
      step.how = GpuStormStep::kAlone;
    } else if (how < 7) {
      step.how = GpuStormStep::kGroup;
    } else if (how < 9 && *graphs < kStormGraphs) {
      step.how = how == 7 ? GpuStormStep::kCapture : GpuStormStep::kGroupCaptured;
      step.graph = (*graphs)++;
      step.spread = draw_.oneIn(2);
    } else if (*graphs > 0) {
      step.how = GpuStormStep::kLaunch;
      step.graph = draw_.below(static_cast<uint32_t>(*graphs));
    }
    step.stream = draw_.from(0, kStormStreams - 1);
    step.finish = draw_.oneIn(4);
    if (step.how == GpuStormStep::kLaunch) return step;
    for (int i = draw_.from(1, 6); i > 0; --i) {
      step.calls.push_back(call(step.captures()));
      if (step.captures() && !step.spread) step.calls.back().stream = step.stream;
    }
    return step;
  }

  StormDraw draw_;
  GpuStorm storm_;
  int serial_ = 0;
};

}  // namespace rondo::testing
