// Communicators on machines that need not be there.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "api/comm_create.h"
#include "api/handle.h"
#include "api/rondo_virtual.h"
#include "api/types.h"
#include "api/virtual_comm.h"
#include "base/error.h"
#include "coll/sim/output.h"
#include "coll/sim/program.h"
#include "p2p/cuda_device.h"
#include "topo/load.h"

namespace rondo {
namespace {

/// rondoVirtualConfig_t after checking.
struct VirtualConfig {
  std::string name = "virtual", output;
  bool ownData = false;
};

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

class Rehearsed final : public VirtualComm {
 public:
  Rehearsed(topo::Graph graph, int ranks, int rank, VirtualConfig config)
      : config_(std::move(config)),
        program_(std::move(graph), ranks, rank, !config_.output.empty()) {}

  void run(const char* call, const HostRequest& request) override {
    const PlanKey& key = request.key;
    const uint64_t slots = hasSlots(key.collective) ? static_cast<uint64_t>(ranks()) : 1;
    const Clock clock(&planning_);
    const std::lock_guard<std::mutex> lock(mutex_);
    program_.collective(call, {key.collective, key.count * typeSize(key.type) * slots, key.root});
  }

  void run(const char* call, std::span<const Transfer> transfers) override {
    std::vector<sim::PeerTransfer> all;
    for (const Transfer& t : transfers) all.push_back({t.peer, t.sends, t.bytes});
    const Clock clock(&planning_);
    const std::lock_guard<std::mutex> lock(mutex_);
    program_.exchange(call, all);
  }

  void keepOwn(const HostRequest& request) override {
    const PlanKey& key = request.key;
    if (!config_.ownData || key.uneven || key.collective == Collective::Barrier) return;
    const size_t bytes = key.count * typeSize(key.type);
    const SlotUse use = slotUse(key.collective, program_.rank(), key.root);
    const bool first = key.collective == Collective::Exscan;  // nothing comes before its own
    const auto offset = [&](Slots slots) {
      return slots == Slots::All ? bytes * static_cast<size_t>(program_.rank()) : 0;
    };
    if (use.src == Slots::None || use.dst == Slots::None || first || bytes == 0) return;
    const char* const from = static_cast<const char*>(request.src) + offset(use.src);
    char* const to = static_cast<char*>(request.dst) + offset(use.dst);
    if (from == to || pointerKind(from).memory == PointerKind::kDevice ||
        pointerKind(to).memory == PointerKind::kDevice) {
      return;
    }
    const Clock clock(&planning_);
    std::memmove(to, from, bytes);
  }

