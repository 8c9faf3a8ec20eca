#pragma once
// Runs a random program (gpu/storm_program.h) on one rank of a GPU, and looks at what comes of it.

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "gpu/gpu_held.h"
#include "gpu/storm_program.h"

namespace rondo::testing {

/// Of each rank. Made once for all storms, as programs do: the first launch on a stream may wait
/// for kernels that run.
using GpuStormStreams = std::vector<std::array<cudaStream_t, kStormStreams>>;

/// What the ranks of a storm share.
struct GpuStormShared {
  GpuStormShared(const GpuStorm& program, const GpuStormStreams& ofRanks)
      : storm(program), streams(ofRanks), barrier(program.ranks()) {}

  const GpuStorm& storm;
  const GpuStormStreams& streams;
  std::barrier<> barrier;
  rondoUniqueId ids[2]{};
  std::atomic<int> shown{0};    ///< Failures so far.
  std::atomic<size_t> made{0};  ///< Calls whose results were looked at.
};

class GpuStormRank {
 public:
  GpuStormRank(GpuStormShared& shared, int rank);
  ~GpuStormRank();
  GpuStormRank(const GpuStormRank&) = delete;
  GpuStormRank& operator=(const GpuStormRank&) = delete;
  void run();

 private:
  using Comm = StormComm;
  struct Graph {
    std::deque<GpuHeld> held;
    cudaGraphExec_t exec = nullptr;
    bool pending = false;  ///< Launched, and not looked at.
    uint32_t launches = 0;
  };

  void makeComms();
  void meet() { shared_.barrier.arrive_and_wait(); }
  void dawdle();
  void join(Comm& comm, const std::vector<int>& streams);
  void order(int first, int later);
  std::vector<GpuHeld*> prepare(const GpuStormStep& step, StormArena& arena,
                                std::deque<GpuHeld>* into);
  void issue(const std::vector<GpuHeld*>& all, bool grouped);
  void issueOne(GpuHeld& held);
  void issueMessages(GpuHeld& held);
  void capture(const GpuStormStep& step);
  void loadAgain(Graph& graph);
  void launch(const GpuStormStep& step);
  void synchronize();
  void check(std::deque<GpuHeld>& held);
  void finish();
  size_t endOfRound(size_t begin) const;
  void round(size_t begin, size_t end);
  void good(rondoResult_t result, const std::string& what);
  void good(cudaError_t error, const char* what);
  cudaStream_t stream(int number) const { return streams_[static_cast<size_t>(number)]; }
  Comm& commOf(const StormCall& call) { return comms_[call.comm]; }

  GpuStormShared& shared_;
  const GpuStorm& storm_;
  const int rank_;
  std::mt19937 own_;
  StormArena loose_, kept_;  ///< Of calls until finish(), and of graphs.
  const std::array<cudaStream_t, kStormStreams>& streams_;
  std::vector<cudaEvent_t> events_;
  size_t nextEvent_ = 0, at_ = 0;
  Comm comms_[kStormComms];
  std::deque<GpuHeld> held_;
  std::vector<Graph> graphs_;
};

}  // namespace rondo::testing
