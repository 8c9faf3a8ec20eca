// The generated part of docs/algorithms.md.

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "coll/explain.h"
#include "coll/verifier.h"

namespace rondo {
namespace {

/// Groups of the same number of consecutive ranks; `groups` = 1: nothing is known.
struct Shape {
  int ranks;
  int groups;
  RankGroups near() const {
    std::vector<int> of;
    for (int r = 0; r < ranks && groups > 1; ++r) of.push_back(r * groups / ranks);
    return of.empty() ? RankGroups() : RankGroups(of);
  }
  std::string text() const {
    return groups == 1 ? std::to_string(ranks) : format("%d in %d groups", ranks, groups);
  }
};

std::vector<Shape> shapesOf(const Algorithm& algorithm) {
  if (algorithm.hierarchy != nullptr) return {{4, 2}, {8, 2}, {16, 4}};
  return {{2, 1}, {4, 1}, {8, 1}};
}

/// One full period in which every block has the same number of elements, whatever the shape.
std::vector<Plan> example(const Algorithm& algorithm, const Shape& shape) {
  const bool barrier = algorithm.collective == Collective::Barrier;
  const RankGroups near = shape.near();
  const Count blocks = static_cast<Count>(blocksOf(algorithm, shape.ranks, near));
  // A stripe is cut once more, in pieces of 16 elements.
  const Count unit = algorithm.hierarchy != nullptr ? 16 * static_cast<Count>(shape.groups) : 1;
  const Count chunk = unit * 8 / (blocks > 1 && unit == 1 ? static_cast<Count>(shape.ranks) : 1);
  const Count count = chunk * blocks;
  return recordAllRanks(algorithm, shape.ranks, 0, {barrier ? 0 : count, 1, 0, chunk, 1}, near);
}

/// Least and most over the ranks, as multiples of the call's elements.
std::string range(const std::vector<Plan>& plans, const std::function<double(const Plan&)>& value) {
  double least = value(plans[0]), most = least;
  for (const Plan& plan : plans) {
    least = std::min(least, value(plan));
    most = std::max(most, value(plan));
  }
  return least == most ? format("%.4g", most) : format("%.4g-%.4g", least, most);
}

struct Column {
  const char* name;
  std::function<std::string(const std::vector<Plan>&)> text;
};

std::vector<Column> columns() {
  const auto share = [](Count RankTotals::*field) {
    return [field](const std::vector<Plan>& plans) {
      if (plans[0].geometry.count == 0) return std::string("0");
      return range(plans, [field](const Plan& plan) {
        return static_cast<double>(totalsOf(plan).*field) /
               static_cast<double>(plan.geometry.count);
      });
    };
  };
  return {{"steps",
           [](const std::vector<Plan>& plans) {
             return range(plans,
                          [](const Plan& p) { return static_cast<double>(totalsOf(p).steps); });
           }},
          {"hops", [](const std::vector<Plan>& plans) { return std::to_string(countHops(plans)); }},
          {"roundings",
           [](const std::vector<Plan>& plans) {
             if (!isReduction(plans[0].algorithm->collective)) return std::string("0");
             const Roundings most = countRoundings(plans);
             return format("%d / %d", most.wide, most.narrow);
           }},
          {"sent", share(&RankTotals::sent)},
          {"received", share(&RankTotals::received)},
          {"reduced", share(&RankTotals::reduced)}};
}

std::string summary() {
  std::string head = "| collective | algorithm | ranks |", rule = "| --- | --- | ---: |";
  for (const Column& column : columns()) {
    head += format(" %s |", column.name);
    rule += " ---: |";
  }
  std::string out = head + " in place unstaged | GPU |\n" + rule + " --- | --- |\n";
  for (const Algorithm& algorithm : registry()) {
    for (const Shape& shape : shapesOf(algorithm)) {
      const auto plans = example(algorithm, shape);
      out += format("| %s | %s | %s |", collectiveName(algorithm.collective), algorithm.name,
                    shape.text().c_str());
      for (const Column& column : columns()) out += " " + column.text(plans) + " |";
      out += format(" %s | %s |\n",
                    zeroCopyInPlaceSafe(algorithm, shape.ranks, shape.near()) ? "yes" : "no",
                    algorithm.device ? "yes" : "no");
    }
  }
  return out;
}

/// As few as show the pattern: a ring turns and a tree has depth from five on.
Shape exampleShape(const Algorithm& algorithm) {
  const std::string name = algorithm.name;
  for (const char* few : {"oneshot", "twoshot", "direct", "chain", "treepipe"}) {
    if (name == few) return {3, 1};
  }
  if (algorithm.hierarchy != nullptr) return {6, 2};
  return {name == "knomial4" ? 6 : 5, 1};
}

/// The steps of a call of that shape: of a full period, or of one slot in a quarter of a chunk.
std::vector<Plan> exampleCall(const Algorithm& algorithm, const Shape& shape, bool isShort) {
  const RankGroups near = shape.near();
  const bool barrier = algorithm.collective == Collective::Barrier;
  // A stripe is cut once more.
  const Count chunk = algorithm.hierarchy != nullptr ? 32 : 1;
  const Count full = chunk * static_cast<Count>(blocksOf(algorithm, shape.ranks, near));
  const Count count = barrier ? 0 : isShort ? chunk / 4 : full;
  return recordAllRanks(algorithm, shape.ranks, 0, {count, 1, 0, chunk, 1}, near);
}

bool mergesSlots(const Algorithm& algorithm) {
  const auto plans = exampleCall(algorithm, exampleShape(algorithm), true);
  const auto& steps = plans[0].lanes[0].last;
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.slots > 1 && (step.bits & algo::kSend) != 0;
  });
}

std::string exampleTable(const Algorithm& algorithm, bool isShort) {
  const Shape shape = exampleShape(algorithm);
  ExplainOptions options;
  options.groups = shape.near().text();
  options.last = isShort || algorithm.collective == Collective::Barrier;
  const std::string table = explainTable(exampleCall(algorithm, shape, isShort), options);
  return table.substr(0, table.find("\nThe call:"));
}

}  // namespace

std::string algorithmsDoc() {
  std::string out =
      "Per rank and period of one lane; sent, received and reduced as multiples of the call's "
      "elements (least-most\nwhere ranks differ). What goes to everyone counts once per reader. "
      "Hops: the longest chain of messages that\nwait for each other. Roundings: how often a "
      "contribution is rounded at most, in 32- and 64-bit floats / in\n8- and 16-bit ones. In "
      "place unstaged: with sendbuff == recvbuff, peers may read the buffer where it is.\n\n" +
      summary();
  for (const Algorithm& algorithm : registry()) {
    out += format("\n### %s %s\n\n[`src/%s`](../src/%s)\n\n```text\n",
                  collectiveName(algorithm.collective), algorithm.name, algorithm.header,
                  algorithm.header) +
           exampleTable(algorithm, false) + "```\n";
    if (!mergesSlots(algorithm)) continue;
    out += "\nA short call, whose messages carry several slots:\n\n```text\n" +
           exampleTable(algorithm, true) + "```\n";
  }
  return out;
}

}  // namespace rondo
