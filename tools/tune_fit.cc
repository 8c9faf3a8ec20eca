#include "tune_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "fit_logs.h"

namespace rondo::tune {

uint64_t predictionOf(const Observation& observation, const Measured& by, const HostCosts& costs) {
  CommFacts facts = by.facts;
  facts.links.acrossHosts = by.acrossHosts;
  setCosts(costs, kAllMeasured, &facts);
  const auto ranking = rankCandidates(observation.request, facts, observation.rules);
  return ranking.empty() ? 0 : ranking.front().picoseconds;
}

std::vector<bool> measurable(const Measured& by) {
  const CommFacts& facts = by.facts;
  const auto crowd = static_cast<uint32_t>(facts.localRanks > 0 ? facts.localRanks : facts.ranks);
  const bool several = facts.groups.count() > 1;
  std::vector<bool> out;
  for (const CostField& field : costFields()) {
    const std::string name = field.name;
    if (name.starts_with("hosts_")) {
      out.push_back(several && by.acrossHosts);
    } else if (by.acrossHosts) {
      out.push_back(false);  // hidden behind the network's
    } else if (name == "far_message" || name == "far_per_kib") {
      out.push_back(several);
    } else if (name.starts_with("far_")) {
      out.push_back(false);
    } else if (name == "yield") {
      out.push_back(crowd > facts.cpus);
    } else {
      out.push_back(facts.ranks > 1);
    }
  }
  return out;
}

HostCosts fitCosts(const std::vector<Observation>& observations, const Measured& by,
                   const HostCosts& prior, const std::vector<bool>& free) {
  const auto fields = costFields();
  std::vector<const CostField*> fitted;
  std::vector<uint64_t> begin, most;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!free[i]) continue;
    fitted.push_back(&fields[i]);
    begin.push_back(prior.*fields[i].at);
    most.push_back(fields[i].most());
  }
  std::vector<const Observation*> used;
  std::vector<double> measured;
  for (const Observation& o : observations) {
    if (o.heldOut || o.picoseconds <= 0) continue;
    used.push_back(&o);
    measured.push_back(o.picoseconds);
  }
  const auto costsOf = [&](const std::vector<uint64_t>& values) {
    HostCosts costs = prior;
    for (size_t k = 0; k < fitted.size(); ++k) costs.*fitted[k]->at = values[k];
    return costs;
  };
  const Predict predict = [&](const std::vector<uint64_t>& values) {
    const HostCosts costs = costsOf(values);
    std::vector<double> out;
    for (const Observation* o : used) {
      out.push_back(static_cast<double>(predictionOf(*o, by, costs)));
    }
    return out;
  };
  return costsOf(fitLogs(measured, predict, begin, most));
}

std::vector<std::vector<uint64_t>> splitStates(std::vector<uint64_t> flags) {
  std::sort(flags.begin(), flags.end());
  std::vector<std::vector<uint64_t>> out;
  for (const uint64_t flag : flags) {
    if (out.empty() || !sameState(out.back().back(), flag)) out.emplace_back();
    out.back().push_back(flag);
  }
  return out;
}

std::vector<CostsState> mergedStates(std::vector<CostsState> run, const CostsFile& before,
                                     const std::vector<bool>& free) {
  std::vector<CostsState> known{before};
  known.insert(known.end(), before.others.begin(), before.others.end());
  const size_t measured = run.size();
  for (CostsState& state : known) {
    const bool again =
        std::any_of(run.begin(), run.begin() + static_cast<ptrdiff_t>(measured),
                    [&](const CostsState& s) { return sameState(s.flag, state.flag); });
    // One without a flag's way was measured when nobody looked at it.
    if (again || state.flag == 0 || run.size() == kMostStates) continue;
    for (size_t i = 0; i < free.size(); ++i) {
      if (!free[i] || state.measured[i]) continue;
      const auto at = costFields()[i].at;
      state.costs.*at = run.front().costs.*at;
      state.measured[i] = true;
    }
    run.push_back(std::move(state));
  }
  return run;
}

void giveToAll(const std::vector<bool>& free, std::vector<CostsState>* states) {
  for (CostsState& state : *states) {
    for (size_t i = 0; i < free.size(); ++i) {
      if (!free[i]) continue;
      state.costs.*costFields()[i].at = states->front().costs.*costFields()[i].at;
      state.measured[i] = true;
    }
  }
}

Errors errorsOf(const std::vector<double>& relative) {
  std::vector<double> sizes;
  for (const double error : relative) sizes.push_back(std::fabs(error));
  if (sizes.empty()) return {};
  std::sort(sizes.begin(), sizes.end());
  return {sizes[sizes.size() / 2], sizes.back()};
}

Regret regretOf(std::vector<double> ratios) {
  constexpr double kGood = 1.05;
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto good = std::upper_bound(ratios.begin(), ratios.end(), kGood) - ratios.begin();
  return {ratios.size(), static_cast<size_t>(good), ratios[ratios.size() / 2], ratios.back()};
}

void printChoices(const std::string& when, const Regret& regret) {
  std::printf("Choices %s: within 5 %% of the best way at %zu of %zu; median %.2f, worst %.2f\n",
              when.c_str(), regret.good, regret.calls, regret.median, regret.worst);
}

void printErrors(const std::vector<double>& before, const std::vector<double>& fitted,
                 const std::vector<double>& heldOut) {
  const auto line = [](const char* what, const std::vector<double>& relative) {
    const Errors errors = errorsOf(relative);
    std::printf("%-44s median %4.0f%%, worst %4.0f%%\n", what, 100 * errors.median,
                100 * errors.worst);
  };
  std::printf("\n");
  line("Predictions of the calls above, before:", before);
  line("of those that were fitted, after:", fitted);
  line("of those that were held out, after:", heldOut);
}

}  // namespace rondo::tune
