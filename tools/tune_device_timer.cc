// Times kernels in graphs. Apart from what can be tested without a GPU.

#include <mpi.h>

#include <algorithm>
#include <memory>

#include "api/handle.h"
#include "api/rondo.h"
#include "base/error.h"
#include "coll/communicator.h"
#include "coll/device_runner.h"
#include "cuda_driver.h"
#include "tune_device.h"
#include "tune_trials.h"

namespace rondo::tune {
namespace {

/// Calls of a graph.
constexpr uint64_t kCalls = 20;
/// Pieces of memory that successive calls use, so that they do not find their data in the cache.
constexpr uint64_t kAreaBytes = 256u << 20;
constexpr int kWarmUps = 4, kLeastSamples = 12, kMostSamples = 100;

/// The same answer on all ranks: a communicator has devices or none.
int deviceOf(const ForcedComm& comm) {
  int ordinal = RONDO_DEVICE_NONE;
  if (rondoCommCuDevice(comm.handle(), &ordinal) != rondoSuccess || ordinal < 0) {
    throw Error(rondoInvalidArgument,
                "--memory is device, but the ranks have no GPUs that reach each other; allowed "
                "here: host and rondo");
  }
  if (comm.impl().deviceRunner()->throughHost()) {
    throw Error(rondoInvalidArgument,
                "--memory is device, but the ranks' GPUs meet in host memory (RONDO_P2P=off, or "
                "they do not reach each other); what is measured is GPUs that do; allowed here: "
                "host and rondo");
  }
  return ordinal;
}

/// The device that a communicator runs on; its context is current.
class Device {
 public:
  explicit Device(int ordinal) {
    cuda.check(cuda.deviceGet(&device_, ordinal), "cuDeviceGet");
    bench::CuContext context = nullptr;
    cuda.check(cuda.primaryContextRetain(&context, device_), "cuDevicePrimaryCtxRetain");
    cuda.check(cuda.contextSetCurrent(context), "cuCtxSetCurrent");
    constexpr unsigned kNonBlocking = 1;
    cuda.check(cuda.streamCreate(&stream, kNonBlocking), "cuStreamCreate");
    cuda.check(cuda.eventCreate(&start, 0), "cuEventCreate");
    cuda.check(cuda.eventCreate(&end, 0), "cuEventCreate");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    for (const bench::CuPointer area : areas_) cuda.memFree(area);
    cuda.eventDestroy(start);
    cuda.eventDestroy(end);
    cuda.streamDestroy(stream);
    cuda.primaryContextRelease(device_);
  }

  char* allocate(uint64_t bytes) {
    bench::CuPointer area = 0;
    cuda.check(cuda.memAlloc(&area, bytes), "cuMemAlloc");
    areas_.push_back(area);
    return reinterpret_cast<char*>(area);
  }

  bench::CudaDriver cuda;
  bench::CuStream stream = nullptr;
  bench::CuEvent start = nullptr, end = nullptr;

 private:
  bench::CuDevice device_ = 0;
  std::vector<bench::CuPointer> areas_;
};

void enqueue(const DeviceRequest& request, const void* send, void* recv, rondoComm_t comm,
             rondoStream_t stream) {
  const size_t count = request.count;
  rondoResult_t result = rondoInternalError;
  switch (request.collective) {
    case Collective::AllReduce:
      result = rondoAllReduce(send, recv, count, rondoFloat32, rondoSum, comm, stream);
      break;
    case Collective::ReduceScatter:
      result = rondoReduceScatter(send, recv, count, rondoFloat32, rondoSum, comm, stream);
      break;
    case Collective::AllGather:
      result = rondoAllGather(send, recv, count, rondoFloat32, comm, stream);
      break;
    case Collective::AllToAll:
      result = rondoAllToAll(send, recv, count, rondoFloat32, comm, stream);
      break;
    case Collective::Reduce:
      result = rondoReduce(send, recv, count, rondoFloat32, rondoSum, 0, comm, stream);
      break;
    case Collective::Broadcast:
      result = rondoBroadcast(send, recv, count, rondoFloat32, 0, comm, stream);
      break;
    case Collective::Gather:
      result = rondoGather(send, recv, count, rondoFloat32, 0, comm, stream);
      break;
    case Collective::Scatter:
      result = rondoScatter(send, recv, count, rondoFloat32, 0, comm, stream);
      break;
    default:
      throw Error(rondoInternalError, "rondo-tune times no such call on devices");
  }
  if (result != rondoSuccess) throw Error(result, rondoGetLastError(comm));
}

/// A message to rank 1 and its answer; the other ranks have nothing to do.
void enqueueMessages(size_t count, const void* send, void* recv, int rank, rondoComm_t comm,
                     rondoStream_t stream) {
  if (rank > 1) return;
  const auto check = [comm](rondoResult_t result) {
    if (result != rondoSuccess) throw Error(result, rondoGetLastError(comm));
  };
  const auto there = [&] { check(rondoSend(send, count, rondoFloat32, 1 - rank, comm, stream)); };
  const auto back = [&] { check(rondoRecv(recv, count, rondoFloat32, 1 - rank, comm, stream)); };
  if (rank == 0) there();
  back();
  if (rank == 1) there();
}

/// Calls of one trial, captured.
class Graph {
 public:
  Graph(Device& device, const DeviceObservation& trial, rondoComm_t comm, char* send, char* recv,
        uint64_t area)
      : device_(device), waysOfCall_(trial.message ? 2 : 1) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (trial.message && rank > 1) return;
    const auto ranks = static_cast<uint64_t>(trial.facts.ranks);
    const uint64_t bytes = trial.request.count * trial.request.elementBytes;
    const uint64_t stride = (bytes * ranks + 511) / 512 * 512;
    const uint64_t sets = std::clamp<uint64_t>(area / stride, 1, kCalls);
    device.cuda.check(device.cuda.beginCapture(device.stream, bench::kCuCaptureThreadLocal),
                      "cuStreamBeginCapture");
    bench::CuGraph graph = nullptr;
    try {
      for (uint64_t k = 0; k < kCalls; ++k) {
        char* const from = send + k % sets * stride;
        char* const to = recv + k % sets * stride;
        if (trial.message) {
          enqueueMessages(trial.request.count, from, to, rank, comm, device.stream);
        } else {
          enqueue(trial.request, from, to, comm, device.stream);
        }
      }
    } catch (...) {
      device.cuda.endCapture(device.stream, &graph);
      if (graph != nullptr) device.cuda.graphDestroy(graph);
      throw;
    }
    device.cuda.check(device.cuda.endCapture(device.stream, &graph), "cuStreamEndCapture");
    const bench::CuResult result = device.cuda.graphInstantiate(&exec_, graph, 0);
    device.cuda.graphDestroy(graph);
    device.cuda.check(result, "cuGraphInstantiateWithFlags");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (exec_ != nullptr) device_.cuda.graphExecDestroy(exec_);
  }

