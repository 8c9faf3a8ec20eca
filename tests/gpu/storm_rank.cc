#include "gpu/storm_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "api/handle.h"
#include "coll/flight_view.h"

namespace rondo::testing {
namespace {

constexpr size_t kLooseBytes = 160u << 20, kKeptBytes = 64u << 20;

uint32_t stampOf(const StormCall& call, uint32_t launch) {
  return (static_cast<uint32_t>(call.serial) + 64 * launch) & 0xff;
}

/// The last launches on a communicator, and what served them.
std::string launchesOf(rondoComm_t of, int rank) {
  constexpr size_t kMost = 6;
  std::string text;
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != of->impl->recorder().id() || comm.rank != rank) continue;
      for (size_t i = comm.device.size() - std::min(kMost, comm.device.size());
           i < comm.device.size(); ++i) {
        const OpFacts& facts = comm.device[i].facts;
        text += "\n  launched " + flightText(facts) + ": " + facts.served();
      }
    }
  }
  return text;
}

}  // namespace

GpuStormRank::GpuStormRank(GpuStormShared& shared, int rank)
    : shared_(shared),
      storm_(shared.storm),
      rank_(rank),
      own_(storm_.seed * 31 + static_cast<uint32_t>(rank)),
      loose_(kLooseBytes),
      kept_(kKeptBytes),
      streams_(shared.streams[static_cast<size_t>(rank)]),
      events_(64),
      graphs_(kStormGraphs) {
  for (cudaEvent_t& each : events_) {
    need(cudaEventCreateWithFlags(&each, cudaEventDisableTiming), "an event");
  }
  makeComms();
}

GpuStormRank::~GpuStormRank() {
  for (Comm& each : comms_) {
    if (each.comm == nullptr) continue;
    rondoRedOpDestroy(each.scaled, each.comm);
  }
  for (Graph& graph : graphs_) {
    if (graph.exec != nullptr) cudaGraphExecDestroy(graph.exec);
  }
  meet();
  for (Comm& each : comms_) {
    if (each.comm != nullptr) good(rondoCommDestroy(each.comm), "rondoCommDestroy");
  }
  meet();  // what frees memory waits for the device: nobody's kernel may wait for a peer now
  for (cudaEvent_t each : events_) cudaEventDestroy(each);
}

void GpuStormRank::makeComms() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.hostId = storm_.hosts[static_cast<size_t>(rank_)].c_str();
  config.tune = storm_.tune.c_str();
  for (int k = 0; k < 2; ++k) {
    if (rank_ == 0) good(rondoGetUniqueId(&shared_.ids[k]), "rondoGetUniqueId");
    meet();
    good(rondoCommInitRankConfig(&comms_[k].comm, storm_.ranks(), shared_.ids[k], rank_, &config),
         "rondoCommInitRankConfig");
  }
  good(rondoCommSplit(comms_[0].comm, storm_.colors[static_cast<size_t>(rank_)], rank_,
                      &comms_[2].comm, nullptr),
       "rondoCommSplit");
  for (Comm& each : comms_) {
    if (each.comm == nullptr) continue;
    int device = -1;
    rondoCommUserRank(each.comm, &each.rank);
    rondoCommCount(each.comm, &each.size);
    rondoCommCuDevice(each.comm, &device);
    EXPECT_GE(device, 0) << storm_.text();
    const int32_t scalar = stormScalar(each.rank);
    good(rondoRedOpCreatePreMulSum(&each.scaled, &scalar, rondoInt32, rondoScalarHostImmediate,
                                   each.comm),
         "rondoRedOpCreatePreMulSum");
  }
  meet();
}

void GpuStormRank::good(rondoResult_t result, const std::string& what) {
  if (result == rondoSuccess) return;
  giveUp(storm_.text() + ": rank " + std::to_string(rank_) + ", step " + std::to_string(at_) +
         ", " + what + ": " + rondoGetLastError(nullptr));
}
void GpuStormRank::good(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  giveUp(storm_.text() + ": rank " + std::to_string(rank_) + ", step " + std::to_string(at_) +
         ", " + what + ": " + cudaGetErrorString(error));
}

void GpuStormRank::dawdle() {
  const unsigned how = static_cast<unsigned>(own_() % 60);
  if (how < 6) std::this_thread::sleep_for(std::chrono::microseconds(own_() % 300));
  if (how == 6) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (how == 7) std::this_thread::yield();
}

