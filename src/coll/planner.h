#pragma once
// Chooses: algorithm, lanes and chunk of a call, as a pure function of agreed facts.

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "coll/facts.h"
#include "coll/plan.h"
#include "coll/registry.h"

namespace rondo {

/// The agreed arguments of a call that a choice may depend on.
struct Request {
  Collective collective;
  Count count;
  size_t elementBytes;
  int root;
  /// Slots of different lengths, of which `count` is but a typical one: the plan is one full
  /// period.
  bool uneven = false;
};

struct Candidate {
  const Algorithm* algorithm;
  algo::Geometry geometry;
  uint64_t picoseconds;  ///< Predicted.
};

/// One rule of RONDO_TUNE: COLLECTIVE:host:FROM-TO:ALGORITHM[/LANES[/CHUNK]], bytes FROM <= size
/// < TO; or COLLECTIVE:device:FROM-TO:ALGORITHM[/LANES[/PROTOCOL]].
struct TuneRule {
  Collective collective;
  uint64_t from, to;
  const Algorithm* algorithm;
  int lanes;                  ///< 0: free.
  uint64_t chunkBytes;        ///< 0: free.
  bool device = false;        ///< For device memory, and nothing else.
  std::string protocol = {};  ///< Device: LL, LL128 or Simple; empty: free.
};

/// Throws Error(rondoInvalidArgument) that quotes the rule and says what is allowed. `by`: what
/// whoever wrote it calls it.
std::vector<TuneRule> parseTune(const std::string& text, const char* by = "RONDO_TUNE");

/// What stands for calls of about `count` elements: the next number of four binary digits and
/// zeros. A program whose counts differ from call to call chooses eight times for each factor of
/// two, not in each call.
constexpr Count typicalCount(Count count) {
  const int zeros = std::max(0, static_cast<int>(std::bit_width(count)) - 4);
  return ((count + (Count{1} << zeros) - 1) >> zeros) << zeros;
}

/// The rule that holds for the request; nullptr: none.
const TuneRule* findRule(const Request& request, const std::vector<TuneRule>& rules);

/// All candidates that may run, the best one first; ties go to the one registered first. With a
/// matching rule, only what it allows. The order and the predicted times are those of a call of
/// typicalCount() elements.
std::vector<Candidate> rankCandidates(const Request& request, const CommFacts& facts,
                                      const std::vector<TuneRule>& rules);

/// The geometry of `lanes` lanes and chunks of `chunk` elements for just this request.
algo::Geometry geometryOf(const Request& request, const Algorithm& algorithm,
                          const CommFacts& facts, int lanes, Count chunk);

/// Predicted time of a plan: `plan` is any rank's.
uint64_t predict(const Plan& plan, size_t elementBytes, const CommFacts& facts);

/// The ranking as lines of text, for RONDO_EXPLAIN.
std::string explainChoice(const Request& request, const std::vector<Candidate>& ranking);

}  // namespace rondo
