// The generated part of docs/algorithms.md.

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "coll/explain.h"
#include "coll/verifier.h"

namespace rondo {
namespace {

constexpr int kSizes[] = {2, 4, 8};

/// One full period in which every block has the same number of elements, whatever the sizes above.
std::vector<Plan> example(const Algorithm& algorithm, int ranks) {
  const bool barrier = algorithm.collective == Collective::Barrier;
  const Count chunk = 8 / static_cast<Count>(algorithm.blocks(ranks) > 1 ? ranks : 1);
  const Count count = chunk * static_cast<Count>(algorithm.blocks(ranks));
  return recordAllRanks(algorithm, ranks, 0, {barrier ? 0 : count, 1, 0, chunk, 1});
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
    for (const int ranks : kSizes) {
      const auto plans = example(algorithm, ranks);
      out +=
          format("| %s | %s | %d |", collectiveName(algorithm.collective), algorithm.name, ranks);
      for (const Column& column : columns()) out += " " + column.text(plans) + " |";
      out += format(" %s | %s |\n", zeroCopyInPlaceSafe(algorithm, ranks) ? "yes" : "no",
                    algorithm.device ? "yes" : "no");
    }
  }
  return out;
}

/// As few as show the pattern: a ring turns and a tree has depth from five on.
int exampleRanks(const Algorithm& algorithm) {
  const std::string name = algorithm.name;
  for (const char* few : {"oneshot", "twoshot", "direct", "chain", "treepipe"}) {
    if (name == few) return 3;
  }
  return name == "knomial4" ? 6 : 5;
}

}  // namespace

std::string algorithmsDoc() {
  std::string out =
      "Per rank and period of one lane; sent, received and reduced as multiples of the call's "
      "elements (least-most\nwhere ranks differ). What goes to everyone counts once per reader. "
      "Hops: the longest chain of messages that\nwait for each other. In place unstaged: with "
      "sendbuff == recvbuff, peers may read the buffer where it is.\n\n" +
      summary();
  for (const Algorithm& algorithm : registry()) {
    const int ranks = exampleRanks(algorithm);
    const bool barrier = algorithm.collective == Collective::Barrier;
    const Count count = static_cast<Count>(algorithm.blocks(ranks));
    const auto plans = recordAllRanks(algorithm, ranks, 0, {barrier ? 0 : count, 1, 0, 1, 1});
    ExplainOptions options;
    options.last = barrier;
    const std::string table = explainTable(plans, options);
    out += format("\n### %s %s\n\n[`src/%s`](../src/%s)\n\n```text\n",
                  collectiveName(algorithm.collective), algorithm.name, algorithm.header,
                  algorithm.header) +
           table.substr(0, table.find("\nThe call:")) + "```\n";
  }
  return out;
}

}  // namespace rondo