void GpuStormRank::order(int first, int later) {
  const cudaEvent_t event = events_[nextEvent_++ % events_.size()];
  good(cudaEventRecord(event, stream(first)), "cudaEventRecord");
  good(cudaStreamWaitEvent(stream(later), event, 0), "cudaStreamWaitEvent");
}

/// What is issued on these streams next waits for what was issued on the communicator before.
void GpuStormRank::join(Comm& comm, const std::vector<int>& streams) {
  for (const int later : streams) {
    for (const int first : comm.streams) {
      if (first != later) order(first, later);
    }
  }
  comm.streams = streams;
}

/// A step's calls on this rank, their buffers filled.
std::vector<GpuHeld*> GpuStormRank::prepare(const GpuStormStep& step, StormArena& arena,
                                            std::deque<GpuHeld>* into) {
  std::vector<GpuHeld*> all;
  for (const StormCall& call : step.calls) {
    const Comm& comm = commOf(call);
    if (comm.comm == nullptr) continue;
    GpuHeld& held = into->emplace_back(call, comm.rank, comm.size, own_, arena);
    all.push_back(&held);
    held.fill(stampOf(call, 0));
    held.load(stream(call.stream));
  }
  return all;
}

void GpuStormRank::issueMessages(GpuHeld& held) {
  const Comm& comm = commOf(held.call);
  const bool host = held.call.onHost;
  const cudaStream_t on = host ? nullptr : stream(held.call.stream);
  const char* const from = host ? held.from : held.deviceFrom();
  char* const to = host ? held.to : held.deviceTo();
  const std::string what = held.call.text(comm.size);
  good(rondoGroupStart(), what);
  for (const StormMessage& each : held.messages) {
    if (each.from == comm.rank) {
      good(rondoSend(from + each.out, each.bytes, rondoInt8, each.to, comm.comm, on), what);
    }
    if (each.to == comm.rank) {
      good(rondoRecv(to + each.in, each.bytes, rondoInt8, each.from, comm.comm, on), what);
    }
  }
  good(rondoGroupEnd(), what);
}

void GpuStormRank::issueOne(GpuHeld& held) {
  const Comm& comm = commOf(held.call);
  const std::string what = held.call.text(comm.size);
  if (held.call.barrier) return good(rondoBarrier(comm.comm, nullptr), what);
  if (held.call.transfers) return issueMessages(held);
  if (held.call.scaled) held.args.op = comm.scaled;
  const bool host = held.call.onHost;
  good(invoke(held.args, held.side, host ? held.from : held.deviceFrom(),
              host ? held.to : held.deviceTo(), comm.rank, comm.comm,
              host ? nullptr : stream(held.call.stream)),
       what);
}

void GpuStormRank::issue(const std::vector<GpuHeld*>& all, bool grouped) {
  if (!grouped) {
    for (GpuHeld* each : all) {
      dawdle();
      if (!each->call.onHost) join(commOf(each->call), {each->call.stream});
      issueOne(*each);
    }
    return;
  }
  for (int c = 0; c < kStormComms; ++c) {
    std::vector<int> streams;
    for (const GpuHeld* each : all) {
      const int on = each->call.stream;
      if (each->call.comm == c && !each->call.onHost &&
          std::find(streams.begin(), streams.end(), on) == streams.end()) {
        streams.push_back(on);
      }
    }
    if (!streams.empty()) join(comms_[c], streams);
  }
  good(rondoGroupStart(), "rondoGroupStart");
  for (GpuHeld* each : all) {
    if (own_() % 16 == 0) dawdle();
    issueOne(*each);
  }
  good(rondoGroupEnd(), "rondoGroupEnd");
}

