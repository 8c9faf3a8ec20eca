#include "coll/sim/engine.h"

#include <algorithm>

#include "base/error.h"
#include "topo/graph.h"

namespace rondo::sim {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

size_t workersOf(const Compact& plans) {
  const auto works = [](const std::vector<CompactStep>& program) { return !program.empty(); };
  return static_cast<size_t>(std::count_if(plans.full.begin(), plans.full.end(), works));
}

/// Each message of what goes to, or comes from, everyone counts.
uint64_t stepsOfPeriod(const Compact& plans) {
  const auto others = static_cast<uint64_t>(std::max(plans.partRanks - 1, 1));
  uint64_t steps = 0;
  for (const std::vector<CompactStep>& program : plans.full) {
    for (const CompactStep& step : program) {
      steps += step.toAll || step.kind == StepKind::Reduce ? others : 1;
    }
  }
  return steps;
}

uint64_t perKiB(uint64_t bytes, uint64_t cost) { return bytes * cost / 1024; }

std::vector<uint64_t> capacities(const topo::Graph& graph, const Costs& costs) {
  std::vector<uint64_t> out;
  for (const topo::Link& link : graph.links()) {
    uint64_t bytes = link.bytesPerSecond;
    if (link.kind == topo::LinkKind::NvLink) bytes = bytes / 100 * costs.nvLinkPercent;
    out.insert(out.end(), 2, std::max<uint64_t>(bytes, 1));
  }
  return out;
}

}  // namespace

Engine::Engine(const Job& job, const Compact& plans)
    : job_(job),
      plans_(plans),
      periods_(job.periods == 0 ? plans.fullPeriods : std::min(job.periods, plans.fullPeriods)),
      routes_(*job.graph, job.places),
      links_(capacities(*job.graph, job.costs), job.recordLinks),
      channels_(plans.channels.size()),
      processes_(plans.full.size()),
      ranks_(at(plans.ranks)),
      arrivedAtBarrier_(at(plans.lanes) * std::max<size_t>(job.parts.members.size(), 1)),
      times_(plans.full.size(), workersOf(plans)),
      fullBytes_(job.graph->arcs()),
      lastBytes_(job.graph->arcs()) {
  const uint64_t steps = std::max<uint64_t>(stepsOfPeriod(plans), 1);
  mostPeriods_ = std::max(periods_, std::min<Count>(plans.fullPeriods, job.stepsToFull / steps));
  for (size_t p = 0; p < processes_.size(); ++p) {
    if (plans.full[p].empty()) processes_[p].period = plans.fullPeriods;
  }
  for (const auto& runs : plans.fullRuns) fullHalves_.emplace_back(runs.size());
  for (const auto& runs : plans.lastRuns) lastHalves_.emplace_back(runs.size());
  for (size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].route = routes_.find(plans.channels[c].from, plans.channels[c].to);
  }
}

Result Engine::run() {
  now_ = job_.costs.launch;
  for (size_t p = 0; p < processes_.size(); ++p) {
    processes_[p].ready = now_;
    wake(static_cast<int32_t>(p));
  }
  for (;;) {
    links_.settle(now_);
    const Time event = events_.empty() ? FairLinks::kNever : events_.top().time;
    const Time end = links_.nextEnd();
    if (event == FairLinks::kNever && end == FairLinks::kNever) break;
    now_ = std::min(event, end);
    if (now_ > kMostTime) refuseTime("the call");
    // All that happens at one time shares links anew once.
    uint64_t channel = 0;
    while (links_.takeEnded(now_, &channel)) sent(static_cast<int32_t>(channel));
    while (!events_.empty() && events_.top().time <= now_) {
      const Event first = events_.top();
      events_.pop();
      ++result_.events;
      handle(first);
    }
  }
  return report();
}

