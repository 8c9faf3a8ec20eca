// Buffers of the wrong memory in calls of the C API, over a driver that is pretended: a sentence
// that names the argument, and a communicator that works on.

#include <sys/mman.h>

#include <memory>
#include <string>

#include "api/comm_create.h"
#include "api/handle.h"
#include "cuda/pretended.h"
#include "support/idle_runner.h"
#include "support/thread_bootstrap.h"

namespace rondo::testing {
namespace {

constexpr size_t kCount = 100, kBytes = kCount * sizeof(int);

/// A communicator of one rank, on host memory alone.
class PretendedArguments : public PretendedCuda {
 protected:
  PretendedArguments() {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.device = RONDO_DEVICE_NONE;
    rondoUniqueId id;
    EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess);
    EXPECT_EQ(rondoCommInitRankConfig(&comm_, 1, id, 0, &config), rondoSuccess)
        << rondoGetLastError(nullptr);
  }
  ~PretendedArguments() override {
    EXPECT_EQ(rondoAllReduce(in_, out_, kCount, rondoInt32, rondoSum, comm_, nullptr), rondoSuccess)
        << "the communicator was to be left usable: " << rondoGetLastError(comm_);
    EXPECT_EQ(rondoCommDestroy(comm_), rondoSuccess);
  }
  /// What a call came to, which is not to succeed.
  void refused(rondoResult_t result, rondoResult_t code, const std::string& sentence) const {
    EXPECT_EQ(result, code);
    const std::string said = rondoGetLastError(comm_);
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
  }
  rondoStream_t stream() const { return reinterpret_cast<rondoStream_t>(uintptr_t{0x100}); }

  rondoComm_t comm_ = nullptr;
  int in_[kCount] = {}, out_[kCount] = {};
};

TEST_F(PretendedArguments, HostMemoryBesideADevices) {
  char* const device = given(kBytes, 1);
  refused(rondoAllReduce(in_, device, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoInvalidArgument, "is host memory and recvbuff (");
  refused(rondoAllReduce(device, out_, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoInvalidArgument, "allowed: host memory both, or device memory both");
  refused(rondoAllGather(device, out_, kCount, rondoInt32, comm_, nullptr), rondoInvalidArgument,
          "rondoAllGather: rank 0: argument sendbuff (");
  freed(device);
}

TEST_F(PretendedArguments, DeviceMemoryOnACommunicatorWithoutADevice) {
  char* const device = given(2 * kBytes, 0);
  const std::string sentence = "has host memory only: ";
  refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoUnsupported, sentence);
  refused(rondoBroadcast(device, device, kCount, rondoInt32, 0, comm_, nullptr), rondoUnsupported,
          sentence);
  refused(rondoSend(device, kCount, rondoInt32, 0, comm_, nullptr), rondoUnsupported, sentence);
  refused(rondoRecv(device, kCount, rondoInt32, 0, comm_, nullptr), rondoUnsupported, sentence);
  freed(device);
}

TEST_F(PretendedArguments, HostMemoryWithAStream) {
  refused(rondoAllReduce(in_, out_, kCount, rondoInt32, rondoSum, comm_, stream()),
          rondoInvalidArgument,
          "but the buffers are host memory, which is done with when the call returns, or device "
          "memory that was freed; allowed: NULL, or device memory");
}

TEST_F(PretendedArguments, ScalarsOnADevice) {
  char* const device = given(2 * kBytes, 0);
  rondoRedOp_t op{};
  refused(rondoRedOpCreatePreMulSum(&op, device, rondoFloat32, rondoScalarHostImmediate, comm_),
          rondoInvalidArgument,
          "is device memory, which this call would read on the host; allowed with "
          "rondoScalarHostImmediate: host or managed memory");
  refused(rondoRedOpCreatePreMulSum(&op, device + 2, rondoFloat32, rondoScalarDevice, comm_),
          rondoInvalidArgument, "; allowed for float32 on a device: a multiple of 4");
  refused(rondoRedOpCreatePreMulSum(&op, device + 1, rondoFloat16, rondoScalarDevice, comm_),
          rondoInvalidArgument, "; allowed for float16 on a device: a multiple of 2");
  refused(rondoRedOpCreatePreMulSum(&op, device + 2, rondoFloat16, rondoScalarDevice, comm_),
          rondoUnsupported, "argument scalar is device memory");
  freed(device);
}

constexpr char kFreed[] = "is device memory that was freed: nothing reaches it any more; allowed: ";

// The host would read or write where nothing is any more.
TEST_F(PretendedArguments, FreedMemory) {
  char* const device = given(5 * kMiB, 0);
  freed(device);
  for (const rondoStream_t with : {rondoStream_t{nullptr}, stream()}) {
    refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, with),
            rondoInvalidArgument, kFreed);
  }
  char* const behind = device + 5 * kMiB - kBytes;
  refused(rondoAllReduce(in_, behind, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoInvalidArgument, "rondoAllReduce: rank 0: argument recvbuff (");
  refused(rondoBroadcast(behind, out_, kCount, rondoInt32, 0, comm_, nullptr), rondoInvalidArgument,
          "rondoBroadcast: rank 0: argument sendbuff (");
  refused(rondoSend(device, kCount, rondoInt32, 0, comm_, nullptr), rondoInvalidArgument, kFreed);
  refused(rondoRecv(device, kCount, rondoInt32, 0, comm_, nullptr), rondoInvalidArgument, kFreed);
  const size_t counts[] = {kCount}, displs[] = {0};
  refused(rondoAllGatherV(device, kCount, out_, counts, displs, rondoInt32, comm_, nullptr),
          rondoInvalidArgument, kFreed);
  rondoRedOp_t op{};
  refused(rondoRedOpCreatePreMulSum(&op, device, rondoInt32, rondoScalarHostImmediate, comm_),
          rondoInvalidArgument, kFreed);
}

// The program's own, which the library has seen in one call.
TEST_F(PretendedArguments, MemoryOfCudaMallocThatWasFreed) {
  current(0);
  unsigned long long at = 0;
  ASSERT_EQ(ofDriver<int(unsigned long long*, size_t)>("cuMemAlloc_v2")(&at, kMiB), 0);
  void* const device = reinterpret_cast<void*>(at);
  refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoUnsupported, "has host memory only: ");
  ASSERT_EQ(ofDriver<int(unsigned long long)>("cuMemFree_v2")(at), 0);
  refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, nullptr),
          rondoInvalidArgument, kFreed);
  // And where the host has memory since, that is what it is.
  ASSERT_EQ(mmap(device, kMiB, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            device);
  EXPECT_EQ(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm_);
  munmap(device, kMiB);
}

