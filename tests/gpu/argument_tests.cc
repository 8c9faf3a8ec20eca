// Bad input that only a GPU has, in calls of the C API: a sentence, CUDA's own error in it, nothing
// that turns up at the program's next check, and a communicator that works on. The ranks are
// threads of this process on one GPU.

#include <string>
#include <vector>

#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

constexpr size_t kInts = 3000;

void refused(rondoResult_t result, rondoResult_t code, rondoComm_t comm,
             const std::vector<std::string>& words) {
  EXPECT_EQ(result, code);
  const std::string said = rondoGetLastError(comm);
  for (const std::string& each : words) {
    EXPECT_NE(said.find(each), std::string::npos) << said << "; not there: " << each;
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "is the library's own affair";
}

/// Calls as ever.
void works(const Rank& me, rondoComm_t comm, Buffers& b, cudaStream_t stream) {
  b.dst.fill(b.stream, [](size_t) { return -1; });
  me.meet();
  good(rondoAllReduce(b.src.at(0), b.dst.at(0), kInts, rondoInt32, rondoSum, comm, stream));
  good(rondoSendRecv(b.src.at(5), 700, me.after(1), b.dst.at(kInts), 700, me.before(1), rondoInt32,
                     comm, stream));
  me.launched();
  check(waitFor(stream));
  EXPECT_EQ(
      b.dst.wrong(b.stream, 0, kInts, [&](size_t i) { return element(0, i) + element(1, i); }), 0u);
  EXPECT_EQ(
      b.dst.wrong(b.stream, kInts, 700, [&](size_t i) { return element(me.before(1), i + 5); }),
      0u);
  me.meet();
}

/// What is called in a capture that has ended by a call which no capture may have.
void callInAnInvalidCapture(rondoComm_t comm, const Buffers& b, cudaStream_t stream) {
  const std::string invalidated = "on device 0: cudaErrorStreamCaptureInvalidated (";
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGetLastError();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status));
  ASSERT_EQ(status, cudaStreamCaptureStatusInvalidated);
  const auto sum = [&] {
    return rondoAllReduce(b.src.at(0), b.dst.at(0), kInts, rondoInt32, rondoSum, comm, stream);
  };
  refused(sum(), rondoUnhandledCudaError, comm, {"rondoAllReduce: launching the ", invalidated});
  refused(rondoSendRecv(b.src.at(0), 9, 0, b.dst.at(0), 9, 0, rondoInt32, comm, stream),
          rondoUnhandledCudaError, comm, {"rondoSendRecv: launching ", invalidated});
  good(rondoGroupStart());
  good(sum());
  good(sum());
  refused(rondoGroupEnd(), rondoUnhandledCudaError, comm, {invalidated});
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

TEST(BadDeviceInput, ACaptureThatIsNoLongerValid) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 2 * kInts);
    const cudaStream_t stream = newStream();
    me.meet();
    works(me, comm, b, stream);
    callInAnInvalidCapture(comm, b, stream);
    works(me, comm, b, stream);
    // of one rank: no calls that the other one would have to make
    if (me.rank == 0) callInAnInvalidCapture(comm, b, stream);
    works(me, comm, b, stream);
    check(cudaStreamDestroy(stream));
    good(rondoCommDestroy(comm));
  });
}

TEST(BadDeviceInput, FreedMemory) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 2 * kInts);
    int* gone = nullptr;
    check(cudaMalloc(&gone, size_t{64} << 20));
    me.meet();
    good(rondoAllReduce(b.src.at(0), gone, kInts, rondoInt32, rondoSum, comm, b.stream));
    me.launched();
    check(waitFor(b.stream));
    me.meet();
    check(cudaFree(gone));
    me.meet();
    for (const cudaStream_t stream : {cudaStream_t{nullptr}, b.stream}) {
      refused(rondoAllReduce(gone, gone, kInts, rondoInt32, rondoSum, comm, stream),
              rondoInvalidArgument, comm,
              {"rondoAllReduce: rank ", ": argument sendbuff (",
               ") is device memory that was freed: nothing reaches it any more; allowed: host "
               "memory, or memory of the communicator's device 0"});
    }
    works(me, comm, b, b.stream);
    good(rondoCommDestroy(comm));
  });
}

TEST(BadDeviceInput, MemoryOfAnotherDevice) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "needs two GPUs";
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 2 * kInts);
    int* others = nullptr;
    check(cudaSetDevice(1));
    check(cudaMalloc(&others, kInts * sizeof(int)));
    check(cudaSetDevice(0));
    const std::string allowed =
        ") is device memory of device 1; allowed: memory of the communicator's device 0";
    refused(rondoAllReduce(b.src.at(0), others, kInts, rondoInt32, rondoSum, comm, b.stream),
            rondoInvalidArgument, comm, {": argument recvbuff (", allowed});
    refused(rondoSend(others, 9, rondoInt32, me.after(1), comm, b.stream), rondoInvalidArgument,
            comm, {": argument sendbuff (", allowed});
    works(me, comm, b, b.stream);
    check(cudaFree(others));
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test
