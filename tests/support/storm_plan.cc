#include "support/storm_plan.h"

namespace rondo::testing {
namespace {

constexpr const char* kLevelKinds[] = {"allreduce", "reducescatter", "allgather", "broadcast",
                                       "reduce"};
constexpr const char* kLevelNames[] = {"stripes", "hier", "hier", "hier", "hier"};
constexpr const char* kHostRules[] = {
    "allreduce:host:0-:ring",         "allreduce:host:0-:twoshot",
    "allreduce:host:0-:doubling",     "broadcast:host:0-:binomial",
    "reducescatter:host:0-:pairwise", "allgather:host:0-:bruck",
    "alltoall:host:0-:pairwise",      "reduce:host:0-:tree"};

/// Which calls go in levels: by costs, all, none, or of each kind those of some lengths.
std::string drawTune(StormDraw& draw, bool reproducible) {
  std::string tune;
  const auto add = [&](const std::string& rule) { tune += (tune.empty() ? "" : ",") + rule; };
  const uint32_t how = draw.below(6);
  for (size_t k = 0; k < std::size(kLevelKinds) && how > 0; ++k) {
    const bool levels = how <= 2 || draw.oneIn(2);
    const std::string kind = kLevelKinds[k], name = levels ? kLevelNames[k] : "ring";
    if (how < 5) {
      add(kind + ":device:0-:" + name);
    } else {
      const std::string edge = std::to_string(draw.below(1000) + 1);
      add(kind + ":device:0-" + edge + ":" + name);
      add(kind + ":device:" + edge + "-:" + (levels ? "ring" : kLevelNames[k]));
    }
  }
  if (!reproducible && draw.oneIn(3)) add(draw.of(kHostRules));  // they may not allow it
  return tune;
}

std::vector<int> drawHosts(StormDraw& draw) {
  const int hosts = draw.of({2, 2, 2, 3, 3, 4}), most = hosts == 4 ? 2 : 3;
  std::vector<int> hostOf;
  const uint32_t shape = draw.below(5);
  if (shape == 0) {  // uneven
    for (int h = 0; h < hosts; ++h) {
      for (int p = draw.from(1, most); p > 0; --p) hostOf.push_back(h);
    }
    if (draw.oneIn(2)) std::reverse(hostOf.begin(), hostOf.end());
  } else {
    const int places = std::min(most, draw.of({1, 2, 2, 2, 3}));
    for (int r = 0; r < hosts * places; ++r) {
      hostOf.push_back(shape == 1 ? r % hosts : r / places);
    }
  }
  if (shape == 0 || shape == 2) {
    for (size_t r = hostOf.size(); r-- > 1;) {
      std::swap(hostOf[r], hostOf[draw.below(static_cast<uint32_t>(r) + 1)]);
    }
  }
  return numberedByFirst(hostOf);
}

/// Ranks of one host alone would have the kernels of one host, which are not pretended.
bool everyColorSpansHosts(const StormPlan& plan) {
  for (const int color : {0, 1}) {
    const std::vector<int> members = stormMembers(plan, color);
    if (members.empty()) continue;
    const std::vector<int> hosts = hostsOfMembers(plan, members);
    if (*std::max_element(hosts.begin(), hosts.end()) == 0) return false;
  }
  return true;
}

void drawChild(StormDraw& draw, StormPlan* plan) {
  const size_t n = plan->hostOf.size();
  const LevelsLayout layout = LevelsLayout::of(plan->hostOf, 0);
  for (int tries = 0; tries < 10; ++tries) {
    const uint32_t how = draw.below(3);
    plan->colors.assign(n, 0);
    plan->keys.assign(n, 0);
    for (size_t r = 0; r < n; ++r) {
      if (how == 0) plan->colors[r] = layout.placeOf[r] % 2;
      if (how == 1) plan->colors[r] = draw.from(0, 1);
      if (how == 1 && draw.oneIn(6)) plan->colors[r] = RONDO_SPLIT_NOCOLOR;
      plan->keys[r] = draw.from(0, draw.oneIn(2) ? 0 : 3);
    }
    if (everyColorSpansHosts(*plan)) return;
  }
  plan->colors.clear();
}

class Calls {
 public:
  Calls(StormDraw& draw, StormPlan* plan, size_t budget)
      : draw_(draw), plan_(*plan), left_(budget), most_(budget / 4) {}

