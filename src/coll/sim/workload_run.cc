#include "coll/sim/workload_run.h"

#include <algorithm>

#include "base/error.h"
#include "coll/sim/output.h"
#include "coll/sim/stage_sends.h"

namespace rondo::sim {
namespace {

constexpr Time kNanosecond = 1000;

double micro(Time time) { return static_cast<double>(time) * 1e-6; }

/// Times of calls on a machine, each simulated once.
class Calls {
 public:
  Calls(const Workload& workload, const topo::Graph& graph, int ranks, const Settings& settings)
      : workload_(workload), graph_(graph), ranks_(ranks), settings_(settings) {
    partsOf(workload, CommGroup::All, ranks);  // whatever is called: the numbers fit
  }

  Time timeOf(const LayerComm& comm) {
    if (comm.none) return 0;
    const CallShape shape{comm.collective, comm.bytes};
    for (WorkloadCall& known : calls_) {
      if (known.group != comm.group || known.shape.key() != shape.key()) continue;
      ++known.times;
      return known.time;
    }
    calls_.push_back(simulate(comm, shape));
    return calls_.back().time;
  }
  std::vector<WorkloadCall> take() { return std::move(calls_); }

 private:
  WorkloadCall simulate(const LayerComm& comm, const CallShape& shape) {
    std::unique_ptr<Rehearsal>& on = machines_[static_cast<size_t>(comm.group)];
    Parts parts = partsOf(workload_, comm.group, ranks_);
    const size_t number = std::max<size_t>(parts.members.size(), 1);
    const int size = parts.whole() ? ranks_ : static_cast<int>(parts.members[0].size());
    WorkloadCall call{comm.group, shape, size, number, 1, "alone", 0};
    if (size == 1) return call;
    if (on == nullptr) {
      on = std::make_unique<Rehearsal>(graph_, ranks_, settings_, std::move(parts));
    }
    const Outcome& best = on->best(shape);
    call.algorithm = best.algorithm->name;
    call.time = best.result.picoseconds;
    call.seenFull = best.result.seenFull;
    call.predicted = best.predicted;
    call.fewerHosts = best.fewerHosts;
    return call;
  }

  const Workload& workload_;
  const topo::Graph& graph_;
  int ranks_;
  Settings settings_;
  std::array<std::unique_ptr<Rehearsal>, kCommGroups> machines_;
  std::vector<WorkloadCall> calls_;
};

int ranksOf(const Workload& workload, const topo::Graph& graph, int asked) {
  if (asked > 0 && workload.ranks > 0 && asked != workload.ranks) {
    throw Error(rondoInvalidArgument,
                format("--ranks is %d, and the workload's all_gpus is %d; allowed: the same, or "
                       "one of them left out",
                       asked, workload.ranks));
  }
  if (asked > 0) return asked;
  return workload.ranks > 0 ? workload.ranks : placesOn(graph);
}

/// The step's clock: one thing is computed at a time, and calls that are not waited for run one
/// after the other. Updates of weights are computed at the end, each once its call is over.
class Clock {
 public:
  void compute(uint64_t nanoseconds) { now += nanoseconds * kNanosecond; }
  void call(Time time, LayerTimes* layer) {
    now = after(now, time);
    layer->exposed += time;
  }
  void callBeside(Time time) { free_ = after(std::max(free_, now), time); }
  /// Of a layer whose weight gradient is there, and its call, if it has one, has begun.
  void update(uint64_t nanoseconds, bool called) {
    updates_.push_back({called ? free_ : now, nanoseconds * kNanosecond});
  }
  Time end() const {
    std::vector<Update> updates = updates_;
    std::stable_sort(updates.begin(), updates.end(),
                     [](const Update& a, const Update& b) { return a.ready < b.ready; });
    Time end = now;
    for (const Update& update : updates) end = after(std::max(end, update.ready), update.time);
    return std::max(end, free_);
  }

  Time now = 0;

 private:
  struct Update {
    Time ready, time;
  };
  static Time after(Time begin, Time time) {
    if (time > kMostTime || begin > kMostTime) refuseTime("the step");
    return begin + time;
  }
  Time free_ = 0;
  std::vector<Update> updates_;
};

std::string line(const Layer& layer, const LayerTimes& t) {
  const auto compute = static_cast<double>(layer.forward + layer.inputGradient +
                                           layer.weightGradient + layer.update) *
                       1e-3;
  return format("%-32.32s %14.1f %12.1f %12.1f %12.1f %12.1f\n", layer.name.c_str(), compute,
                micro(t.forwardComm), micro(t.inputComm), micro(t.weightComm), micro(t.exposed));
}

/// What a stage does when nothing keeps it waiting.
struct Pass {
  Time forward = 0, backward = 0;
  Time after = 0;  ///< Until the last weight gradient's call and update have ended, too.
  Time compute = 0, again = 0;
};

/// The layers of one stage, all of them forwards and then backwards.
class StagePass {
 public:
  StagePass(const Workload& workload, size_t first, size_t end, Calls* calls,
            std::vector<LayerTimes>* times)
      : workload_(workload), first_(first), end_(end), calls_(*calls), times_(*times) {}

