#include "coll/explain.h"

#include <algorithm>

#include "base/error.h"
#include "coll/step_text.h"
#include "coll/verifier.h"

namespace rondo {
namespace {

void addSteps(const std::vector<Step>& steps, Count times, int ranks, RankTotals& totals) {
  const Count others = static_cast<Count>(ranks) - 1;
  for (const Step& step : steps) {
    totals.steps += times;
    const bool everyone = step.kind != StepKind::Move && step.to < 0;
    if ((step.bits & algo::kSend) != 0) {
      totals.messages += times * (everyone ? others : 1);
      totals.sent += times * elementsOf(step) * (everyone ? others : 1);
    }
    if (step.kind == StepKind::Barrier) totals.messages += times * others;
    const bool reduces =
        (step.bits & algo::kRecv) != 0 && (step.bits & (algo::kSrc | algo::kOwn)) != 0;
    if (step.kind == StepKind::Reduce) {
      const auto taken = static_cast<Count>(step.from2 - step.from);
      totals.received += times * elementsOf(step) * others;
      totals.reduced += times * elementsOf(step) * (taken > 0 ? taken - 1 : 0);
    } else if (step.kind == StepKind::Fetch || (step.bits & algo::kRecv) != 0) {
      const Count messages = step.kind == StepKind::Move && step.from2 >= 0 ? 2 : 1;
      totals.received += times * elementsOf(step) * messages;
      totals.reduced += reduces ? times * elementsOf(step) * messages : 0;
    }
  }
}

/// "b3", "b0-4" for several blocks, or the elements where the step does not follow the blocks.
std::string blockText(const Step& step, const Plan& plan, const ExplainOptions& options) {
  if (step.count == 0) return "";
  if (hasSlots(plan.algorithm->collective)) return "s" + slotsText(step);
  const algo::Part part = options.last ? algo::lastPart(plan.geometry, options.lane)
                                       : algo::fullPart(plan.geometry, options.lane);
  const Count begin = step.offset - part.offset, end = begin + step.count;
  const bool wholeBlocks = step.offset >= part.offset && begin % part.block == 0 &&
                           (end % part.block == 0 || end == part.count);
  if (!wholeBlocks) return rangeText(step.offset, step.count);
  const Count first = begin / part.block, last = (end - 1) / part.block;
  std::string out = "b" + std::to_string(first);
  if (last > first) out += "-" + std::to_string(last);
  return out;
}

/// Pads every column to its widest cell.
std::string layOut(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string stepRows(const std::vector<Plan>& plans, const std::vector<int>& ranks,
                     const ExplainOptions& options) {
  std::vector<std::vector<std::string>> rows{{"step", "verb"}};
  size_t steps = 0;
  for (const int rank : ranks) {
    rows[0].push_back("rank " + std::to_string(rank));
    steps = std::max(steps, shownSteps(plans[static_cast<size_t>(rank)], options).size());
  }
  for (size_t i = 0; i < steps; ++i) {
    std::string verb;
    bool same = true;
    for (const int rank : ranks) {
      const auto& mine = shownSteps(plans[static_cast<size_t>(rank)], options);
      const std::string name = i < mine.size() ? verbName(mine[i]) : "";
      same &= verb.empty() || name == verb;
      if (verb.empty()) verb = name;
      if (name.empty()) same = false;
    }
    std::vector<std::string> row{format("%4zu", i + 1), same ? verb : "(each)"};
    for (const int rank : ranks) {
      const Plan& plan = plans[static_cast<size_t>(rank)];
      const auto& mine = shownSteps(plan, options);
      if (i >= mine.size()) {
        row.push_back("-");
        continue;
      }
      const std::string peers = peersText(mine[i], blockText(mine[i], plan, options));
      row.push_back(same ? peers : verbName(mine[i]) + (peers.empty() ? "" : " " + peers));
    }
    rows.push_back(row);
  }
  return layOut(rows);
}

std::string totalRows(const std::vector<Plan>& plans, const std::vector<int>& ranks,
                      const ExplainOptions& options) {
  std::vector<std::vector<std::string>> rows{
      {"rank", "steps", "messages", "sent", "received", "reduced", "bytes sent", "bytes received"}};
  for (const int rank : ranks) {
    const RankTotals t = totalsOf(plans[static_cast<size_t>(rank)]);
    std::vector<std::string> row{format("%4d", rank)};
    for (const Count value : {t.steps, t.messages, t.sent, t.received, t.reduced,
                              t.sent * options.elementBytes, t.received * options.elementBytes}) {
      row.push_back(std::to_string(value));
    }
    rows.push_back(row);
  }
  return layOut(rows);
}

std::string plural(Count count, const char* noun) {
  return format("%llu %s%s", count, noun, count == 1 ? "" : "s");
}

}  // namespace

RankTotals totalsOf(const Plan& plan) {
  RankTotals totals;
  for (const LaneProgram& lane : plan.lanes) {
    addSteps(lane.full, plan.geometry.fullPeriods(), plan.group.size, totals);
    addSteps(lane.last, 1, plan.group.size, totals);
  }
  return totals;
}

const std::vector<Step>& shownSteps(const Plan& plan, const ExplainOptions& options) {
  const LaneProgram& lane = plan.lanes[static_cast<size_t>(options.lane)];
  return options.last ? lane.last : lane.full;
}

std::vector<int> shownRanks(const std::vector<Plan>& plans, const ExplainOptions& options) {
  const int n = static_cast<int>(plans.size());
  const algo::Geometry& g = plans.at(0).geometry;
  if (options.lane < 0 || options.lane >= g.lanes) {
    throw Error(rondoInvalidArgument,
                format("lane %d does not exist; allowed: 0 to %d", options.lane, g.lanes - 1));
  }
  if (!options.last && g.fullPeriods() == 0) {
    throw Error(
        rondoInvalidArgument,
        format("a call of %llu elements has no full period (%llu elements), only a last one",
               g.count, g.period()));
  }
  if (options.last && g.fullPeriods() > 0 && g.count % g.period() == 0) {
    throw Error(rondoInvalidArgument,
                format("a call of %llu elements has no shorter last period", g.count));
  }
  std::vector<int> out = options.ranks;
  for (const int rank : out) {
    if (rank < 0 || rank >= n) {
      throw Error(rondoInvalidArgument,
                  format("rank %d does not exist; allowed: 0 to %d", rank, n - 1));
    }
  }
  if (out.empty()) {
    for (int rank = 0; rank < n; ++rank) out.push_back(rank);
  }
  return out;
}

std::string explainTable(const std::vector<Plan>& plans, const ExplainOptions& options) {
  const std::vector<int> ranks = shownRanks(plans, options);
  const Plan& plan = plans[0];
  const algo::Geometry& g = plan.geometry;
  const int n = plan.group.size;
  std::string out = format("%s %s, %s", collectiveName(plan.algorithm->collective),
                           plan.algorithm->name, plural(static_cast<Count>(n), "rank").c_str());
  if (isRooted(plan.algorithm->collective)) out += format(", root %d", plan.group.root);
  if (!options.groups.empty()) out += ", groups " + options.groups;
  const algo::Part part =
      options.last ? algo::lastPart(g, options.lane) : algo::fullPart(g, options.lane);
  out += format(": %s period, lane %d of %d, %s of %llu, %s\n", options.last ? "last" : "full",
                options.lane, g.lanes, plural(static_cast<Count>(g.blocks), "block").c_str(),
                part.block, plural(static_cast<Count>(countHops(plans)), "hop").c_str());
  out += "\n" + stepRows(plans, ranks, options);
  out += format("\nThe call: %s, %s", plural(g.count, "element").c_str(),
                plural(g.fullPeriods(), "full period").c_str());
  if (const Count left = g.count % g.period(); left > 0) {
    out += format(" and a last one of %llu", left);
  }
  out += format(", %s.\n\n", plural(static_cast<Count>(g.lanes), "lane").c_str());
  return out + totalRows(plans, ranks, options);
}

}  // namespace rondo
