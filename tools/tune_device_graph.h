#pragma once
// Calls on the ranks' GPUs, captured in graphs and timed there.

#include <cstdint>
#include <vector>

#include "api/rondo.h"
#include "coll/registry.h"
#include "cuda_driver.h"

namespace rondo::tune {

/// The device that a communicator runs on; its context is current.
class Device {
 public:
  explicit Device(int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  char* allocate(uint64_t bytes);

  bench::CudaDriver cuda;
  bench::CuStream stream = nullptr;
  bench::CuEvent start = nullptr, end = nullptr;

 private:
  bench::CuDevice device_ = 0;
  std::vector<bench::CuPointer> areas_;
};

/// Two areas of it from which the calls of a graph take different pieces.
struct DeviceAreas {
  DeviceAreas(Device& device, uint64_t longest);
  uint64_t bytes;  ///< Of each.
  char *send, *recv;
};

/// What a graph has some of.
struct GraphCall {
  Collective collective;
  uint64_t count;  ///< Of a slot, float32.
  int ranks;
  bool message = false;      ///< From rank 0 to 1, which answers; no collective.
  bool rootsInTurn = false;  ///< Each rank in turn is the root, so that none runs ahead.
};

/// Captured calls.
class Graph {
 public:
  Graph(Device& device, const GraphCall& call, rondoComm_t comm, const DeviceAreas& areas);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Picoseconds a call; of messages, one way. 0 on ranks that have none of it.
  double time() const;
  /// By this rank's clock, the longest of all time()s: seconds of the launch, and until its end.
  struct Host {
    double launch = 0, whole = 0;
  };
  const Host& host() const { return host_; }

 private:
  Device& device_;
  uint64_t waysOfCall_;
  mutable Host host_;
  bench::CuGraphExec exec_ = nullptr;
};

/// The slowest rank's times after some that do not count, as many as fit into `seconds` but
/// `least`; the same on all ranks of MPI_COMM_WORLD.
std::vector<double> timesOf(const Graph& graph, double seconds, int least);
double medianOf(std::vector<double> times);

}  // namespace rondo::tune
