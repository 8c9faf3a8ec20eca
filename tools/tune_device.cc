#include "tune_device.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "tune_fit.h"

namespace rondo::tune {
namespace {

struct Form {
  Collective collective;
  const char* algorithm;
  Protocol protocol;
  uint64_t least, most;  ///< Bytes at which it may be the best.
};
constexpr uint64_t kKi = 1024, kMi = 1024 * kKi;
constexpr Form kForms[] = {
    {Collective::AllReduce, "oneshot", Protocol::kLL, 8, 256 * kKi},
    {Collective::AllReduce, "oneshot", Protocol::kLL128, kKi, 16 * kMi},
    {Collective::AllReduce, "twoshot", Protocol::kLL128, 64 * kKi, 64 * kMi},
    {Collective::AllReduce, "ring", Protocol::kSimple, kMi, 1024 * kMi},
    {Collective::ReduceScatter, "direct", Protocol::kLL128, kKi, 64 * kMi},
    {Collective::ReduceScatter, "ring", Protocol::kSimple, kMi, 1024 * kMi},
    {Collective::AllGather, "direct", Protocol::kLL128, kKi, 64 * kMi},
    {Collective::AllGather, "ring", Protocol::kSimple, kMi, 1024 * kMi},
    {Collective::AllToAll, "direct", Protocol::kLL128, kKi, 64 * kMi},
    {Collective::Reduce, "oneshot", Protocol::kLL128, kKi, 4 * kMi},
    {Collective::Reduce, "ring", Protocol::kSimple, kMi, 1024 * kMi},
    {Collective::Broadcast, "oneshot", Protocol::kLL128, kKi, 4 * kMi},
    {Collective::Broadcast, "ring", Protocol::kSimple, kMi, 1024 * kMi},
};
constexpr uint64_t kSizes[] = {8,   kKi,     16 * kKi, 64 * kKi, 256 * kKi,
                               kMi, 4 * kMi, 16 * kMi, 64 * kMi, 256 * kMi};
constexpr uint64_t kMostExchanged = 64 * kMi;
constexpr size_t kHeldOutEach = 4;
constexpr uint32_t kElement = 4;

bool nextIsHeldOut(const std::vector<DeviceObservation>& trials) {
  return trials.size() % kHeldOutEach == kHeldOutEach - 1;
}

/// Sends and receives: a root's with all others, and a pair's.
void addExchanges(const DeviceFacts& facts, uint64_t most, std::vector<DeviceObservation>* out) {
  const auto add = [&](const DeviceRequest& request, bool message) {
    out->push_back({request, facts, {}, 0, nextIsHeldOut(*out), message});
  };
  for (const uint64_t bytes : kSizes) {
    if (bytes < kKi || bytes > std::min(most, kMostExchanged)) continue;
    for (const Collective collective : {Collective::Gather, Collective::Scatter}) {
      const DeviceRequest request{collective, bytes / kElement, kElement, Reduces::kNothing};
      if (chooseExchange(request, facts).algorithm == nullptr) return;  // more ranks than send
      add(request, false);
      if (collective == Collective::Scatter) add(request, true);
    }
  }
}

std::string nameOf(const DeviceObservation& o) {
  if (o.message) return "message";
  if (o.rules.empty()) return std::string(collectiveName(o.request.collective)) + " direct";
  const TuneRule& rule = o.rules.front();
  return format("%s %s/%d/%s", collectiveName(rule.collective), rule.algorithm->name, rule.lanes,
                rule.protocol.c_str());
}

}  // namespace

std::optional<DeviceObservation> trialBy(const DeviceRequest& request, const DeviceFacts& facts,
                                         const char* algorithm, Protocol protocol, int lanes) {
  TuneRule rule{};
  rule.collective = request.collective;
  rule.from = request.count * request.elementBytes;
  rule.to = rule.from + 1;
  rule.algorithm = findAlgorithm(request.collective, algorithm);
  rule.device = true;
  rule.protocol = protocolName(protocol);
  rule.lanes = lanes;
  if (rule.algorithm == nullptr) return {};
  const DeviceChoice way = chooseDevice(request, facts, {rule});
  if (way.algorithm == nullptr || std::string_view(way.algorithm) != algorithm ||
      way.protocol != protocol) {
    return {};
  }
  rule.lanes = way.geometry.lanes;
  return DeviceObservation{request, facts, {rule}, 0};
}

std::vector<DeviceObservation> deviceTrials(const DeviceFacts& facts, uint64_t most) {
  std::vector<DeviceObservation> out;
  for (const Form& form : kForms) {
    for (const uint64_t bytes : kSizes) {
      if (bytes < form.least || bytes > std::min(most, form.most)) continue;
      const Reduces what = isReduction(form.collective) ? Reduces::kHot : Reduces::kNothing;
      const DeviceRequest request{form.collective, bytes / kElement, kElement, what};
      const auto whole = trialBy(request, facts, form.algorithm, form.protocol, 0);
      if (!whole) continue;
      for (const int part : {1, 2}) {
        DeviceObservation trial = *whole;
        trial.rules.front().lanes /= part;
        if (trial.rules.front().lanes < part) break;
        trial.heldOut = nextIsHeldOut(out);
        out.push_back(std::move(trial));
      }
    }
  }
  addExchanges(facts, most, &out);
  return out;
}

std::string ruleOf(const DeviceObservation& trial) {
  if (trial.rules.empty()) return "";
  const TuneRule& rule = trial.rules.front();
  return format("%s:device:%llu-%llu:%s/%d/%s", collectiveName(rule.collective),
                static_cast<unsigned long long>(rule.from),
                static_cast<unsigned long long>(rule.to), rule.algorithm->name, rule.lanes,
                rule.protocol.c_str());
}

void printDeviceFit(const std::vector<DeviceObservation>& trials, const DeviceCosts& before,
                    const DeviceFit& after) {
  std::printf("\n%-34s %11s %13s %13s %7s %9s\n", "call (* not in the fit)", "bytes",
              "measured, us", "predicted, us", "error", "before");
  std::vector<double> fitted, heldOut;
  for (const DeviceObservation& o : trials) {
    if (o.picoseconds <= 0) continue;
    const auto predicted = static_cast<double>(predictionOf(o, after.costs));
    const double error = predicted / o.picoseconds - 1;
    const double was = static_cast<double>(predictionOf(o, before)) / o.picoseconds - 1;
    (o.heldOut ? heldOut : fitted).push_back(error);
    const std::string what = nameOf(o) + (o.heldOut ? " *" : "");
    std::printf("%-34s %11llu %13.2f %13.2f %+6.0f%% %+8.0f%%\n", what.c_str(),
                static_cast<unsigned long long>(o.request.count * o.request.elementBytes),
                o.picoseconds * 1e-6, predicted * 1e-6, 100 * error, 100 * was);
  }
  const Errors in = errorsOf(fitted), out = errorsOf(heldOut);
  std::printf(
      "\nOf those that were fitted: median %.0f%%, worst %.0f%%; held out: median %.0f%%, "
      "worst %.0f%%\n\n%-28s %12s %12s  %-10s %s\n",
      100 * in.median, 100 * in.worst, 100 * out.median, 100 * out.worst, "cost", "ns", "before",
      "from", "of");
  const auto fields = deviceCostFields();
  for (size_t i = 0; i < fields.size(); ++i) {
    std::printf("device_%-21s %12.3f %12.3f  %-10s %s\n", fields[i].name,
                static_cast<double>(after.costs.*fields[i].at) * 1e-3,
                static_cast<double>(before.*fields[i].at) * 1e-3,
                after.measured[i] ? "this run" : "before", fields[i].meaning);
  }
}

}  // namespace rondo::tune