void Engine::handle(const Event& event) {
  switch (event.what) {
    case What::Post:
      return postAll(event.index, *current(event.index));
    case What::Work: {
      Process& p = processes_[at(event.index)];
      p.phase = Phase::Sending;
      if (p.unsent == 0) finish(event.index);
      return;
    }
    case What::Arrival:
    case What::SignalArrival: {
      ChannelState& channel = channels_[at(event.index)];
      (event.what == What::Arrival ? channel.arrived : channel.signals)++;
      const Channel& ends = plans_.channels[at(event.index)];
      return wake(ends.to * plans_.lanes + ends.lane);
    }
    case What::Credit: {
      ++channels_[at(event.index)].freed;
      const Channel& ends = plans_.channels[at(event.index)];
      return wake(ends.from * plans_.lanes + ends.lane);
    }
    case What::Barrier:
      return finish(event.index);
  }
}

const CompactStep* Engine::current(int32_t process) const {
  const Process& p = processes_[at(process)];
  const std::vector<CompactStep>& steps = program(p, at(process));
  return p.step < steps.size() ? &steps[p.step] : nullptr;
}

/// Goes on with a process that can, unless its rank's thread is elsewhere.
void Engine::wake(int32_t process) {
  if (processes_[at(process)].phase != Phase::Ready) return;
  Rank& rank = ranks_[at(rankOf(process))];
  if (job_.costs.oneThread && rank.worker >= 0) {
    if (std::find(rank.queue.begin(), rank.queue.end(), process) == rank.queue.end()) {
      rank.queue.push_back(process);
    }
    return;
  }
  advance(process);
}

void Engine::advance(int32_t process) {
  Process& p = processes_[at(process)];
  const CompactStep* step = current(process);
  while (step == nullptr) {  // the period's end
    if (!inFull(p)) {
      p.phase = Phase::Finished;
      result_.picoseconds = std::max(result_.picoseconds, now_);
      return;
    }
    leavePeriod(process);
    p.step = 0;
    step = current(process);
  }
  if (ready(*step)) begin(process, *step);
}

/// The first process to leave the last full period goes on with more if the pipeline was not seen
/// full.
void Engine::leavePeriod(int32_t process) {
  Process& p = processes_[at(process)];
  times_.leave(at(process), now_);
  ++p.period;
  if (p.period != periods_ || closed_) return;
  closed_ = times_.firstLeft(plans_.fullPeriods - periods_, now_) || periods_ == mostPeriods_;
  if (!closed_) periods_ = std::min(2 * periods_, mostPeriods_);
  if (closed_) result_.leftOutAt = now_;
}

bool Engine::hasSlot(const CompactStep& step) const {
  if (step.kind == StepKind::Signal) return true;
  bool has = true;
  forOutputs(step, [&](int32_t index) {
    const ChannelState& channel = channels_[at(index)];
    has = has && channel.posted - channel.freed < static_cast<uint32_t>(std::max(job_.depth, 0));
  });
  return has;
}

bool Engine::ready(const CompactStep& step) const {
  bool there = true;
  if (step.kind == StepKind::Wait) {
    const ChannelState& channel = channels_[at(step.in)];
    return channel.signals > channel.signalsTaken;
  }
  forInputs(step, [&](int32_t index) {
    there = there && channels_[at(index)].arrived > channels_[at(index)].taken;
  });
  return there && hasSlot(step);
}

/// What comes before the data move.
Time Engine::fixedWork(const CompactStep& step) const {
  const uint64_t messages =
      step.kind == StepKind::Reduce ? step.reads : (step.in >= 0) + (step.in2 >= 0);
  if (step.kind == StepKind::Signal) return 0;
  return job_.costs.step + (step.kind == StepKind::Wait ? 0 : messages * job_.costs.message);
}

