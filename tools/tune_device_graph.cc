#include "tune_device_graph.h"

#include <mpi.h>

#include <algorithm>

#include "base/error.h"

namespace rondo::tune {
namespace {

/// Calls of a graph.
constexpr uint64_t kCalls = 20;
/// Pieces of memory that successive calls use, so that they do not find their data in the cache.
constexpr uint64_t kAreaBytes = 256u << 20;
constexpr int kMostWarmUps = 3, kMostSamples = 100;

void enqueue(const GraphCall& call, int root, const void* send, void* recv, rondoComm_t comm,
             rondoStream_t stream) {
  const size_t count = call.count;
  rondoResult_t result = rondoInternalError;
  switch (call.collective) {
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
      result = rondoReduce(send, recv, count, rondoFloat32, rondoSum, root, comm, stream);
      break;
    case Collective::Broadcast:
      result = rondoBroadcast(send, recv, count, rondoFloat32, root, comm, stream);
      break;
    case Collective::Scan:
      result = rondoScan(send, recv, count, rondoFloat32, rondoSum, comm, stream);
      break;
    case Collective::Gather:
      result = rondoGather(send, recv, count, rondoFloat32, root, comm, stream);
      break;
    case Collective::Scatter:
      result = rondoScatter(send, recv, count, rondoFloat32, root, comm, stream);
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

/// The k-th call of a graph.
void enqueueOne(const GraphCall& call, uint64_t k, int rank, const DeviceAreas& areas,
                rondoComm_t comm, rondoStream_t stream) {
  const auto ranks = static_cast<uint64_t>(call.ranks);
  const uint64_t stride = (call.count * sizeof(float) * ranks + 511) / 512 * 512;
  const uint64_t sets = std::clamp<uint64_t>(areas.bytes / stride, 1, kCalls);
  char* const from = areas.send + k % sets * stride;
  char* const to = areas.recv + k % sets * stride;
  if (call.message) return enqueueMessages(call.count, from, to, rank, comm, stream);
  enqueue(call, call.rootsInTurn ? static_cast<int>(k % ranks) : 0, from, to, comm, stream);
}

}  // namespace

Device::Device(int ordinal) {
  cuda.check(cuda.deviceGet(&device_, ordinal), "cuDeviceGet");
  bench::CuContext context = nullptr;
  cuda.check(cuda.primaryContextRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  cuda.check(cuda.contextSetCurrent(context), "cuCtxSetCurrent");
  constexpr unsigned kNonBlocking = 1;
  cuda.check(cuda.streamCreate(&stream, kNonBlocking), "cuStreamCreate");
  cuda.check(cuda.eventCreate(&start, 0), "cuEventCreate");
  cuda.check(cuda.eventCreate(&end, 0), "cuEventCreate");
}

Device::~Device() {
  for (const bench::CuPointer area : areas_) cuda.memFree(area);
  cuda.eventDestroy(start);
  cuda.eventDestroy(end);
  cuda.streamDestroy(stream);
  cuda.primaryContextRelease(device_);
}

char* Device::allocate(uint64_t bytes) {
  bench::CuPointer area = 0;
  cuda.check(cuda.memAlloc(&area, bytes), "cuMemAlloc");
  areas_.push_back(area);
  return reinterpret_cast<char*>(area);
}

DeviceAreas::DeviceAreas(Device& device, uint64_t longest)
    : bytes(std::max<uint64_t>(kAreaBytes, longest + 512)),
      send(device.allocate(bytes)),
      recv(device.allocate(bytes)) {}

Graph::Graph(Device& device, const GraphCall& call, rondoComm_t comm, const DeviceAreas& areas)
    : device_(device), waysOfCall_(call.message ? 2 : 1) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (call.message && rank > 1) return;
  device.cuda.check(device.cuda.beginCapture(device.stream, bench::kCuCaptureThreadLocal),
                    "cuStreamBeginCapture");
  bench::CuGraph graph = nullptr;
  try {
    for (uint64_t k = 0; k < kCalls; ++k) enqueueOne(call, k, rank, areas, comm, device.stream);
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

Graph::~Graph() {
  if (exec_ != nullptr) device_.cuda.graphExecDestroy(exec_);
}

double Graph::time() const {
  const bench::CudaDriver& cuda = device_.cuda;
  MPI_Barrier(MPI_COMM_WORLD);
  if (exec_ == nullptr) return 0;
  const double begin = MPI_Wtime();
  cuda.check(cuda.eventRecord(device_.start, device_.stream), "cuEventRecord");
  cuda.check(cuda.graphLaunch(exec_, device_.stream), "cuGraphLaunch");
  host_.launch = std::max(host_.launch, MPI_Wtime() - begin);
  cuda.check(cuda.eventRecord(device_.end, device_.stream), "cuEventRecord");
  cuda.check(cuda.streamSynchronize(device_.stream), "cuStreamSynchronize");
  host_.whole = std::max(host_.whole, MPI_Wtime() - begin);
  float milliseconds = 0;
  cuda.check(cuda.eventElapsed(&milliseconds, device_.start, device_.end), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e9 / static_cast<double>(kCalls * waysOfCall_);
}

std::vector<double> timesOf(const Graph& graph, double seconds, int least) {
  double one = graph.time();
  const auto fitting = [&](int fewest, int most) {
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double fit = seconds / (one * 1e-12 * static_cast<double>(kCalls) + 50e-6);
    return static_cast<int>(std::clamp<double>(fit, fewest, most));
  };
  const int warmUps = fitting(1, kMostWarmUps);
  for (int k = 0; k < warmUps; ++k) one = graph.time();
  const int samples = fitting(least, kMostSamples);
  std::vector<double> times;
  for (int k = 0; k < samples; ++k) times.push_back(graph.time());
  MPI_Allreduce(MPI_IN_PLACE, times.data(), samples, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return times;
}

double medianOf(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace rondo::tune
