// rondo-explain: what an algorithm does, step by step.

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>

#include "api/types.h"
#include "base/config_files.h"
#include "base/error.h"
#include "base/options.h"
#include "base/size_text.h"
#include "coll/costs_file.h"
#include "coll/explain.h"
#include "coll/planner.h"
#include "coll/verifier.h"
#include "command_line.h"
#include "explain_device.h"
#include "explain_json.h"
#ifdef RONDO_HAVE_MAPS
#include "explain_topology.h"
#endif
#include "p2p/shm_layout.h"
#include "topo/near_groups.h"
#include "topo/node_facts.h"

namespace {

using namespace rondo;

/// More columns than this do not fit a screen.
constexpr int kShownRanks = 8;
/// As a communicator on shared memory has them.
constexpr int kHostLanes = 2;
/// The hops are counted by running all ranks: a second at this many.
constexpr int kMostRanks = 256;
/// The planner looks at a few ranks' plans, which are as long as there are ranks.
constexpr int kMostPlanned = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 44;

struct Arguments {
  std::string collective, algorithm, type = "float32", groups, topology, costs, memory = "host";
  int ranks = 4, root = 0, lanes = 1, lane = 0, rank = -1;
  Count count = 0, chunk = 1024, align = 1;
  int cpus = 0;
  bool json = false, allRanks = false, last = false, check = false, docs = false, choose = false;
  const CLI::App* app = nullptr;

  /// The first of these options that is given; "": none is.
  std::string given(std::initializer_list<const char*> names) const {
    for (const char* const name : names) {
      if (app->count(name) > 0) return name;
    }
    return {};
  }
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
    throw Error(rondoInvalidArgument,
                "name a collective and an algorithm, or a size as in 64K; there are: " + known());
  }
  for (const Algorithm& row : registry()) {
    if (a.collective == collectiveName(row.collective) && a.algorithm == row.name) return row;
  }
  if (std::isdigit(static_cast<unsigned char>(a.algorithm.front())) != 0) {
    throw Error(
        rondoInvalidArgument,
        format("\"%s\" is no size; allowed: 1 to 16384G bytes, as in 64K", a.algorithm.c_str()));
  }
  throw Error(rondoInvalidArgument,
              format("\"%s %s\" is no algorithm, and no size as in 64K; there are: %s",
                     a.collective.c_str(), a.algorithm.c_str(), known().c_str()));
}

rondoDataType_t typeOf(const std::string& type) {
  std::string names;
  for (const rondoDataType_t known : kAllTypes) {
    if (type == typeName(known)) return known;
    names += (names.empty() ? "" : ", ") + std::string(typeName(known));
  }
  throw Error(rondoInvalidArgument,
              format("--type is \"%s\"; allowed: %s", type.c_str(), names.c_str()));
}

unsigned bytesOf(const std::string& type) { return static_cast<unsigned>(typeSize(typeOf(type))); }

/// "2x2" as a group for every rank; empty: it is something else.
std::vector<int> evenGroups(const std::string& text, int ranks) {
  const size_t x = text.find('x');
  uint64_t groups = 0, each = 0;
  std::vector<int> of;
  if (x == std::string::npos || !parseCount(text.substr(0, x), &groups) ||
      !parseCount(text.substr(x + 1), &each) || groups > static_cast<uint64_t>(ranks) ||
      groups * each != static_cast<uint64_t>(ranks)) {
    return of;
  }
  for (int r = 0; r < ranks; ++r) of.push_back(r / static_cast<int>(each));
  return of;
}

/// Groups of consecutive ranks, or "0,0,1,1" as in RONDO_GROUPS.
RankGroups groupsOf(const Arguments& a) {
  if (a.groups.empty()) return {};
  std::vector<int> of = evenGroups(a.groups, a.ranks);
  if (!of.empty()) return RankGroups(of);
  try {
    of = parseGroups(a.groups, a.ranks).list;
  } catch (const Error&) {  // its sentence names an environment variable
  }
  if (!of.empty()) return RankGroups(of);
  throw Error(rondoInvalidArgument,
              format("--groups is \"%s\"; allowed for %d ranks: GROUPSxRANKS, as in 1x%d, or a "
                     "group's number for every rank, as in 0,0,1,1",
                     a.groups.c_str(), a.ranks, a.ranks));
}

/// All that CLI11 cannot check by itself because it depends on another argument.
std::vector<Plan> record(const Arguments& a) {
  const Algorithm& algorithm = find(a);
  if (a.ranks > kMostRanks) {
    throw Error(rondoInvalidArgument,
                format("--ranks is %d; allowed for a step table: 1 to %d", a.ranks, kMostRanks));
  }
  if (a.root >= a.ranks) {
    throw Error(rondoInvalidArgument,
                format("--root is %d; allowed: 0 to %d", a.root, a.ranks - 1));
  }
  const RankGroups groups = groupsOf(a);
  algo::Geometry geometry{a.count, a.lanes, blocksOf(algorithm, a.ranks, groups), a.chunk, a.align};
  if (algorithm.collective == Collective::Barrier) {
    geometry.count = 0;
  } else if (a.count == 0) {
    geometry.count = geometry.period();
  }
  return recordAllRanks(algorithm, a.ranks, a.root, geometry, groups);
}

