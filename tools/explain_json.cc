#include "explain_json.h"

#include <nlohmann/json.hpp>

#include "coll/step_text.h"
#include "coll/verifier.h"

namespace rondo {
namespace {

using Json = nlohmann::ordered_json;

Json stepRow(int rank, size_t number, const Step& step) {
  const bool sends =
      step.kind == StepKind::Put || step.kind == StepKind::Signal || (step.bits & algo::kSend) != 0;
  Json row{{"rank", rank}, {"step", number}, {"verb", verbName(step)}};
  if (step.from >= 0) row["from"] = step.from;
  if (sends && step.to < 0) row["to"] = "everyone";
  if (step.to >= 0) row["to"] = step.to;
  if (step.kind != StepKind::Move) row["room"] = step.room == Room::All ? "all" : "pair";
  if (step.count > 0) {
    row["offset"] = step.offset;
    row["count"] = step.count;
    if (step.slots > 1) {
      row["slot"] = step.slot;
      row["slots"] = step.slots;
      row["stride"] = step.stride;
    }
  }
  return row;
}

}  // namespace

std::string explainJson(const std::vector<Plan>& plans, const ExplainOptions& options) {
  const std::vector<int> ranks = shownRanks(plans, options);
  const Plan& plan = plans[0];
  const algo::Geometry& g = plan.geometry;
  Json out{{"collective", collectiveName(plan.algorithm->collective)},
           {"algorithm", plan.algorithm->name},
           {"header", plan.algorithm->header},
           {"ranks", plan.group.size},
           {"root", plan.group.root},
           {"geometry",
            {{"count", g.count},
             {"lanes", g.lanes},
             {"blocks", g.blocks},
             {"chunk", g.chunk},
             {"align", g.align},
             {"full_periods", g.fullPeriods()}}},
           {"hops", countHops(plans)},
           {"period", options.last ? "last" : "full"},
           {"lane", options.lane},
           {"steps", Json::array()},
           {"totals", Json::array()}};
  if (!options.groups.empty()) out["groups"] = options.groups;
  for (const int rank : ranks) {
    const Plan& mine = plans[static_cast<size_t>(rank)];
    const auto& steps = shownSteps(mine, options);
    for (size_t i = 0; i < steps.size(); ++i)
      out["steps"].push_back(stepRow(rank, i + 1, steps[i]));
    const RankTotals t = totalsOf(mine);
    out["totals"].push_back({{"rank", rank},
                             {"steps", t.steps},
                             {"messages", t.messages},
                             {"elements_sent", t.sent},
                             {"elements_received", t.received},
                             {"elements_reduced", t.reduced},
                             {"bytes_sent", t.sent * options.elementBytes},
                             {"bytes_received", t.received * options.elementBytes}});
  }
  return out.dump(2) + "\n";
}

}  // namespace rondo
