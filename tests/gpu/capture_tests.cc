// Communicators that come and go while another thread of the program captures a graph, also in the
// usual mode, in which the driver refuses everybody else what might wait.
// The last file of the program's: streams that were made change which of the device's queues those
// of later tests share, and six ranks on one device have stood still behind it (once, not
// understood).

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "api/rondo_register.h"
#include "gpu/api_ranks.h"
#include "gpu/rank_env.h"
#include "p2p/cuda_device.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = 70001;
constexpr size_t kBytes = kCount * sizeof(int);
constexpr unsigned char kMark = 0x5a;

/// What a rank on its device has before anything is captured.
struct Place {
  int device = 0;
  int *src = nullptr, *dst = nullptr;
  unsigned char* marked = nullptr;
  cudaStream_t stream = nullptr, captured = nullptr;

  explicit Place(int on) : device(on) {
    cuda(cudaSetDevice(on), "the device");
    for (int** const each : {&src, &dst}) cuda(cudaMalloc(each, kBytes), "memory");
    cuda(cudaMalloc(&marked, 1), "memory");
    cuda(cudaMemset(marked, 0, 1), "memset");
    for (cudaStream_t* const each : {&stream, &captured}) {
      cuda(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking), "a stream");
    }
    std::vector<int> values(kCount);
    std::iota(values.begin(), values.end(), on);
    cuda(cudaMemcpy(src, values.data(), kBytes, cudaMemcpyHostToDevice), "copy");
  }
  void free() const {
    cuda(cudaSetDevice(device), "the device");
    for (void* const each :
         {static_cast<void*>(src), static_cast<void*>(dst), static_cast<void*>(marked)}) {
      cuda(cudaFree(each), "free");
    }
    for (const cudaStream_t each : {stream, captured}) cuda(cudaStreamDestroy(each), "a stream");
  }
};

void onEach(const std::vector<rondoComm_t>& comms, const std::function<void(size_t)>& act) {
  std::vector<std::thread> threads;
  for (size_t r = 0; r < comms.size(); ++r) threads.emplace_back([&, r] { act(r); });
  for (std::thread& each : threads) each.join();
}

void expectSums(const std::vector<Place>& places) {
  const CapturesAlone alone;  // the test's own waits
  const auto ranks = static_cast<int>(places.size());
  for (const Place& place : places) {
    cuda(cudaSetDevice(place.device), "the device");
    cuda(cudaStreamSynchronize(place.stream), "wait");
    std::vector<int> got(kCount);
    cuda(cudaMemcpyAsync(got.data(), place.dst, kBytes, cudaMemcpyDeviceToHost, place.stream),
         "copy");
    cuda(cudaStreamSynchronize(place.stream), "wait");
    int wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      wrong += got[i] != ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2 ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0) << "device " << place.device;
  }
}

/// From the making to the end, driven by one thread.
void live(const std::vector<Place>& places) {
  std::vector<rondoComm_t> comms(places.size());
  good(rondoCommInitAll(comms.data(), static_cast<int>(comms.size()), nullptr, nullptr));
  for (int round = 0; round < 2; ++round) {
    good(rondoGroupStart());
    for (size_t r = 0; r < comms.size(); ++r) {
      good(rondoAllReduce(places[r].src, places[r].dst, kCount, rondoInt32, rondoSum, comms[r],
                          places[r].stream));
    }
    good(rondoGroupEnd());
    expectSums(places);
    if (round != 0) break;
    onEach(comms, [&](size_t r) {
      rondoRegistration_t registration = 0;
      good(rondoCommRegister(comms[r], places[r].dst, kBytes, RONDO_REGISTER_DEFAULT,
                             &registration));
      good(rondoCommDeregister(comms[r], registration));
    });
  }
  for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
}

/// Takes the graph.
void expectMarked(const Place& place, cudaGraph_t graph) {
  cuda(cudaSetDevice(place.device), "the device");
  cudaGraphExec_t exec = nullptr;
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  cuda(cudaGraphLaunch(exec, place.captured), "launch");
  cuda(cudaStreamSynchronize(place.captured), "wait");
  unsigned char got = 0;
  cuda(cudaMemcpy(&got, place.marked, 1, cudaMemcpyDeviceToHost), "copy");
  EXPECT_EQ(got, kMark) << "device " << place.device;
  cuda(cudaGraphExecDestroy(exec), "destroy");
  cuda(cudaGraphDestroy(graph), "destroy");
}

class BesideCaptures : public ::testing::TestWithParam<cudaStreamCaptureMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, BesideCaptures,
                         ::testing::Values(cudaStreamCaptureModeGlobal,
                                           cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeRelaxed));

TEST_P(BesideCaptures, ACommunicatorsLife) {
  int devices = 0;
  cuda(cudaGetDeviceCount(&devices), "devices");
  std::vector<Place> places;
  for (int d = 0; d < std::min(devices, 4); ++d) places.emplace_back(d);
  live(places);  // the kernels are loaded from then on
  for (const Place& place : places) {
    cuda(cudaSetDevice(place.device), "the device");
    cuda(cudaStreamBeginCapture(place.captured, GetParam()), "begin capture");
    cuda(cudaMemsetAsync(place.marked, kMark, 1, place.captured), "memset");
  }
  std::thread([&] { live(places); }).join();
  std::vector<cudaGraph_t> graphs(places.size());
  for (size_t p = 0; p < places.size(); ++p) {
    EXPECT_EQ(cudaStreamEndCapture(places[p].captured, &graphs[p]), cudaSuccess) << "spoilt";
  }
  for (size_t p = 0; p < places.size(); ++p) {
    if (graphs[p] != nullptr) expectMarked(places[p], graphs[p]);
  }
  for (const Place& place : places) place.free();
  cuda(cudaSetDevice(0), "the device");
}

}  // namespace
}  // namespace rondo::test
