#pragma once
// All algorithms there are, one row each.

#include <string>
#include <vector>

#include "coll/plan.h"
#include "coll/rank_groups.h"

namespace rondo {

class Recorder;

/// What the columns of a hierarchical algorithm depend on.
struct GroupShape {
  int ranks;
  int groups;    ///< At least 2.
  int smallest;  ///< Members of the smallest group.
  int largest;
};

/// Columns of a hierarchical algorithm where there are groups; without, those of its row hold.
struct Hierarchical {
  int (*blocks)(const GroupShape& shape);
  int (*fill)(const GroupShape& shape);
};

struct Algorithm {
  const char* name;  ///< As in RONDO_TUNE: "ring", "oneshot", "twoshot".
  Collective collective;
  int (*blocks)(int ranks);  ///< Blocks that a lane cuts a period into.
  void (*record)(Recorder& recorder, const algo::Group& group, const algo::Part& part);
  /// With src == dst, peers may read a posted block of src where it is: no step overwrites it
  /// before they have (the verifier's happens-before check; a test holds this column against it).
  bool inPlaceAnnounce;
  int (*fill)(int ranks);  ///< Hops before the last rank gets its first block; 0 where a rank's own
                           ///< steps show them.
  bool device;             ///< A kernel is instantiated from the header; sound without credits (see
                           ///< algo/verbs.h), or deviceMeets.
  const char* header;      ///< Where it stands.
  bool reproducible = false;  ///< Every value is one n-ary reduction, whose association the
                              ///< executor can choose.
  bool uneven = false;  ///< Right with slots of different lengths, whose steps vanish where a slot
                        ///< has ended (v-collectives).
  bool deviceMeets = false;  ///< Not every rank hears of every other: on a device the executor has
                             ///< them say hello in each exchange, which makes it sound.
  const Hierarchical* hierarchy = nullptr;  ///< It makes use of groups of near ranks.
  bool straight = false;  ///< On a device: what a rank sends and keeps alike (algo::sendsKept) may
                          ///< be written into the next rank's dst before that one takes it (a test
                          ///< holds this column against straightFindings()).
};

const std::vector<Algorithm>& registry();

/// nullptr if there is none of that name.
const Algorithm* findAlgorithm(Collective collective, const std::string& name);

/// The columns `blocks` and `fill` for these ranks and their groups.
int blocksOf(const Algorithm& algorithm, int ranks, const RankGroups& groups);
int fillOf(const Algorithm& algorithm, int ranks, const RankGroups& groups);

/// Writes down what `group.rank` does. `geometry.blocks` must be blocksOf() these ranks.
Plan recordPlan(const Algorithm& algorithm, const algo::Group& group,
                const algo::Geometry& geometry);

}  // namespace rondo
