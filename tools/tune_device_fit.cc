#include "tune_device_fit.h"

#include "coll/device_predict.h"
#include "fit_logs.h"
#include "p2p/channel_view.h"

namespace rondo::tune {
namespace {

/// Launches cannot be told from flags: no call is without one, and of LL all come close. Nor can
/// what rings ask be told from what they send: whether they do is chosen by what it costs.
bool isKept(const DeviceCostField& field) {
  return field.at == &DeviceCosts::launch || field.at == &DeviceCosts::close ||
         field.at == &DeviceCosts::straightRing;
}

}  // namespace

uint64_t predictionOf(const DeviceObservation& observation, const DeviceCosts& costs) {
  DeviceFacts facts = observation.facts;
  facts.costs = costs;
  const DeviceRequest& request = observation.request;
  if (observation.message) {
    ExchangeWork work(facts.lanesOfPair(), facts.closeLanes());
    work.add(1, true, request.count * request.elementBytes);
    return work.time(costs, false);
  }
  if (observation.rules.empty()) return chooseExchange(request, facts).picoseconds;
  return chooseDevice(request, facts, observation.rules).picoseconds;
}

DeviceFit fitFields(const std::vector<double>& measured, const PredictByCosts& predictionsOf,
                    const DeviceCosts& prior) {
  const auto fields = deviceCostFields();
  // What no time depends on takes no part, else the fit's damping would move it.
  DeviceFit fit{prior, std::vector<bool>(fields.size(), false)};
  const std::vector<double> before = predictionsOf(prior);
  std::vector<size_t> free;
  std::vector<uint64_t> begin, most;
  for (size_t i = 0; i < fields.size(); ++i) {
    DeviceCosts more = prior;
    more.*fields[i].at += more.*fields[i].at / 8 + 1000;
    if (isKept(fields[i]) || predictionsOf(more) == before) continue;
    free.push_back(i);
    fit.measured[i] = true;
    begin.push_back(prior.*fields[i].at);
    most.push_back(fields[i].most());
  }
  const auto costsOf = [&](const std::vector<uint64_t>& values) {
    DeviceCosts costs = prior;
    for (size_t k = 0; k < free.size(); ++k) costs.*fields[free[k]].at = values[k];
    return costs;
  };
  const Predict predict = [&](const std::vector<uint64_t>& values) {
    return predictionsOf(costsOf(values));
  };
  fit.costs = costsOf(fitLogs(measured, predict, begin, most));
  return fit;
}

DeviceFit fitDeviceCosts(const std::vector<DeviceObservation>& observations,
                         const DeviceCosts& prior) {
  std::vector<const DeviceObservation*> used;
  std::vector<double> measured;
  for (const DeviceObservation& o : observations) {
    if (o.heldOut || o.picoseconds <= 0 || predictionOf(o, prior) == 0) continue;
    used.push_back(&o);
    measured.push_back(o.picoseconds);
  }
  const PredictByCosts predictionsOf = [&](const DeviceCosts& costs) {
    std::vector<double> out;
    for (const DeviceObservation* o : used) {
      out.push_back(static_cast<double>(predictionOf(*o, costs)));
    }
    return out;
  };
  return fitFields(measured, predictionsOf, prior);
}

}  // namespace rondo::tune
