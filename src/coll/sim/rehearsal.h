#pragma once
// A machine on which collectives are rehearsed: which algorithms may run there, how they are cut,
// and how long each takes.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "coll/device_planner.h"
#include "coll/registry.h"
#include "coll/sim/job.h"

namespace rondo::sim {

/// One call, the same on all ranks.
struct CallShape {
  Collective collective;
  uint64_t bytes;  ///< Of all slots together, where the collective has slots.
  int root = 0;
  auto key() const { return std::make_tuple(collective, bytes, root); }
};

struct Settings {
  std::string algorithm = {};  ///< This one only; empty: all that may run.
  int lanes = 0;               ///< 0: the transport's.
  uint64_t chunk = 0;          ///< Bytes of a message; 0: the transport's.
  int depth = -1;              ///< Messages that a channel holds; negative: the transport's.
  Count periods = 16;          ///< As Job::periods.
  Count repeats = 64;          ///< As Job::repeats.
  /// A call whose transfers are kept is simulated with all its periods, if it has no more than
  /// mostKept steps then; another with more than `periods`, where these have few steps or the
  /// pipeline is not seen full in them.
  bool wholeIfKept = true;
  /// An algorithm that takes longer than so many simulated steps is left out, unless it is named:
  /// about half a minute.
  double mostSteps = 2e7;
  /// Where the planner's choice on host memory takes longer, its time is what the planner predicts;
  /// where all algorithms on device memory of many hosts do, the quickest to simulate is drawn on
  /// from fewer hosts.
  double mostPlanned = 2e7;
  bool record = false;
  bool recordLinks = false;  ///< Where transfers are kept, what each link carries when, too.
  /// Longer calls are simulated without keeping their transfers. One takes 64 bytes, and its line
  /// 200.
  double mostKept = 4e6;
};

struct Outcome {
  const Algorithm* algorithm;
  algo::Geometry geometry;
  Result result;
  double seconds = 0;      ///< That the simulation took.
  bool predicted = false;  ///< Not simulated, without links' bytes: the planner's own prediction...
  int fewerHosts = 0;      ///< ... or, if not 0, drawn on from so many hosts and half of them.
};

/// An algorithm that was left out, and what its simulation would take (Rehearsal::workOf()).
struct LeftOut {
  const Algorithm* algorithm;
  double steps;
};

/// A message to a rank, or from it.
struct PeerTransfer {
  int peer;
  bool sends;
  uint64_t bytes;
  bool operator==(const PeerTransfer&) const = default;
  auto operator<=>(const PeerTransfer&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// So that the whole call takes `whole`.
void stretch(Result* result, Time whole);

/// In which the links can carry so many bytes, by arc; above kMostTime: they cannot in that.
Time leastTime(const topo::Graph& graph, const std::vector<uint64_t>& arcBytes);

class Rehearsal {
 public:
  /// On the first `ranks` places of the graph, which must outlive this; 0: on all. With parts, each
  /// makes the calls for itself, and CallShape::root is a number in it. Throws
  /// Error(rondoInvalidArgument).
  Rehearsal(const topo::Graph& graph, int ranks, Settings settings, Parts parts = {});
  /// By rank: its place. The other conditions are the same.
  Rehearsal(const topo::Graph& graph, std::vector<int> places, Settings settings, Parts parts);

  const topo::Graph& graph() const { return graph_; }
  const Settings& settings() const { return settings_; }
  const std::vector<int>& places() const { return places_; }
  int ranks() const { return static_cast<int>(places_.size()); }
  int partRanks() const { return partRanks_; }
  /// By rank: its host.
  std::vector<int> hosts() const { return hostsOf(graph_, places_); }
  /// Device memory is what ranks on GPUs have.
  bool onDevice() const { return device_; }
  /// Throws Error(rondoInvalidArgument) for a root that no part has.
  void checkRoot(int root) const;

  /// What the device planner makes of an algorithm for slots of so many bytes, floats and sums.
  /// `algorithm` of it is nullptr where it plans nothing: on host memory, over several hosts, where
  /// there is no kernel, and where the settings cut calls otherwise.
  DeviceChoice planned(const Algorithm& algorithm, Count bytes) const;
  /// Of sends and receives of `rank` in one launch, its peers being there; none where planned()
  /// plans nothing.
  std::optional<Time> exchangeTime(int rank, const std::vector<PeerTransfer>& transfers) const;

  /// Those that may run; where the device planner plans, those with a kernel. Throws
  /// Error(rondoInvalidArgument) if the one that was asked for is none.
  std::vector<const Algorithm*> candidates(Collective collective) const;
  algo::Geometry geometryOf(const Algorithm& algorithm, const CallShape& call) const;
  Job jobOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const;
  /// Steps of all ranks that are simulated one by one, each message of those to or from everyone
  /// counted; `record`: where each is kept.
  double stepsOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                 bool record = false) const;
  /// How many simulated steps take as long as the call's simulation does: its steps, the recording
  /// of those that are left out, the search for ways, and flows that share links anew.
  double workOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const;
  /// Where the device planner plans, the course over the links alone is stretched so that the call
  /// takes what it predicts (kernels are more than their messages), but no less than the links
  /// need. Keeps transfers if `record`, and the call has no more than Settings::mostKept steps.
  Outcome simulate(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                   bool record) const;

  /// All candidates, the best one first, those that stand still last. `done` is told of each at
  /// once.
  std::vector<Outcome> simulateAll(const CallShape& call, std::vector<LeftOut>* leftOut,
                                   bool record,
                                   const std::function<void(const Outcome&)>& done = {}) const;

  /// What would run: on host memory what the planner chooses, on device memory the best candidate.
  /// Remembered, so that a call costs its simulation once. Throws Error(rondoInvalidArgument) for
  /// a root that there is not, Error(rondoInternalError) for a deadlock.
  const Outcome& best(const CallShape& call);

 private:
  bool mayRun(const Algorithm& row) const;
  bool alike(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const;
  /// Full periods that are simulated; 0: all.
  Count enoughPeriods(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const;
  /// The same where transfers are kept.
  Count keptPeriods(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const;
  /// `most`: of full periods; 0: all.
  double stepsOfPeriods(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                        Count most, bool record) const;
  template <class Of>
  double sumOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root, Count most,
               const Of& of) const;
  /// `foretold`: without costs beside the links', as its time will be another.
  Outcome course(const Algorithm& algorithm, const algo::Geometry& geometry, int root, bool record,
                 bool foretold) const;
  Outcome foretell(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                   bool record, Time predicted) const;
  Outcome findBest(const CallShape& call) const;
  Outcome simulatePlanned(const CallShape& call) const;
  /// Of an algorithm whose simulation takes too long, by those of the same slots on the ranks of
  /// fewer hosts; none where there are parts, or too few hosts.
  std::optional<Outcome> fromFewerHosts(const Algorithm& algorithm, const CallShape& call) const;

  const topo::Graph& graph_;
  Settings settings_;
  bool device_;
  std::vector<int> places_;
  Parts parts_;
  int partRanks_;
  std::vector<RankGroups> groups_;      ///< By part: which of its ranks share a host.
  std::optional<DeviceFacts> kernels_;  ///< Of the first part, on GPUs of one host.
  bool layered_;                        ///< A hierarchy is the same in all parts.
  LinkFacts links_;                     ///< On host memory: of the first part.
  std::map<std::tuple<Collective, uint64_t, int>, Outcome> known_;
};

/// Places of a machine, one on each GPU or on each core, as far as ranks may be.
int placesOn(const topo::Graph& graph);

}  // namespace rondo::sim