/// Whether `a.algorithm` is a number of bytes: then the planner is asked.
bool asksForBytes(const Arguments& a, uint64_t* bytes) {
  if (!parseSize(a.algorithm, bytes)) return false;
  if (*bytes <= kMostBytes) return true;
  throw Error(rondoInvalidArgument,
              format("argument BYTES is \"%s\"; allowed: up to 16384G, with K, M or G, as in 64K",
                     a.algorithm.c_str()));
}

Collective collectiveOf(const Arguments& a) {
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (a.collective == collectiveName(collective)) return collective;
  }
  throw Error(rondoInvalidArgument, format("there is no collective \"%s\"; there are: %s",
                                           a.collective.c_str(), known().c_str()));
}

CostsFile fileOf(const std::string& file) {
  try {
    return readCosts(file);
  } catch (const Error& error) {
    throw Error(error.code(), format("option --costs: %s; allowed: a file of rondo-tune's",
                                     error.sentence().c_str()));
  }
}

/// What the ranks would agree on. Without a machine: one host, a core for each.
CommFacts factsOf(const Arguments& a, std::string* source) {
  CommFacts facts;
  facts.ranks = a.ranks;
  facts.lanes = kHostLanes;
  facts.chunkBytes = ShmLayout::kMostArea / 2;
  *source = "built-in";
  HostCosts costs;
  MeasuredCosts measured = 0;
  if (!a.costs.empty()) {
    const CostsFile file = fileOf(a.costs);
    costs = file.costs;
    measured = file.measuredBits();
    *source = a.costs;
  } else if (a.topology.empty()) {
    const FoundCosts found =
        findCosts(machineModel(readNodeFacts()), configDirs(readOptions().tuneDir));
    costs = found.costs;
    measured = found.measured;
    *source = found.source;
    if (!found.warning.empty()) std::fprintf(stderr, "rondo-explain: %s\n", found.warning.c_str());
  }
  facts.cpus = static_cast<uint32_t>(a.ranks);
  facts.groups = groupsOf(a);
  if (!a.topology.empty()) {
#ifdef RONDO_HAVE_MAPS
    placeOnTopology(a.topology, &facts);
#else
    throw Error(rondoUnsupported, "--topology: this build is without libxml2");
#endif
  }
  setCosts(costs, measured, &facts);
  if (a.cpus > 0) facts.cpus = static_cast<uint32_t>(a.cpus);
  return facts;
}

/// The same on device memory: kernels of a graph, one after the other.
void chooseOnDevice(const Arguments& a, Collective collective, Count count) {
  if (count == 0) {
    throw Error(
        rondoInvalidArgument,
        "argument BYTES or --count is 0, which is nothing on a device; allowed with --memory "
        "device: 1 element and more");
  }
  DeviceFacts facts = deviceFactsOf(a.ranks, a.topology);
  std::string source = "built-in";
  if (!a.costs.empty()) {
    facts.costs = fileOf(a.costs).device;
    source = a.costs;
  } else if (a.topology.empty()) {
    const FoundCosts found =
        findCosts(machineModel(readNodeFacts()), configDirs(readOptions().tuneDir));
    facts.costs = found.device;
    source = found.source;
  }
  const rondoDataType_t type = typeOf(a.type);
  const DeviceRequest request{collective, count, bytesOf(a.type), reducesOf(collective, type)};
  if (chooseDevice(request, facts, {}).algorithm == nullptr &&
      chooseExchange(request, facts).algorithm == nullptr) {
    throw Error(
        rondoUnsupported,
        format("%s of device memory has no kernel for %d ranks%s; allowed: allreduce, "
               "allgather, reducescatter, reduce, broadcast, scan and exscan, and among ranks "
               "joined by NVLink alltoall of at most %d, gather and scatter of at most %d",
               collectiveName(collective), a.ranks,
               facts.lineStores ? "" : " that NVLink does not connect", kMaxWindowRanks,
               kMaxPairRanks));
  }
  std::printf("rondo: costs: %s\n%s", source.c_str(),
              explainDevice(request, facts, parseTune(readOptions().tune)).c_str());
}

/// What would change nothing is refused. `planner`: it is asked, instead of a step table.
void refuseIdle(const Arguments& a, bool planner) {
  const auto refuse = [](const std::string& option, const char* why) {
    if (!option.empty()) throw Error(rondoInvalidArgument, option + why);
  };
  if (!planner) {
    refuse(a.given({"--memory", "--topology", "--cpus"}),
           " and an algorithm; allowed: with a size as in 64K, or with --choose");
    return;
  }
  refuse(a.given({"--json", "--verify", "--chunk", "--align", "--lanes", "--lane", "--last",
                  "--all-ranks", "--rank"}),
         " and a size; allowed: with an algorithm");
  uint64_t bytes = 0;
  const bool sized = asksForBytes(a, &bytes);
  if (sized) refuse(a.given({"--count"}), " and a size; allowed: one of them");
  if (!sized && !a.algorithm.empty()) {
    refuse(a.given({"--choose"}), " and an algorithm; allowed: one of them");
  }
  if (a.memory == "device") {
    refuse(a.given({"--root", "--groups", "--cpus"}),
           " and --memory device; allowed: with --memory host");
  }
}

