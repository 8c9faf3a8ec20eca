#include "device_timer.h"

#include <algorithm>
#include <chrono>

#include "errors.h"

namespace rondo::bench {
namespace {

constexpr size_t kCheckedSets = 8;

/// A captured batch of calls.
class Graph {
 public:
  Graph(const Device& device, const std::function<void()>& work) : cuda_(device.cuda()) {
    cuda_.check(cuda_.beginCapture(device.stream(), kCuCaptureThreadLocal), "cuStreamBeginCapture");
    try {
      work();
    } catch (...) {
      cuda_.endCapture(device.stream(), &graph_);
      if (graph_ != nullptr) cuda_.graphDestroy(graph_);
      throw;
    }
    cuda_.check(cuda_.endCapture(device.stream(), &graph_), "cuStreamEndCapture");
    const CuResult result = cuda_.graphInstantiate(&exec_, graph_, 0);
    cuda_.graphDestroy(graph_);
    cuda_.check(result, "cuGraphInstantiateWithFlags");
  }
  ~Graph() { cuda_.graphExecDestroy(exec_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(CuStream stream) const {
    cuda_.check(cuda_.graphLaunch(exec_, stream), "cuGraphLaunch");
  }

 private:
  const CudaDriver& cuda_;
  CuGraph graph_ = nullptr;
  CuGraphExec exec_ = nullptr;
};

/// Calls on `calls` sets of a ring of `sets`, from `first` on.
void callSets(const Trial& trial, size_t contender, size_t first, size_t calls, size_t sets) {
  for (size_t i = 0; i < calls; ++i) {
    trial.contenders[contender].call(trial.onSet((first + i) % sets));
  }
}

}  // namespace

/// For each library as many graphs as it takes to go round the ring until one would begin anew.
class DeviceTimer::Graphs {
 public:
  Graphs(const Device& device, const Trial& trial, size_t calls)
      : turns_(graphTurns(trial.ring.sets(), calls)) {
    perContender_.resize(trial.contenders.size());
    for (size_t c = 0; c < trial.contenders.size(); ++c) {
      for (size_t g = 0; g < turns_.graphs; ++g) {
        perContender_[c].push_back(std::make_unique<Graph>(
            device, [&] { callSets(trial, c, g * calls, calls, turns_.sets); }));
      }
    }
  }
  size_t sets() const { return turns_.sets; }
  const Graph& at(size_t contender, size_t sample) const {
    return *perContender_[contender][sample % turns_.graphs];
  }