  Pass run() {
    for (size_t i = first_; i < end_; ++i) forwards(i, &out_.compute);
    out_.forward = clock_.now;
    for (size_t i = end_; i-- > first_;) backwards(i);
    out_.backward = clock_.now - out_.forward;
    out_.compute += out_.again;
    out_.after = clock_.end() - clock_.now;
    return out_;
  }

 private:
  void forwards(size_t i, Time* compute) {
    const Layer& layer = workload_.layers[i];
    times_[i].forwardComm = calls_.timeOf(layer.forwardComm);
    *compute += layer.forward * kNanosecond;
    clock_.compute(layer.forward);
    clock_.call(times_[i].forwardComm, &times_[i]);
  }

  void backwards(size_t i) {
    const Layer& layer = workload_.layers[i];
    LayerTimes& times = times_[i];
    // What another stage has computed is not computed again.
    for (size_t j = std::max(workload_.againFrom(i), first_); j < i; ++j) forwards(j, &out_.again);
    times.inputComm = calls_.timeOf(layer.inputComm);
    times.weightComm = calls_.timeOf(layer.weightComm);
    out_.compute += (layer.inputGradient + layer.weightGradient + layer.update) * kNanosecond;
    if (workload_.weightFirst()) weight(layer, times);
    clock_.compute(layer.inputGradient);
    clock_.call(times.inputComm, &times);
    if (!workload_.weightFirst()) weight(layer, times);
  }

  void weight(const Layer& layer, const LayerTimes& times) {
    clock_.compute(layer.weightGradient);
    if (!layer.weightComm.none) clock_.callBeside(times.weightComm);
    clock_.update(layer.update, !layer.weightComm.none);
  }