/// What a communicator of these ranks would run, and what it would not.
int choose(const Arguments& a) {
  if (a.root >= a.ranks) {
    throw Error(rondoInvalidArgument,
                format("--root is %d; allowed: 0 to %d", a.root, a.ranks - 1));
  }
  const Collective collective = collectiveOf(a);
  uint64_t bytes = 0;
  if (!asksForBytes(a, &bytes) && a.count == 0 && collective != Collective::Barrier) {
    throw Error(rondoInvalidArgument, "--choose; allowed: with --count, or a size as in 64K");
  }
  const unsigned element = bytesOf(a.type);
  const Count count = asksForBytes(a, &bytes) ? (bytes + element - 1) / element : a.count;
  if (a.memory == "device") {
    chooseOnDevice(a, collective, count);
    return 0;
  }
  const Request request{collective, collective == Collective::Barrier ? 0 : count, element, a.root};
  std::string source;
  const CommFacts facts = factsOf(a, &source);
  const std::vector<TuneRule> rules = parseTune(readOptions().tune);
  std::printf("rondo: costs: %s\n", source.c_str());
  if (facts.groups.count() > 1 && facts.ranks <= 64) {
    std::printf("rondo: groups: %s\n", facts.groups.text().c_str());
  }
  if (const std::string links = facts.links.text(); !links.empty()) {
    std::printf("rondo: links: %s\n", links.c_str());
  }
  std::fputs(explainChoice(request, rankCandidates(request, facts, rules)).c_str(), stdout);
  return 0;
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
  if (!a.costs.empty()) fileOf(a.costs);  // a wrong one is said, though not every table needs it
  uint64_t bytes = 0;
  const bool planner = a.choose || asksForBytes(a, &bytes);
  refuseIdle(a, planner);
  if (planner) return choose(a);
  const std::vector<Plan> plans = record(a);
  if (a.check) return verify(plans);
  const algo::Geometry& g = plans[0].geometry;
  ExplainOptions options;
  options.lane = a.lane;
  options.last = a.last || g.fullPeriods() == 0;
  options.elementBytes = bytesOf(a.type);
  options.groups = groupsOf(a).text();
  if (a.rank >= 0) options.ranks = {a.rank};
  const bool few = a.rank < 0 && !a.allRanks && !a.json && a.ranks > kShownRanks;
  for (int r = 0; few && r < kShownRanks; ++r) options.ranks.push_back(r);
  std::fputs((a.json ? explainJson(plans, options) : explainTable(plans, options)).c_str(), stdout);
  if (few) std::printf("\nRanks %d to %d: --all-ranks or --rank R.\n", kShownRanks, a.ranks - 1);
  return 0;
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("collective", a.collective, "As in RONDO_TUNE: allreduce, barrier, ..");
  app.add_option("algorithm", a.algorithm,
                 "As in RONDO_TUNE: " + known() +
                     "; or bytes, as in 64K: what the planner takes, and the runners-up");
  app.add_option("-n,--ranks", a.ranks, "Ranks")
      ->check(CLI::Range(1, kMostPlanned))
      ->capture_default_str();
  app.add_option("--root", a.root, "Root, where there is one")
      ->check(CLI::Range(0, kMostPlanned - 1));
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
  app.add_option(
      "--groups", a.groups,
      "Ranks that lie close together: GROUPSxRANKS, or a group for every rank (0,0,1,1)");
  app.add_flag("--choose", a.choose,
               "Print what the planner takes for --count elements of --type, and the runners-up");
  app.add_option("--topology", a.topology,
                 "Where the ranks are, for the planner: a file (Rondo's, NCCL's or hwloc's XML) or "
                 "a description, as in \"4 x (2 cpu, 1 nic)\"");
  app.add_option("--costs", a.costs,
                 "A file of rondo-tune's for the planner (default: this machine's if --topology is "
                 "not given, else the built-in costs)");
  app.add_option("--memory", a.memory,
                 "Whose buffers, for the planner: host, or device (GPUs joined by NVLink, or those "
                 "of --topology)")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  app.add_option("--cpus", a.cpus, "CPUs for the planner (default: the topology's, or one a rank)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", a.json, "As JSON, all ranks");
  app.add_flag("--verify", a.check, "Check the plans instead; exit status 1 if they are unsound");
  app.add_flag("--docs", a.docs, "Print the generated part of docs/algorithms.md");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Prints the step table of a collective algorithm.", "rondo-explain");
  declare(app, arguments);
  arguments.app = &app;
  return runTool(app, argc, argv, {}, [&] { return explain(arguments); });
}