 private:
  GraphTurns turns_;
  std::vector<std::vector<std::unique_ptr<Graph>>> perContender_;
};

DeviceTimer::DeviceTimer(const Device& device, int calls, Launch how)
    : device_(device), calls_(static_cast<size_t>(calls)), how_(how) {
  device_.cuda().check(device_.cuda().eventCreate(&start_, 0), "cuEventCreate");
  device_.cuda().check(device_.cuda().eventCreate(&end_, 0), "cuEventCreate");
}

DeviceTimer::~DeviceTimer() {
  device_.cuda().eventDestroy(start_);
  device_.cuda().eventDestroy(end_);
}

void DeviceTimer::check(const Trial& trial, std::vector<Samples>& samples) {
  const size_t sets = std::min(trial.ring.sets(), kCheckedSets);
  for (size_t c = 0; c < trial.contenders.size(); ++c) {
    for (size_t set = 0; set < sets; ++set) {
      trial.ring.prepare(set);
      if (trial.check) trial.ring.guard(set);
    }
    trial.session.barrier();
    callSets(trial, c, 0, sets, sets);
    device_.synchronize();
    if (!trial.check) continue;
    for (size_t set = 0; set < sets; ++set) {
      samples[c].wrong += trial.ring.countWrong(set) + trial.ring.countStrays(set);
    }
  }
}

void DeviceTimer::launch(const Trial& trial, size_t contender, size_t sample,
                         const Graphs* graphs) {
  if (graphs != nullptr) {
    graphs->at(contender, sample).launch(device_.stream());
  } else {
    callSets(trial, contender, sample * calls_, calls_, trial.ring.sets());
  }
}

double DeviceTimer::timeOne(const Trial& trial, size_t contender, size_t sample,
                            const Graphs* graphs) {
  const CudaDriver& cuda = device_.cuda();
  trial.pause();
  trial.session.barrier();
  if (how_ == Launch::kAwaited) return timeAwaited(trial, contender, sample);
  cuda.check(cuda.eventRecord(start_, device_.stream()), "cuEventRecord");
  launch(trial, contender, sample, graphs);
  cuda.check(cuda.eventRecord(end_, device_.stream()), "cuEventRecord");
  device_.synchronize();
  float milliseconds = 0;
  cuda.check(cuda.eventElapsed(&milliseconds, start_, end_), "cuEventElapsedTime");
  return milliseconds * 1000.0 / static_cast<double>(calls_);
}

/// As a program that needs each result: Rondo's end is asked of Rondo, others' of the stream.
void DeviceTimer::callAwaited(const Trial& trial, size_t contender, bool ours, size_t first,
                              size_t calls) const {
  constexpr unsigned kLinger = 30;
  const rondoComm_t comm = trial.session.rondo();
  const size_t sets = trial.ring.sets();
  for (size_t i = 0; i < calls; ++i) {
    int willing = 0, state = RONDO_AWAITED_ON_STREAM;
    if (ours) checkRondo(rondoCommAwaitNext(comm, kLinger, &willing), "rondoCommAwaitNext", comm);
    callSets(trial, contender, first + i, 1, sets);
    if (willing != 0) {
      do {
        checkRondo(rondoCommAwaited(comm, &state), "rondoCommAwaited", comm);
      } while (state == RONDO_AWAITED_RUNS);
    }
    if (state == RONDO_AWAITED_ON_STREAM) device_.synchronize();
  }
}

double DeviceTimer::timeAwaited(const Trial& trial, size_t contender, size_t sample) const {
  const bool ours = trial.contenders[contender].library == kRondoName;
  const auto begin = std::chrono::steady_clock::now();
  callAwaited(trial, contender, ours, sample * calls_, calls_);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  device_.synchronize();  // a kernel that stays would be in the way of what comes next
  return spent.count() / static_cast<double>(calls_);
}

/// Repeats the last sample on fresh values and checks what it leaves. In place a set that a sample
/// meets twice holds a result of a result, so only sets that it meets once are looked at.
uint64_t DeviceTimer::checkLast(const Trial& trial, size_t contender, size_t sample,
                                const Graphs* graphs) {
  const size_t sets = graphs != nullptr ? graphs->sets() : trial.ring.sets();
  const size_t first = sample * calls_;
  const bool inPlace = trial.ring.inPlace();
  trial.ring.prepareAll();
  trial.session.barrier();
  if (how_ == Launch::kAwaited) return checkAwaited(trial, contender, first);
  launch(trial, contender, sample, graphs);
  device_.synchronize();
  std::vector<int> uses(sets, 0);
  for (size_t i = 0; i < calls_; ++i) ++uses[(first + i) % sets];
  uint64_t wrong = 0;
  for (size_t set = 0; set < sets; ++set) {
    if (uses[set] == 1 || (uses[set] > 1 && !inPlace)) wrong += trial.ring.countWrong(set);
  }
  return wrong;
}

/// Calls that are waited for one by one, as those that were timed, but on each set at most once, so
/// that none finds another's result. The last one's is read at once, while a kernel may still stay:
/// it is said to be there.
uint64_t DeviceTimer::checkAwaited(const Trial& trial, size_t contender, size_t first) const {
  const size_t sets = trial.ring.sets();
  const size_t calls = std::min(calls_, sets);
  callAwaited(trial, contender, trial.contenders[contender].library == kRondoName, first, calls);
  uint64_t wrong = trial.ring.countWrong((first + calls - 1) % sets);
  device_.synchronize();
  for (size_t i = 0; i + 1 < calls; ++i) wrong += trial.ring.countWrong((first + i) % sets);
  return wrong;
}

double DeviceTimer::rounds(const Trial& trial, int iterations, bool keep,
                           const OnProgress& progress, std::vector<Samples>& samples) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Graphs> graphs;
  if (how_ == Launch::kGraph) graphs = std::make_unique<Graphs>(device_, trial, calls_);
  const size_t contenders = trial.contenders.size();
  for (int round = 0; round < iterations; ++round) {
    progress(round, iterations);
    for (size_t place = 0; place < contenders; ++place) {
      const size_t c = alternating(static_cast<size_t>(round), place, contenders);
      const size_t sample = static_cast<size_t>(round) * contenders + place;
      const double usec = timeOne(trial, c, sample, graphs.get());
      if (keep) samples[c].usec.push_back(usec);
    }
  }
  if (keep && trial.check) {
    for (size_t c = 0; c < contenders; ++c) {
      samples[c].wrong += checkLast(trial, c, static_cast<size_t>(iterations), graphs.get());
    }
  }
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace rondo::bench