/// What moving and reducing the data take where no link holds them up.
Time Engine::work(const CompactStep& step) const {
  const Costs& costs = job_.costs;
  const bool sends = (step.bits & algo::kSend) != 0;
  switch (step.kind) {
    case StepKind::Put:
    case StepKind::Fetch:
      return perKiB(step.bytes, costs.copyPerKiB);
    case StepKind::Reduce:
      return perKiB(step.bytes, costs.reducePerKiB) * step.reads +
             (sends ? perKiB(step.bytes, costs.handOnPerKiB) : 0);
    case StepKind::Move: {
      const bool receives = (step.bits & algo::kRecv) != 0;
      const bool reduces = receives && (step.bits & (algo::kSrc | algo::kOwn)) != 0;
      const bool again = !receives && (step.bits & algo::kOwn) != 0;
      Time time = perKiB(step.bytes, reduces ? costs.reducePerKiB
                                     : again ? costs.handOnPerKiB
                                             : costs.copyPerKiB);
      if (step.in2 >= 0) time += perKiB(step.bytes, costs.reducePerKiB);
      if (receives && sends) time += perKiB(step.bytes, costs.handOnPerKiB);
      // Of the caller's data one copy is sent and one stays.
      const bool stays = !receives && (step.bits & algo::kDst) != 0;
      if (stays && sends) time += perKiB(step.bytes, costs.copyPerKiB);
      return time;
    }
    default:
      return 0;
  }
}

void Engine::begin(int32_t process, const CompactStep& step) {
  Process& p = processes_[at(process)];
  Rank& rank = ranks_[at(rankOf(process))];
  if (job_.costs.oneThread) rank.worker = process;
  p.phase = Phase::Working;
  p.start = now_;
  p.unsent = 0;
  take(process, step);
  if (step.kind == StepKind::Barrier) return barrier(process);
  forOutputs(step, [&](int32_t) { ++p.unsent; });
  const Time fixed = fixedWork(step);
  const Time done = now_ + fixed + work(step);
  if (p.unsent > 0) {
    if (fixed > 0)
      push(now_ + fixed, What::Post, process);
    else
      postAll(process, step);
  }
  push(done, What::Work, process);
}

/// The step's messages are its own from now on; their slots are free when it is done.
void Engine::take(int32_t process, const CompactStep& step) {
  Process& p = processes_[at(process)];
  p.took = -1;
  if (step.kind == StepKind::Wait) {
    ++channels_[at(step.in)].signalsTaken;
    return;
  }
  forInputs(step, [&](int32_t index) {
    ChannelState& channel = channels_[at(index)];
    ++channel.taken;
    if (!job_.record || channel.transfers.empty()) return;
    p.took = std::max(p.took, channel.transfers.front());
    channel.transfers.pop_front();
  });
}

void Engine::release(const CompactStep& step) {
  if (step.kind == StepKind::Wait) return;
  forInputs(step, [&](int32_t index) {
    push(now_ + routes_.at(channels_[at(index)].route).latency, What::Credit, index);
  });
}

void Engine::postAll(int32_t process, const CompactStep& step) {
  Process& p = processes_[at(process)];
  const bool signal = step.kind == StepKind::Signal;
  forOutputs(step, [&](int32_t index) {
    Item item{step.bytes, signal, process, inFull(p), -1, step.times};
    const Channel& ends = plans_.channels[at(index)];
    // A card sends on by itself.
    if (signal || routes_.at(channels_[at(index)].route).network) {
      item.sender = -1;
      --p.unsent;
    }
    if (job_.record && !signal) {
      item.transfer = static_cast<int64_t>(result_.transfers.size());
      result_.transfers.push_back(
          {ends.from, ends.to, ends.lane, p.period, step.bytes, now_, now_, p.took});
    }
    post(index, item);
  });
}

void Engine::post(int32_t index, const Item& item) {
  ChannelState& channel = channels_[at(index)];
  if (!item.signal) {
    ++channel.posted;
    result_.messages += item.times;
  }
  channel.waiting.push_back(item);
  if (!channel.busy) next(index);
}

/// Begins with what a channel has to carry next.
void Engine::next(int32_t index) {
  ChannelState& channel = channels_[at(index)];
  while (!channel.waiting.empty()) {
    Item& item = channel.waiting.front();
    const Route& route = routes_.at(channel.route);
    if (item.transfer >= 0) result_.transfers[at(item.transfer)].start = now_;
    if (item.bytes > 0 && !item.signal && !route.arcs.empty()) {
      channel.busy = true;
      auto& bytes = item.fullPeriod ? fullBytes_ : lastBytes_;
      for (const topo::Arc arc : route.arcs) bytes[at(arc)] += uint64_t{item.bytes} * item.times;
      links_.start(&route.arcs, item.bytes, static_cast<uint64_t>(index), now_);
      return;
    }
    sent(index);
    return;
  }
}

