// Buffers of the wrong memory in calls of the C API, over a driver that is pretended: a sentence
// that names the argument, and a communicator that works on.

#include <string>

#include "cuda/pretended.h"

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

TEST_F(PretendedArguments, FreedMemoryWithAStream) {
  char* const device = given(kBytes, 0);
  freed(device);
  refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm_, stream()),
          rondoInvalidArgument, "memory that was freed");
}

}  // namespace
}  // namespace rondo::testing