/// No kernel of anybody waits meanwhile: the driver may let instantiation wait for them.
void GpuStormRank::capture(const GpuStormStep& step) {
  Graph& graph = graphs_[step.graph];
  const std::vector<GpuHeld*> all = prepare(step, kept_, &graph.held);
  const cudaStream_t first = stream(step.stream);
  const auto others = [&](const auto& act) {
    for (int k = 0; k < kStormStreams && step.spread; ++k) {
      if (k != step.stream) act(k);
    }
  };
  cudaGraph_t recorded = nullptr;
  synchronize();
  good(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  others([&](int k) { order(step.stream, k); });
  issue(all, step.how == GpuStormStep::kGroupCaptured);
  others([&](int k) { order(k, step.stream); });
  good(cudaStreamEndCapture(first, &recorded), "cudaStreamEndCapture");
  for (Comm& each : comms_) each.streams.clear();
  meet();
  good(cudaGraphInstantiate(&graph.exec, recorded, 0), "cudaGraphInstantiate");
  good(cudaGraphDestroy(recorded), "cudaGraphDestroy");
  good(cudaGraphUpload(graph.exec, first), "cudaGraphUpload");
}

void GpuStormRank::loadAgain(Graph& graph) {
  for (GpuHeld& each : graph.held) {
    each.fill(stampOf(each.call, graph.launches));
    each.load(stream(each.call.stream));
  }
  ++graph.launches;
}

void GpuStormRank::launch(const GpuStormStep& step) {
  Graph& graph = graphs_[step.graph];
  for (GpuHeld& each : graph.held) join(commOf(each.call), {step.stream});
  good(cudaGraphLaunch(graph.exec, stream(step.stream)), "cudaGraphLaunch");
  graph.pending = true;
}

void GpuStormRank::synchronize() {
  for (cudaStream_t each : streams_) good(cudaStreamSynchronize(each), "cudaStreamSynchronize");
}

void GpuStormRank::check(std::deque<GpuHeld>& held) {
  for (GpuHeld& each : held) each.fetch(stream(0));
  good(cudaStreamSynchronize(stream(0)), "cudaStreamSynchronize");
  for (GpuHeld& each : held) {
    each.take();
    ++shared_.made;
    const std::string wrong = each.wrong();
    constexpr int kMostShown = 6;
    if (wrong.empty() || shared_.shown++ >= kMostShown) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    each.fetch(stream(0));
    good(cudaStreamSynchronize(stream(0)), "cudaStreamSynchronize");
    each.take();
    const bool late = each.wrong().empty();
    ADD_FAILURE() << storm_.text() << ": rank " << rank_ << ", by step " << at_ << ", there "
                  << each.rank << " of " << each.size << ", " << each.call.text(each.size)
                  << ", stamp " << each.stamp << wrong << (late ? "\n  right 100 ms later" : "")
                  << launchesOf(commOf(each.call).comm, each.rank);
  }
}

void GpuStormRank::finish() {
  synchronize();
  check(held_);
  held_.clear();
  loose_.clear();
  for (Graph& graph : graphs_) {
    if (std::exchange(graph.pending, false)) check(graph.held);
  }
  for (Comm& each : comms_) {
    each.streams.clear();
    rondoResult_t state = rondoSuccess;
    if (each.comm == nullptr) continue;
    good(rondoCommGetAsyncError(each.comm, &state), "rondoCommGetAsyncError");
    if (state != rondoSuccess) giveUp(storm_.text() + ": " + rondoGetLastError(each.comm));
  }
}

/// So far steps go without a look at their results: each graph is launched once, and one that is
/// captured begins a round.
size_t GpuStormRank::endOfRound(size_t begin) const {
  constexpr size_t kMost = 6;
  bool used[kStormGraphs] = {};
  size_t end = begin;
  for (; end < storm_.steps.size() && end < begin + kMost; ++end) {
    const GpuStormStep& step = storm_.steps[end];
    if (end > begin && (step.captures() || storm_.steps[end - 1].finish)) break;
    if (!step.launchesGraph()) continue;
    if (std::exchange(used[step.graph], true)) break;
  }
  return end;
}

/// All data is loaded before any rank launches: a copy that stands behind a kernel which waits may
/// keep the copies of other ranks from the same engine, and with them what the kernel waits for.
void GpuStormRank::round(size_t begin, size_t end) {
  const std::span<const GpuStormStep> steps(&storm_.steps[begin], end - begin);
  if (steps.front().captures()) capture(steps.front());
  std::deque<std::vector<GpuHeld*>> all;
  for (const GpuStormStep& step : steps) {
    if (step.launchesGraph()) {
      loadAgain(graphs_[step.graph]);
    } else {
      all.push_back(prepare(step, loose_, &held_));
    }
  }
  synchronize();
  meet();
  for (const GpuStormStep& step : steps) {
    dawdle();
    if (step.launchesGraph()) {
      launch(step);
    } else {
      issue(all.front(), step.how == GpuStormStep::kGroup);
      all.pop_front();
    }
    ++at_;
  }
  finish();
  meet();
}

void GpuStormRank::run() {
  while (at_ < storm_.steps.size()) round(at_, endOfRound(at_));
}

}  // namespace rondo::testing