/// A channel's first item has left, and is there a latency later.
void Engine::sent(int32_t index) {
  ChannelState& channel = channels_[at(index)];
  const Item item = channel.waiting.front();
  channel.waiting.pop_front();
  channel.busy = false;
  const Route& route = routes_.at(channel.route);
  const Costs& costs = job_.costs;
  const Time flag = item.signal ? costs.signalHop : costs.hop;
  const Time there = now_ + route.latency + flag + (route.network ? costs.networkHop : 0);
  if (item.transfer >= 0) {
    result_.transfers[at(item.transfer)].end = now_ + route.latency;
    channel.transfers.push_back(item.transfer);
  }
  push(there, item.signal ? What::SignalArrival : What::Arrival, index);
  next(index);
  if (item.sender < 0) return;
  Process& p = processes_[at(item.sender)];
  if (--p.unsent == 0 && p.phase == Phase::Sending) finish(item.sender);
}

void Engine::barrier(int32_t process) {
  Process& p = processes_[at(process)];
  p.phase = Phase::AtBarrier;
  letGo(process);  // the rank's other lanes go on meanwhile
  const int lane = process % plans_.lanes, rank = rankOf(process);
  const int part = job_.parts.whole() ? 0 : job_.parts.of[at(rank)];
  int& arrived = arrivedAtBarrier_[at(part * plans_.lanes + lane)];
  if (++arrived < plans_.partRanks) return;
  arrived = 0;
  const auto member = [&](int number) {
    return job_.parts.whole() ? number : job_.parts.members[at(part)][at(number)];
  };
  Time far = 0;
  const int last = plans_.partRanks - 1;
  if (last > 0) far = routes_.at(routes_.find(member(0), member(last))).latency;
  const Time flags = job_.costs.message * static_cast<Time>(last);
  for (int number = 0; number <= last; ++number) {
    push(now_ + far + job_.costs.signalHop + flags, What::Barrier,
         member(number) * plans_.lanes + lane);
  }
}

/// A step is done: its slots are free, and its rank's thread takes what waits for it first.
void Engine::finish(int32_t process) {
  Process& p = processes_[at(process)];
  const CompactStep& step = *current(process);
  release(step);
  if (!plans_.lastRuns.empty()) measure(process);
  if (job_.record) {
    result_.spans.push_back({rankOf(process), process % plans_.lanes, p.period, step.kind,
                             step.bits, p.ready, p.start, now_});
  }
  ++p.step;
  p.ready = now_;
  p.phase = Phase::Ready;
  letGo(process);
  wake(process);
}

/// Gives the rank's thread to what has waited for it.
void Engine::letGo(int32_t process) {
  Rank& rank = ranks_[at(rankOf(process))];
  if (rank.worker != process) return;
  rank.worker = -1;
  std::vector<int32_t> queue;
  queue.swap(rank.queue);
  for (const int32_t waiting : queue) wake(waiting);
}

namespace {

/// Beyond so many steps a few periods are tried first: 4,096 ranks' rings take 1.4 s of CPU time a
/// period and are steady from the second one on (stripes, 2026-11-22).
constexpr uint64_t kManySteps = 4'000'000;
constexpr Count kFewPeriods = 4;

}  // namespace

Result simulate(const Job& job) {
  const Compact plans = compact(job);
  const Count periods =
      job.periods == 0 ? plans.fullPeriods : std::min(job.periods, plans.fullPeriods);
  if (!job.record && job.periods > kFewPeriods && periods > kFewPeriods &&
      stepsOfPeriod(plans) * periods > kManySteps) {
    Job few = job;
    few.periods = kFewPeriods;
    few.stepsToFull = 0;
    Engine engine(few, plans);
    Result result = engine.run();
    if (result.blocked.empty() && engine.steady()) return result;
  }
  Result result = Engine(job, plans).run();
  const bool cut = !plans.lastRuns.empty();
  if (result.blocked.empty() || !cut) return result;
  Job whole = job;  // whether it really stands still, and where
  whole.repeats = 0;
  return simulate(whole);
}

}  // namespace rondo::sim