  int drawn() const { return serial_; }
  StormCall again(StormCall call) {
    call.serial = serial_++;
    return call;
  }
  StormCall next(int comm, int stream, bool mayHost) {
    StormCall call;
    call.serial = serial_++;
    call.comm = comm;
    call.stream = stream;
    call.onHost = mayHost && draw_.oneIn(8);
    call.barrier = call.onHost && draw_.oneIn(6);
    call.transfers = draw_.oneIn(4);
    call.draw = draw_.raw();
    const size_t size = plan_.hostOf.size();
    call.bytes = stormBytes(draw_, std::min(most_, left_ / (2 * size)));
    left_ -= std::min(left_, call.bytes * size);
    call.call = static_cast<Call>(draw_.below(kCalls));
    call.inPlace = draw_.oneIn(3);
    drawTypeOf(draw_, &call);
    return call;
  }

 private:
  StormDraw& draw_;
  const StormPlan& plan_;
  size_t left_;
  const size_t most_;
  int serial_ = 0;
};

StormStep drawStep(StormDraw& draw, const StormPlan& plan, Calls& calls) {
  StormStep step;
  const uint32_t how = draw.below(8);
  step.how = how < 4   ? StormStep::kAlone
             : how < 6 ? StormStep::kGroup
             : how < 7 ? StormStep::kGraph
                       : StormStep::kGroupInGraph;
  const bool graph = step.how == StormStep::kGraph || step.how == StormStep::kGroupInGraph;
  const auto someComm = [&] { return plan.colors.empty() ? 0 : draw.from(0, 1); };
  const auto streamOf = [&](int comm) {
    return plan.streams == StormStreams::kOneEach ? comm
           : plan.streams == StormStreams::kBoth  ? draw.from(0, 1)
                                                  : 0;
  };
  const int one = someComm(), stream = streamOf(one);
  // A group that has no collectives ends on all of its streams.
  const bool sends = step.how == StormStep::kGroup && draw.oneIn(2);
  const auto add = [&](std::vector<StormCall>* to, bool mayHost) {
    // A graph is of one stream.
    const bool sticks = graph && plan.streams == StormStreams::kOneEach;
    const int comm = sticks ? one : someComm();
    to->push_back(calls.next(comm, graph ? stream : streamOf(comm), mayHost));
    to->back().transfers = to->back().transfers || sends;
  };
  const int count = step.how == StormStep::kAlone ? 1 : draw.from(1, graph ? 4 : 6);
  for (int i = 0; i < count; ++i) add(&step.calls, !graph);
  if (step.how == StormStep::kAlone && draw.oneIn(8)) {  // one call over and over
    for (int i = draw.from(4, 12); i > 0; --i) step.calls.push_back(calls.again(step.calls[0]));
  }
  step.replays = graph ? draw.from(1, 4) : 1;
  for (int i = 1; i < step.replays; ++i) {
    if (draw.oneIn(2)) add(&step.between, true);
  }
  step.finish = draw.oneIn(3);
  return step;
}

}  // namespace

/// `budget`: bytes of all ranks' buffers, about.
StormPlan drawStorm(uint32_t seed, size_t budget, int calls) {
  StormDraw draw(seed * 2654435761u + 12345u);
  StormPlan plan;
  plan.seed = seed;
  plan.hostOf = drawHosts(draw);
  FarWorld& world = plan.world;
  world.near = !draw.oneIn(5);
  world.nearCost = draw.of({uint64_t{1000}, uint64_t{100'000}, uint64_t{100'000'000}});
  world.reproducible = draw.oneIn(8);
  plan.tune = drawTune(draw, world.reproducible);
  world.zeroCopy = draw.of({ZeroCopyUse::Auto, ZeroCopyUse::On, ZeroCopyUse::On, ZeroCopyUse::Off});
  world.lanes = draw.of({1, 2, 2, 4});
  world.blocks = draw.of({1, 2, 2, 3});
  world.callsBefore = draw.of({uint64_t{0}, uint64_t{0}, uint64_t{0xfffffff0}, uint64_t{0x7ffffff8},
                               uint64_t{0xffffffff8}});
  // No later: a place that was never answered has 0, which only the first numbers may meet.
  plan.counters = draw.of({0u, 0u, 0xfffffff0u, 0xffffffe8u, 0x7ffffff1u, 0x7ffffff8u});
  plan.streams = draw.of({StormStreams::kOne, StormStreams::kBoth, StormStreams::kOneEach});
  if (!draw.oneIn(3)) drawChild(draw, &plan);
  Calls all(draw, &plan, budget);
  while (all.drawn() < calls) plan.steps.push_back(drawStep(draw, plan, all));
  return plan;
}

}  // namespace rondo::testing
