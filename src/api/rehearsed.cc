#include "api/rehearsed.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "api/comm_create.h"
#include "api/handle.h"
#include "api/types.h"
#include "base/error.h"
#include "base/writable.h"
#include "coll/sim/output.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace {

constexpr char kCallsFile[] = ".calls.csv";

/// Adds the time from its making to its end to a sum, in nanoseconds.
class Clock {
 public:
  explicit Clock(std::atomic<uint64_t>* sum) : sum_(sum) {}
  ~Clock() {
    const auto passed = std::chrono::steady_clock::now() - start_;
    *sum_ += static_cast<uint64_t>(std::chrono::nanoseconds(passed).count());
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  std::atomic<uint64_t>* sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

sim::CallShape shapeOf(const PlanKey& key, int ranks) {
  const uint64_t slots = hasSlots(key.collective) ? static_cast<uint64_t>(ranks) : 1;
  return {key.collective, key.count * typeSize(key.type) * slots, key.root};
}

std::vector<sim::PeerTransfer> peersOf(std::span<const Transfer> transfers) {
  std::vector<sim::PeerTransfer> peers;
  for (const Transfer& t : transfers) peers.push_back({t.peer, t.sends, t.bytes});
  return peers;
}

}  // namespace

RehearsedProgram::RehearsedProgram(topo::Graph graph, int ranks, int rank, VirtualConfig given)
    : config(std::move(given)),
      program(std::move(graph), config.name, ranks, rank, !config.output.empty()) {
  // Found out now, and not when the program has ended.
  const std::string first = config.output + kCallsFile;
  const std::string why = config.output.empty() ? "" : whyUnwritable(first);
  if (why.empty()) return;
  throw Error(rondoInvalidArgument,
              format("config.output is \"%s\"; allowed: what the names of files begin with, in a "
                     "folder that takes them (%s: %s)",
                     config.output.c_str(), first.c_str(), why.c_str()));
}

void RehearsedProgram::write() {
  if (config.output.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex);
  sim::writeFile(config.output + kCallsFile, program.callsCsv());
  sim::writeFile(config.output + ".trace.json", program.traceJson());
  size_t left = 0;
  sim::writeFile(config.output + ".flows.csv", program.flowsCsv(&left));
  if (left == 0) return;
  std::fprintf(stderr, "rondo: %s.flows.csv is without the transfers of %zu calls of %zu\n",
               config.output.c_str(), left, program.calls().size());
}

Rehearsed::Rehearsed(std::shared_ptr<RehearsedProgram> all, sim::ProgramComm* comm)
    : all_(std::move(all)), comm_(comm) {
  ++all_->handles;
}

// Of an aborted one nothing is written.
Rehearsed::~Rehearsed() {
  if (!closed_) --all_->handles;
}

void Rehearsed::close() {
  if (closed_.exchange(true)) return;
  if (--all_->handles == 0) all_->write();
}

void Rehearsed::run(const char* call, const HostRequest& request) {
  const sim::CallShape shape = shapeOf(request.key, comm_->ranks());
  const std::lock_guard<std::mutex> lock(all_->mutex);
  const Clock clock(&comm_->planning);  // what others plan meanwhile is counted by them
  all_->program.collective(comm_, call, shape);
}

void Rehearsed::run(const char* call, std::span<const Transfer> transfers) {
  const std::vector<sim::PeerTransfer> peers = peersOf(transfers);
  const std::lock_guard<std::mutex> lock(all_->mutex);
  const Clock clock(&comm_->planning);
  all_->program.exchange(comm_, call, peers);
}

uint64_t Rehearsed::foretell(const HostRequest& request) {
  const sim::CallShape shape = shapeOf(request.key, comm_->ranks());
  const std::lock_guard<std::mutex> lock(all_->mutex);
  return all_->program.foretell(comm_, shape);
}

uint64_t Rehearsed::foretell(std::span<const Transfer> transfers) {
  const std::vector<sim::PeerTransfer> peers = peersOf(transfers);
  const std::lock_guard<std::mutex> lock(all_->mutex);
  return all_->program.foretell(comm_, peers);
}

void Rehearsed::keepOwn(const OwnBlock& block) {
  if (!all_->config.ownData || block.bytes == 0 || block.from == block.to ||
      pointerKind(block.from).memory == PointerKind::kDevice ||
      pointerKind(block.to).memory == PointerKind::kDevice) {
    return;
  }
  const Clock clock(&comm_->planning);
  std::memmove(block.to, block.from, block.bytes);
}

rondoPrediction_t Rehearsed::prediction() const {
  rondoPrediction_t out{};
  const std::lock_guard<std::mutex> lock(all_->mutex);
  std::snprintf(out.comm, sizeof out.comm, "%s", comm_->name().c_str());
  out.calls = comm_->calls();
  out.picoseconds = comm_->time();
  out.planningNanoseconds = comm_->planning.load();
  if (out.calls == 0) return out;
  const sim::ProgramCall& last = comm_->last();
  out.lastPicoseconds = last.time;
  out.lastBytes = last.bytes;
  std::snprintf(out.lastCall, sizeof out.lastCall, "%s", last.name.c_str());
  std::snprintf(out.lastAlgorithm, sizeof out.lastAlgorithm, "%s", last.algorithm);
  return out;
}

RankPlace Rehearsed::place() const {
  const std::vector<int> hosts = comm_->hosts();
  const auto rank = static_cast<size_t>(comm_->rank());
  RankPlace out{comm_->rank(), comm_->ranks(), 0, 0};
  for (size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r] != hosts[rank]) continue;
    if (r < rank) ++out.localRank;
    ++out.localSize;
  }
  return out;
}

rondoComm_t makeVirtual(std::shared_ptr<RehearsedProgram> all, sim::ProgramComm* comm) {
  auto rehearsed = std::make_shared<Rehearsed>(std::move(all), comm);
  Communicator::Parts parts;
  parts.name = rehearsed->name();
  parts.place = rehearsed->place();
  parts.facts.ranks = parts.place.size;
  parts.whyNoDevice = "it is virtual";
  CommPtr made(makeHandle(std::make_unique<Communicator>(std::move(parts))));
  made->rehearsal = std::move(rehearsed);
  return made.release();
}

}  // namespace rondo