  void write() override {
    if (config_.output.empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sim::writeFile(config_.output + ".calls.csv", program_.callsCsv());
    sim::writeFile(config_.output + ".trace.json", program_.traceJson());
    size_t left = 0;
    sim::writeFile(config_.output + ".flows.csv", program_.flowsCsv(&left));
    if (left == 0) return;
    std::fprintf(stderr, "rondo: %s.flows.csv is without the transfers of %zu calls of %zu\n",
                 config_.output.c_str(), left, program_.calls().size());
  }

  rondoPrediction_t prediction() const {
    rondoPrediction_t out{};
    const std::lock_guard<std::mutex> lock(mutex_);
    out.calls = program_.calls().size();
    out.picoseconds = program_.now();
    out.planningNanoseconds = planning_.load();
    if (program_.calls().empty()) return out;
    const sim::ProgramCall& last = program_.calls().back();
    out.lastPicoseconds = last.time;
    out.lastBytes = last.bytes;
    std::snprintf(out.lastCall, sizeof out.lastCall, "%s", last.name.c_str());
    std::snprintf(out.lastAlgorithm, sizeof out.lastAlgorithm, "%s", last.algorithm);
    return out;
  }

  RankPlace place() const {
    const std::vector<int> hosts = program_.on().hosts();
    const auto rank = static_cast<size_t>(program_.rank());
    RankPlace out{program_.rank(), ranks(), 0, 0};
    for (size_t r = 0; r < hosts.size(); ++r) {
      if (hosts[r] != hosts[rank]) continue;
      if (r < rank) ++out.localRank;
      ++out.localSize;
    }
    return out;
  }
  int ranks() const { return program_.on().ranks(); }
  const std::string& name() const { return config_.name; }

 private:
  VirtualConfig config_;
  mutable std::mutex mutex_;  // handles of rondoCommDup share it
  sim::Program program_;
  std::atomic<uint64_t> planning_{0};
};

VirtualConfig check(const rondoVirtualConfig_t* given) {
  VirtualConfig out;
  if (given == nullptr) return out;
  if (given->size != sizeof *given || given->version != RONDO_VIRTUAL_CONFIG_VERSION) {
    throw Error(rondoInvalidArgument,
                format("config.size is %zu and config.version %u; allowed: %zu and %d, as "
                       "RONDO_VIRTUAL_CONFIG_INITIALIZER sets them",
                       given->size, given->version, sizeof *given, RONDO_VIRTUAL_CONFIG_VERSION));
  }
  if (given->ownData != 0 && given->ownData != 1) {
    throw Error(rondoInvalidArgument,
                format("config.ownData is %d; allowed: 0 or 1", given->ownData));
  }
  out.ownData = given->ownData == 1;
  if (given->name != nullptr) out.name = given->name;
  if (given->output != nullptr) out.output = given->output;
  return out;
}

rondoComm_t makeVirtual(std::shared_ptr<VirtualComm> rehearsal) {
  const auto& rehearsed = static_cast<const Rehearsed&>(*rehearsal);
  Communicator::Parts parts;
  parts.name = rehearsed.name();
  parts.place = rehearsed.place();
  parts.facts.ranks = parts.place.size;
  parts.whyNoDevice = "it is virtual";
  CommPtr made(makeHandle(std::make_unique<Communicator>(std::move(parts))));
  made->rehearsal = std::move(rehearsal);
  return made.release();
}

}  // namespace

rondoResult_t dupVirtual(rondoComm* comm, rondoComm_t* newcomm) {
  const Keep keep(comm, "rondoCommDup");
  if (!keep) return keep.result();
  return guarded(comm, "rondoCommDup", [&] {
    if (newcomm == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument newcomm is NULL; allowed: where to write the communicator");
    }
    *newcomm = makeVirtual(comm->rehearsal);
  });
}

}  // namespace rondo

rondoResult_t rondoCommInitVirtual(rondoComm_t* comm, const char* topology, int nranks, int rank,
                                   const rondoVirtualConfig_t* config) {
  const char* const call = "rondoCommInitVirtual";
  return rondo::guarded(nullptr, call, [&] {
    using rondo::Error;
    if (comm == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument comm is NULL; allowed: where to write the communicator");
    }
    if (topology == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument topology is NULL; allowed: a file, or a description as in \"8 gpu "
                  "nvlink=450 nvswitch\"");
    }
    if (nranks < 0) {
      throw Error(
          rondoInvalidArgument,
          rondo::format("argument nranks is %d; allowed: from 1, or 0 for one on each place "
                        "of the machine",
                        nranks));
    }
    rondo::VirtualConfig checked = rondo::check(config);
    rondo::topo::Loaded loaded = rondo::topo::loadTopology(topology);
    for (const std::string& warning : loaded.warnings) {
      std::fprintf(stderr, "rondo: %s\n", warning.c_str());
    }
    *comm = rondo::makeVirtual(std::make_shared<rondo::Rehearsed>(std::move(loaded.graph), nranks,
                                                                  rank, std::move(checked)));
  });
}

rondoResult_t rondoCommGetPrediction(rondoComm_t comm, rondoPrediction_t* prediction) {
  const char* const call = "rondoCommGetPrediction";
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  return rondo::guarded(comm, call, [&] {
    using rondo::Error;
    if (comm->rehearsal == nullptr) {
      throw Error(rondoInvalidUsage,
                  rondo::format("communicator \"%s\" is not virtual; allowed: one of "
                                "rondoCommInitVirtual",
                                comm->impl->name().c_str()));
    }
    if (prediction == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument prediction is NULL; allowed: where to write the prediction");
    }
    const size_t size = prediction->size, least = offsetof(rondoPrediction_t, lastBytes);
    if (size < least || size > 4096) {
      throw Error(
          rondoInvalidArgument,
          rondo::format("prediction->size is %zu; allowed: sizeof(rondoPrediction_t), which "
                        "is %zu here",
                        size, sizeof *prediction));
    }
    rondoPrediction_t out = static_cast<rondo::Rehearsed&>(*comm->rehearsal).prediction();
    out.size = size;
    std::memcpy(prediction, &out, std::min(size, sizeof out));
  });
}
