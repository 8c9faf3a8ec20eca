#pragma once
// What is simulated: one call of a collective by ranks that sit on a graph's GPUs or CPUs.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coll/facts.h"
#include "coll/plan.h"
#include "coll/sim/fair_links.h"
#include "topo/graph.h"

namespace rondo::sim {

/// What a step costs beside the links, in picoseconds.
struct Costs {
  uint64_t launch = 0;  ///< Before the first step.
  uint64_t hop = 0;     ///< A message's flag, once its data are there, beside the links' latency.
  uint64_t signalHop = 0;  ///< The same of a signal on a window.
  uint64_t step = 0;       ///< Each step.
  uint64_t message = 0;    ///< Each message that is taken.
  uint64_t copyPerKiB = 0;
  uint64_t reducePerKiB = 0;
  uint64_t handOnPerKiB = 0;
  uint64_t networkHop = 0;  ///< More for a message that crosses a network.
  /// One thread works for all lanes of a rank, so that one waits for another's step.
  bool oneThread = false;
  /// Part of an NVLink's bandwidth that payload gets, in percent.
  unsigned nvLinkPercent = 100;
};

/// Of host memory: those the planner ranks by.
Costs hostCosts(const HostCosts& costs);
/// Of kernels: fitted to rondo-bench on 4 x H200, as the planner's are.
Costs deviceCosts();

/// Ranks that make the call among themselves, part by part, all parts at the same time and over the
/// same links. Every rank is in one part, and all parts have as many.
struct Parts {
  std::vector<std::vector<int>> members;  ///< By part: its ranks, in the order of their numbers.
  std::vector<int> of;                    ///< By rank: its part...
  std::vector<int> number;                ///< ... and its number there.

  Parts() = default;
  explicit Parts(std::vector<std::vector<int>> members);
  bool whole() const { return members.size() < 2; }  ///< All ranks are one part.
};

struct Job {
  const topo::Graph* graph = nullptr;
  std::vector<int> places;  ///< By rank: its node.
  /// Asked once for each rank, and again for sentences. Ranks in it are numbers in their part.
  std::function<Plan(int rank)> plan;
  Parts parts = {};
  size_t elementBytes = 1;
  int depth = 2;  ///< Messages that a channel holds.
  Costs costs;
  /// Full periods that are simulated one by one; the others take as long as the later half of
  /// these, but for those that end while ranks are done with them. 0: all.
  Count periods = 0;
  /// `periods` are doubled until the pipeline is seen full (Result) or they have so many steps;
  /// then the others take the middle of that and of what a period takes all ranks in the mean.
  uint64_t stepsToFull = 0;
  /// Of equal steps in a row that all ranks take alike, so many are simulated; the others take as
  /// long as the later half of these. 0, or `record`: all.
  Count repeats = 0;
  bool record = false;       ///< Keep transfers and steps.
  bool recordLinks = false;  ///< Keep what each link carries when.
};

constexpr int kMostPlaces = 65536;  ///< Ranks of a job.

/// Ranks on the machine's places, host by host. Throws Error(rondoInvalidArgument) if there are
/// more ranks than places.
std::vector<int> placeRanks(const topo::Graph& graph, int ranks);
/// By rank: its host.
std::vector<int> hostsOf(const topo::Graph& graph, const std::vector<int>& places);

/// One message on its way.
struct Transfer {
  int from, to, lane;
  Count period;
  uint64_t bytes;
  Time start, end;   ///< Until the last byte is there; its flag comes later.
  int64_t previous;  ///< The transfer that the sending step has taken; -1: none.
};

/// One step of one rank.
struct Span {
  int rank, lane;
  Count period;
  StepKind kind;
  uint8_t bits;
  Time ready, start, end;  ///< It waited from `ready` to `start`.
};

struct Result {
  Time picoseconds = 0;
  /// By arc, of the whole call.
  std::vector<uint64_t> arcBytes;
  /// Not empty: nobody can go on. A sentence for each rank and lane that has not finished.
  std::vector<std::string> blocked;
  Count periods = 0, simulatedPeriods = 0;
  /// All full periods were simulated, or the pipeline was full for half of those that were, and
  /// steady, so that they say what the others take.
  bool seenFull = false;
  uint64_t messages = 0;  ///< Simulated ones.
  uint64_t events = 0;
  std::vector<Transfer> transfers;
  std::vector<Span> spans;
  /// By arc, what it carries when, of the simulated periods: full ones that are not simulated,
  /// which take leftOutTime together, come at leftOutAt. Empty if it is not kept.
  std::vector<LinkCourse> courses;
  Time leftOutAt = 0, leftOutTime = 0;
  double stretched = 1;  ///< Times of transfers and spans are as many times those over the links.
  /// By pair of ranks with a transfer, from x ranks + to: the route.
  std::vector<std::pair<uint64_t, std::vector<topo::Arc>>> routes;
};

/// Throws Error(rondoInvalidArgument) for ranks with no way between them, and for a call that takes
/// longer than kMostTime.
Result simulate(const Job& job);

/// Throws Error(rondoInternalError) if nobody can go on, with the first of the sentences.
void checkEnded(const Result& result);

}  // namespace rondo::sim
