#pragma once
// Runs a random program (gpu/storm_program.h) on one rank of a GPU, and looks at what comes of it.

#include <cuda_runtime.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "gpu/storm_program.h"
#include "support/storm_held.h"

namespace rondo::testing {

/// What the ranks of a storm share.
struct GpuStormShared {
  GpuStormShared(const GpuStorm& program, int gpuCount)
      : storm(program), gpus(gpuCount), barrier(program.ranks()) {}

  const GpuStorm& storm;
  const int gpus;
  std::barrier<> barrier;
  rondoUniqueId ids[2]{};
  std::atomic<int> shown{0};    ///< Failures so far.
  std::atomic<size_t> made{0};  ///< Calls whose results were looked at.
};

/// Device memory in a row, and as much page-locked: other copies may wait for kernels that wait for
/// this rank.
class StormArena {
 public:
  explicit StormArena(size_t bytes);
  StormArena(const StormArena&) = delete;
  StormArena& operator=(const StormArena&) = delete;
  ~StormArena();
  size_t take(size_t bytes);
  void clear() { used_ = 0; }
  size_t used() const { return used_; }
  size_t bytes() const { return bytes_; }
  char* device(size_t at) const { return device_ + at; }
  char* host(size_t at) const { return host_ + at; }

 private:
  size_t bytes_, used_ = 0;
  char *device_ = nullptr, *host_ = nullptr;
};

/// A call whose buffers lie on the device, as far off their alignment as the host's.
class GpuHeld : public StormHeld {
 public:
  GpuHeld(const StormCall& issued, int ofRank, int ofSize, std::mt19937& own, StormArena& arena);
  GpuHeld(const GpuHeld&) = delete;
  GpuHeld& operator=(const GpuHeld&) = delete;
  /// What the host's buffers hold, by copies on `stream`.
  void load(cudaStream_t stream);
  void fetch(cudaStream_t stream);
  /// Once the copies of fetch() have ended.
  void take();
  const char* deviceFrom() const;
  char* deviceTo() const;

 private:
  struct Place {
    StormBuffer* buffer;
    char *device, *host;
  };
  Place placed(StormBuffer* buffer, StormArena& arena);
  char* onDevice(const char* at) const;

  std::vector<Place> places_;
};

class GpuStormRank {
 public:
  GpuStormRank(GpuStormShared& shared, int rank);
  ~GpuStormRank();
  GpuStormRank(const GpuStormRank&) = delete;
  GpuStormRank& operator=(const GpuStormRank&) = delete;
  void run();

 private:
  struct Comm {
    rondoComm_t comm = nullptr;  ///< nullptr: the rank is not in it.
    int rank = 0, size = 0;
    rondoRedOp_t scaled = rondoSum;
    std::vector<int> streams;  ///< Of what was issued last.
  };
  struct Graph {
    std::deque<GpuHeld> held;
    cudaGraphExec_t exec = nullptr;
    int stream = 0;
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
  void loaded();
  void issue(const std::vector<GpuHeld*>& all, bool grouped);
  void issueOne(GpuHeld& held);
  void issueMessages(GpuHeld& held);
  void capture(const GpuStormStep& step);
  void launch(const GpuStormStep& step);
  void settle(Graph& graph);
  void check(std::deque<GpuHeld>& held);
  void finish();
  void good(rondoResult_t result, const std::string& what);
  void good(cudaError_t error, const char* what);
  cudaStream_t stream(int number) const { return streams_[number]; }
  Comm& commOf(const StormCall& call) { return comms_[call.comm]; }

  GpuStormShared& shared_;
  const GpuStorm& storm_;
  const int rank_;
  std::mt19937 own_;
  StormArena loose_, kept_;  ///< Of calls until finish(), and of graphs.
  cudaStream_t streams_[kStormStreams] = {};
  std::vector<cudaEvent_t> events_;
  size_t nextEvent_ = 0, at_ = 0;
  Comm comms_[kStormComms];
  std::deque<GpuHeld> held_;
  std::vector<Graph> graphs_;
};

}  // namespace rondo::testing
