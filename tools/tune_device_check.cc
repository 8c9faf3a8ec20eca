#include "tune_device_check.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "tune_device.h"
#include "tune_fit.h"

namespace rondo::tune {
namespace {

constexpr Collective kChecked[] = {
    Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::AllToAll,
    Collective::Reduce,    Collective::Broadcast,     Collective::Scan};
constexpr const char* kAlgorithms[] = {"oneshot", "twoshot", "direct", "ring", "chain"};
constexpr uint64_t kLeast = 8;
constexpr uint32_t kElement = 4;

/// The ways of one call.
class Call {
 public:
  Call(const DeviceRequest& request, const DeviceFacts& facts, std::vector<DeviceObservation>* out)
      : request_(request), facts_(facts), out_(out), first_(out->size()) {}

  void add() {
    const DeviceChoice chosen = chooseDevice(request_, facts_, {});
    if (chosen.algorithm == nullptr || chosen.byTransfers || chosen.straight != 0) return;
    const int lanes = chosen.geometry.lanes;
    take(chosen.algorithm, chosen.protocol, lanes);
    for (const char* const algorithm : kAlgorithms) {
      for (const Protocol p : {Protocol::kLL, Protocol::kLL128, Protocol::kSimple}) {
        take(algorithm, p, 0);
      }
    }
    take(chosen.algorithm, chosen.protocol, lanes / 2);
    take(chosen.algorithm, chosen.protocol, 2 * lanes);
  }

 private:
  /// With as many lanes as the planner wants if `lanes` is 0.
  void take(const char* algorithm, Protocol protocol, int lanes) {
    const auto way = trialBy(request_, facts_, algorithm, protocol, lanes);
    if (!way || isKnown(way->rules.front())) return;
    const uint64_t predicted = predictionOf(*way, facts_.costs);
    if (out_->size() == first_) {
      chosen_ = predicted;
    } else if (predicted > kWorthALook * chosen_) {
      return;
    }
    out_->push_back(*way);
  }

  bool isKnown(const TuneRule& rule) const {
    return std::any_of(out_->begin() + static_cast<std::ptrdiff_t>(first_), out_->end(),
                       [&](const DeviceObservation& other) {
                         const TuneRule& known = other.rules.front();
                         return known.algorithm == rule.algorithm &&
                                known.protocol == rule.protocol && known.lanes == rule.lanes;
                       });
  }

  const DeviceRequest request_;
  const DeviceFacts& facts_;
  std::vector<DeviceObservation>* out_;
  const size_t first_;
  uint64_t chosen_ = 0;
};

bool sameCall(const DeviceObservation& a, const DeviceObservation& b) {
  return a.request.collective == b.request.collective && a.request.count == b.request.count;
}

std::string nameOf(const DeviceObservation& way) {
  const TuneRule& rule = way.rules.front();
  return format("%s/%d/%s", rule.algorithm->name, rule.lanes, rule.protocol.c_str());
}

}  // namespace

std::vector<DeviceObservation> deviceCheckTrials(const DeviceFacts& facts, uint64_t most) {
  std::vector<DeviceObservation> out;
  for (const Collective collective : kChecked) {
    const Reduces what = isReduction(collective) ? Reduces::kHot : Reduces::kNothing;
    for (uint64_t bytes = kLeast; bytes <= most; bytes *= 2) {
      Call({collective, bytes / kElement, kElement, what}, facts, &out).add();
    }
  }
  return out;
}

std::vector<DeviceWays> waysOf(const std::vector<DeviceObservation>& trials) {
  std::vector<DeviceWays> out;
  const DeviceObservation* last = nullptr;
  for (const DeviceObservation& way : trials) {
    const bool fresh = last == nullptr || !sameCall(*last, way);
    last = &way;
    if (fresh) {
      out.push_back({&way, &way});
    } else if (way.picoseconds > 0 && way.picoseconds < out.back().best->picoseconds) {
      out.back().best = &way;
    }
  }
  std::erase_if(out, [](const DeviceWays& ways) { return ways.chosen->picoseconds <= 0; });
  return out;
}

void printDeviceCheck(const std::vector<DeviceObservation>& trials) {
  const std::vector<DeviceWays> calls = waysOf(trials);
  std::printf("%-14s %11s  %-18s %12s %13s %6s  %-18s %12s %6s\n", "call", "bytes", "chosen",
              "measured, us", "predicted, us", "error", "best", "measured, us", "ratio");
  std::vector<double> errors;
  for (const DeviceWays& ways : calls) {
    const DeviceObservation &chosen = *ways.chosen, &best = *ways.best;
    const auto predicted = static_cast<double>(predictionOf(chosen, chosen.facts.costs));
    errors.push_back(predicted / chosen.picoseconds - 1);
    std::printf("%-14s %11llu  %-18s %12.2f %13.2f %+5.0f%%  %-18s %12.2f %6.2f%s\n",
                collectiveName(chosen.request.collective),
                static_cast<unsigned long long>(chosen.request.count * kElement),
                nameOf(chosen).c_str(), chosen.picoseconds * 1e-6, predicted * 1e-6,
                100 * errors.back(), nameOf(best).c_str(), best.picoseconds * 1e-6, ways.ratio(),
                ways.ratio() > 1.05 ? " *" : "");
  }
  const Errors found = errorsOf(errors);
  std::printf("Errors without sign: median %.0f %%, worst %.0f %%.\n", 100 * found.median,
              100 * found.worst);
  std::vector<double> all;
  for (const Collective collective : kChecked) {
    std::vector<double> ratios;
    for (const DeviceWays& ways : calls) {
      if (ways.chosen->request.collective == collective) ratios.push_back(ways.ratio());
    }
    all.insert(all.end(), ratios.begin(), ratios.end());
    if (!ratios.empty()) {
      printChoices(format("of %s", collectiveName(collective)), regretOf(std::move(ratios)));
    }
  }
  printChoices("of all", regretOf(std::move(all)));
}

}  // namespace rondo::tune