  const Workload& workload_;
  size_t first_, end_;
  Calls& calls_;
  std::vector<LayerTimes>& times_;
  Clock clock_;
  Pass out_;
};

/// Stages take turns, and wait for each other.
void addBubbles(const Workload& workload, const topo::Graph& graph, const Settings& settings,
                const std::vector<Pass>& passes, WorkloadTimes* out) {
  Pipeline& pipeline = out->pipeline;
  if (workload.pipelineBytes > 0) {
    const Rehearsal all(graph, out->ranks, settings);
    pipeline.send = stageSend(all, out->ranks / workload.pipeline, workload.pipelineBytes);
    out->stageSends = 2 * static_cast<uint64_t>(workload.virtualStages) *
                      static_cast<uint64_t>(workload.accumulation);
  }
  // No stage waits for more than all of another's work and messages.
  const auto stages = static_cast<unsigned __int128>(pipeline.stages);
  const auto messages = static_cast<unsigned __int128>(out->stageSends) + 2;
  if (stages * (out->total + messages * pipeline.send) > kMostTime) {
    refuseTime("the step");
  }
  out->run = runPipeline(pipeline);
  Pipeline silent = pipeline;
  silent.send = 0;
  out->silentWait = pipeline.send == 0 ? out->run.waitingPart() : runPipeline(silent).waitingPart();
  out->total = 0;
  for (size_t s = 0; s < out->run.ends.size(); ++s) {
    out->total =
        std::max(out->total, out->run.ends[s] + passes[std::min(s, passes.size() - 1)].after);
  }
}

}  // namespace

WorkloadTimes timeWorkload(const Workload& workload, const topo::Graph& graph, int ranks,
                           const Settings& settings) {
  WorkloadTimes out;
  out.ranks = ranksOf(workload, graph, ranks);
  Calls calls(workload, graph, out.ranks, settings);
  out.pipeline = {workload.pipeline, workload.virtualStages, workload.accumulation, 0, 0, 0};
  out.layers.resize(workload.layers.size());
  std::vector<int> stages = workload.layersOfStages;
  const bool differ = !stages.empty();
  if (!differ) stages.push_back(static_cast<int>(workload.layers.size()));
  std::vector<Pass> passes;
  size_t first = 0;
  for (const int layers : stages) {
    const size_t end = first + static_cast<size_t>(layers);
    passes.push_back(StagePass(workload, first, end, &calls, &out.layers).run());
    first = end;
  }
  for (const Pass& pass : passes) {
    out.compute += pass.compute;
    out.again += pass.again;
    out.total = std::max(out.total, pass.forward + pass.backward + pass.after);
    if (differ) out.pipeline.each.push_back({pass.forward, pass.backward});
  }
  out.compute /= passes.size();
  out.again /= passes.size();
  out.pipeline.forward = passes[0].forward;
  out.pipeline.backward = passes[0].backward;
  if (workload.pipeline > 1) addBubbles(workload, graph, settings, passes, &out);
  out.calls = calls.take();
  return out;
}

namespace {

/// A line for each stage, where they differ.
std::string stagesText(const Workload& workload, const WorkloadTimes& times) {
  if (times.pipeline.each.empty() || times.run.ends.empty()) return "";
  std::string out = format("\n%-8s %8s %14s %14s %14s\n", "stage", "layers", "forward, us",
                           "backward, us", "waits, us");
  for (size_t s = 0; s < times.pipeline.each.size(); ++s) {
    const Pipeline::Stage& stage = times.pipeline.each[s];
    out += format("%-8zu %8d %14.1f %14.1f %14.1f\n", s, workload.layersOfStages[s],
                  micro(stage.forward), micro(stage.backward),
                  micro(times.run.end - stage.forward - stage.backward));
  }
  return out;
}

}  // namespace

std::string workloadText(const Workload& workload, const WorkloadTimes& times) {
  std::string out = format("%s, %d ranks: model %d, expert %d, pipeline %d, data %d\n",
                           workload.policy.c_str(), times.ranks, workload.model, workload.expert,
                           workload.pipeline, times.ranks / workload.pipeline / workload.model);
  out += format("%-14s %-12s %6s %6s %14s %6s %-10s %12s %10s\n", "call", "group", "ranks",
                "groups", "bytes", "times", "algorithm", "us each", "bus GB/s");
  for (const WorkloadCall& call : times.calls) {
    const double bus = busBandwidth(call.shape.collective, call.ranks, call.shape.bytes, call.time);
    out += format("%-14s %-12s %6d %6zu %14llu %6zu %-10s %12.1f %10.2f\n",
                  collectiveName(call.shape.collective), commGroupName(call.group), call.ranks,
                  call.parts, static_cast<unsigned long long>(call.shape.bytes), call.times,
                  call.algorithm, micro(call.time), bus * 1e-9);
    if (!call.seenFull)
      out += "               its pipeline was not seen full, and its time is rough\n";
    if (call.fewerHosts > 0) {
      out += format("               too long to be simulated, drawn on from %d and %d hosts\n",
                    call.fewerHosts / 2, call.fewerHosts);
    } else if (call.predicted) {
      out += "               too long to be simulated, as the planner predicts it\n";
    }
  }
  out += format("\n%-32s %14s %12s %12s %12s %12s\n", "layer, us", "computing", "forward",
                "input grad.", "weight grad.", "exposed");
  Time blocking = 0;
  for (size_t i = 0; i < times.layers.size(); ++i) {
    out += line(workload.layers[i], times.layers[i]);
    blocking += times.layers[i].exposed;
  }
  blocking /= std::max<size_t>(workload.layersOfStages.size(), 1);  // a stage's, in the mean
  const Pipeline& pipeline = times.pipeline;
  out += stagesText(workload, times);
  if (pipeline.stages > 1) {
    out += format("\npipeline       %16.1f us waiting for other stages, %.1f %% of their %.1f us",
                  micro(times.run.bubble), 100 * times.run.waitingPart(), micro(times.run.end));
    out += pipeline.each.empty()
               ? format("; %.1f %% would be if messages took no time\n", 100 * times.silentWait)
               : ", in the mean over the stages\n";
  }
  if (times.stageSends > 0) {
    out += format("pipeline's sends %14s %llu of %llu bytes, %.1f us each\n", "",
                  static_cast<unsigned long long>(times.stageSends),
                  static_cast<unsigned long long>(workload.pipelineBytes), micro(pipeline.send));
  }
  if (times.again > 0) {
    out += format("\nfrom checkpoints %14.1f us are computed again\n", micro(times.again));
  }
  out += format(
      "\ncomputing      %16.1f us\nexposed calls  %16.1f us, of which at the end, for "
      "weight gradients, %.1f us\nstep           %16.1f us\n",
      micro(times.compute), micro(times.exposed()), micro(times.exposed() - blocking),
      micro(times.total));
  return out;
}

}  // namespace rondo::sim