/// Of device 0; counts its calls.
class OneDevice final : public IdleRunner {
 public:
  explicit OneDevice(int* calls) : calls_(*calls) {}
  DeviceServed run(const DeviceCall&) override {
    ++calls_;
    return {};
  }
  void exchange(const char*, std::span<const Transfer>, std::span<const rondoStream_t>) override {
    ++calls_;
  }
  void exchangeInPlace(const char*, std::span<const Transfer>, rondoStream_t) override { ++calls_; }

 private:
  int& calls_;
};

class PretendedDevice : public PretendedCuda {
 protected:
  PretendedDevice() {
    Config config = checkConfig("PretendedDevice", nullptr);
    config.nearDevice = [this](int) { return std::make_unique<OneDevice>(&calls); };
    EXPECT_EQ(guarded(nullptr, "PretendedDevice", [&] { comm = createComm(boot_, config, {}); }),
              rondoSuccess)
        << rondoGetLastError(nullptr);
  }
  void refused(rondoResult_t result, const std::string& sentence) const {
    EXPECT_EQ(result, rondoInvalidArgument);
    const std::string said = rondoGetLastError(comm.get());
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
    EXPECT_EQ(calls, 0);
  }

  int calls = 0;

 private:
  ThreadGroup group_{1};
  ThreadBootstrap boot_{group_, 0};

 protected:
  CommPtr comm;
};

TEST_F(PretendedDevice, MemoryOfAnotherDevice) {
  char* const ours = given(2 * kBytes, 0);
  char* const others = given(2 * kBytes, 1);
  const char kAllowed[] =
      ") is device memory of device 1; allowed: memory of the communicator's device 0";
  refused(rondoAllReduce(others, others, kCount, rondoInt32, rondoSum, comm.get(), nullptr),
          kAllowed);
  refused(rondoAllReduce(others, ours, kCount, rondoInt32, rondoSum, comm.get(), nullptr),
          "rondoAllReduce: rank 0: argument sendbuff (");
  refused(rondoAllGather(ours, others, kCount, rondoInt32, comm.get(), nullptr),
          "rondoAllGather: rank 0: argument recvbuff (");
  refused(rondoSend(others, kCount, rondoInt32, 0, comm.get(), nullptr), kAllowed);
  refused(rondoRecv(others, kCount, rondoInt32, 0, comm.get(), nullptr), kAllowed);
  const size_t counts[] = {kCount}, displs[] = {0};
  refused(rondoAllGatherV(ours, kCount, others, counts, displs, rondoInt32, comm.get(), nullptr),
          kAllowed);
  EXPECT_EQ(rondoAllReduce(ours, ours, kCount, rondoInt32, rondoSum, comm.get(), nullptr),
            rondoSuccess)
      << rondoGetLastError(comm.get());
  EXPECT_EQ(calls, 1);
  freed(others);
  freed(ours);
  calls = 0;
  refused(rondoAllReduce(ours, ours, kCount, rondoInt32, rondoSum, comm.get(), nullptr),
          "allowed: host memory, or memory of the communicator's device 0");
}

}  // namespace
}  // namespace rondo::testing