  /// Picoseconds a call; of messages, one way. 0 on ranks that have none of it.
  double time() const {
    const bench::CudaDriver& cuda = device_.cuda;
    MPI_Barrier(MPI_COMM_WORLD);
    if (exec_ == nullptr) return 0;
    cuda.check(cuda.eventRecord(device_.start, device_.stream), "cuEventRecord");
    cuda.check(cuda.graphLaunch(exec_, device_.stream), "cuGraphLaunch");
    cuda.check(cuda.eventRecord(device_.end, device_.stream), "cuEventRecord");
    cuda.check(cuda.streamSynchronize(device_.stream), "cuStreamSynchronize");
    float milliseconds = 0;
    cuda.check(cuda.eventElapsed(&milliseconds, device_.start, device_.end), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e9 / static_cast<double>(kCalls * waysOfCall_);
  }

 private:
  Device& device_;
  uint64_t waysOfCall_;
  bench::CuGraphExec exec_ = nullptr;
};

/// The median of the slowest rank's times; the same on all ranks.
double timeOf(const Graph& graph, double seconds) {
  double first = 0;
  for (int k = 0; k < kWarmUps; ++k) first = graph.time();
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double fit = seconds / (first * 1e-12 * static_cast<double>(kCalls) + 50e-6);
  const int samples =
      static_cast<int>(std::clamp(fit, double{kLeastSamples}, double{kMostSamples}));
  std::vector<double> times;
  for (int k = 0; k < samples; ++k) times.push_back(graph.time());
  MPI_Allreduce(MPI_IN_PLACE, times.data(), samples, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[static_cast<size_t>(samples / 2)];
}

/// Trials that one communicator can be told apart: of a collective and size each has one rule. A
/// communicator takes a part of the device for itself, so there is one at a time.
std::vector<std::vector<size_t>> passesOf(const std::vector<DeviceObservation>& trials) {
  std::vector<std::vector<size_t>> passes;
  for (size_t i = 0; i < trials.size(); ++i) {
    const auto clashes = [&](size_t other) {
      return !trials[i].rules.empty() &&
             trials[other].request.collective == trials[i].request.collective &&
             trials[other].request.count == trials[i].request.count;
    };
    auto pass = std::find_if(passes.begin(), passes.end(), [&](const std::vector<size_t>& mine) {
      return std::none_of(mine.begin(), mine.end(), clashes);
    });
    if (pass == passes.end()) pass = passes.emplace(passes.end());
    pass->push_back(i);
  }
  return passes;
}

}  // namespace

void timeOnDevices(std::vector<DeviceObservation>* trials, double seconds) {
  uint64_t longest = 0;
  for (const DeviceObservation& o : *trials) {
    const auto ranks = static_cast<uint64_t>(o.facts.ranks);
    longest = std::max<uint64_t>(longest, o.request.count * o.request.elementBytes * ranks);
  }
  const uint64_t area = std::max<uint64_t>(kAreaBytes, longest + 512);
  const double each = seconds / static_cast<double>(std::max<size_t>(trials->size(), 1));
  std::unique_ptr<Device> device;
  char *send = nullptr, *recv = nullptr;
  for (const std::vector<size_t>& pass : passesOf(*trials)) {
    std::string rules;
    for (const size_t i : pass) {
      const std::string rule = ruleOf((*trials)[i]);
      if (!rule.empty()) rules += (rules.empty() ? "" : ",") + rule;
    }
    const ForcedComm comm(rules, RONDO_DEVICE_AUTO);
    if (device == nullptr) {
      device = std::make_unique<Device>(deviceOf(comm));
      send = device->allocate(area);
      recv = device->allocate(area);
    }
    for (const size_t i : pass) {
      const Graph graph(*device, (*trials)[i], comm.handle(), send, recv, area);
      (*trials)[i].picoseconds = timeOf(graph, each);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace rondo::tune
