// rondo-explain: what an algorithm does, step by step.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/types.h"
#include "base/error.h"
#include "coll/explain.h"
#include "coll/verifier.h"
#include "explain_json.h"

namespace {

using namespace rondo;

/// More columns than this do not fit a screen.
constexpr int kShownRanks = 8;
/// The hops are counted by running all ranks: a second at this many.
constexpr int kMostRanks = 256;

struct Arguments {
  std::string collective, algorithm, type = "float32";
  int ranks = 4, root = 0, lanes = 1, lane = 0, rank = -1;
  Count count = 0, chunk = 1024, align = 1;
  bool json = false, allRanks = false, last = false, check = false, docs = false;
};

std::string known() {
  std::string out;
  for (const Algorithm& row : registry()) {
    out += format("%s%s %s", out.empty() ? "" : ", ", collectiveName(row.collective), row.name);
  }
  return out;
}

const Algorithm& find(const Arguments& a) {
  if (a.collective.empty() || a.algorithm.empty()) {
    throw Error(rondoInvalidArgument, "name a collective and an algorithm; there are: " + known());
  }
  for (const Algorithm& row : registry()) {
    if (a.collective == collectiveName(row.collective) && a.algorithm == row.name) return row;
  }
  throw Error(rondoInvalidArgument,
              format("there is no algorithm \"%s %s\"; there are: %s", a.collective.c_str(),
                     a.algorithm.c_str(), known().c_str()));
}

unsigned bytesOf(const std::string& type) {
  std::string names;
  for (const rondoDataType_t known : kAllTypes) {
    if (type == typeName(known)) return static_cast<unsigned>(typeSize(known));
    names += (names.empty() ? "" : ", ") + std::string(typeName(known));
  }
  throw Error(rondoInvalidArgument,
              format("--type is \"%s\"; allowed: %s", type.c_str(), names.c_str()));
}

/// All that CLI11 cannot check by itself because it depends on another argument.
std::vector<Plan> record(const Arguments& a) {
  const Algorithm& algorithm = find(a);
  if (a.root >= a.ranks) {
    throw Error(rondoInvalidArgument,
                format("--root is %d; allowed: 0 to %d", a.root, a.ranks - 1));
  }
  algo::Geometry geometry{a.count, a.lanes, algorithm.blocks(a.ranks), a.chunk, a.align};
  if (algorithm.collective == Collective::Barrier) {
    geometry.count = 0;
  } else if (a.count == 0) {
    geometry.count = geometry.period();
  }
  return recordAllRanks(algorithm, a.ranks, a.root, geometry);
}

int verify(const std::vector<Plan>& plans) {
  const Findings found = verifyPlans(plans);
  for (const std::string& finding : found) std::printf("%s\n", finding.c_str());
  if (found.empty()) std::printf("Sound: no findings.\n");
  return found.empty() ? 0 : 1;
}

int explain(const Arguments& a) {
  if (a.docs) {
    std::fputs(algorithmsDoc().c_str(), stdout);
    return 0;
  }
  const std::vector<Plan> plans = record(a);
  if (a.check) return verify(plans);
  const algo::Geometry& g = plans[0].geometry;
  ExplainOptions options;
  options.lane = a.lane;
  options.last = a.last || g.fullPeriods() == 0;
  options.elementBytes = bytesOf(a.type);
  if (a.rank >= 0) options.ranks = {a.rank};
  const bool few = a.rank < 0 && !a.allRanks && !a.json && a.ranks > kShownRanks;
  for (int r = 0; few && r < kShownRanks; ++r) options.ranks.push_back(r);
  std::fputs((a.json ? explainJson(plans, options) : explainTable(plans, options)).c_str(), stdout);
  if (few) std::printf("\nRanks %d to %d: --all-ranks or --rank R.\n", kShownRanks, a.ranks - 1);
  return 0;
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("collective", a.collective, "allreduce, broadcast or barrier");
  app.add_option("algorithm", a.algorithm, "As in RONDO_TUNE: " + known());
  app.add_option("-n,--ranks", a.ranks, "Ranks")
      ->check(CLI::Range(1, kMostRanks))
      ->capture_default_str();
  app.add_option("--root", a.root, "Root of a broadcast")->check(CLI::Range(0, kMostRanks - 1));
  const auto size = CLI::Range(Count{1}, Count{1} << 40);
  app.add_option("--count", a.count, "Elements of the call (default: one full period)")
      ->check(size);
  app.add_option("--chunk", a.chunk, "Elements of a block in a full period")
      ->check(size)
      ->capture_default_str();
  app.add_option("--align", a.align, "Elements that blocks of the last period are multiples of")
      ->check(size)
      ->capture_default_str();
  app.add_option("--lanes", a.lanes, "Concurrent parts")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--lane", a.lane, "The lane to show")
      ->check(CLI::Range(0, 63))
      ->capture_default_str();
  app.add_option("--type", a.type, "Element type, for bytes")->capture_default_str();
  app.add_flag("--last", a.last, "Show the shorter last period instead of a full one");
  auto* all = app.add_flag("--all-ranks", a.allRanks, "Show all ranks, however many");
  app.add_option("--rank", a.rank, "Show this rank only")
      ->check(CLI::Range(0, kMostRanks - 1))
      ->excludes(all);
  app.add_flag("--json", a.json, "As JSON, all ranks");
  app.add_flag("--verify", a.check, "Check the plans instead; exit status 1 if they are unsound");
  app.add_flag("--docs", a.docs, "Print the generated part of docs/algorithms.md");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Prints the step table of a collective algorithm.", "rondo-explain");
  declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  try {
    return explain(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondo-explain: %s\n", error.what());
    return 2;
  }
}
