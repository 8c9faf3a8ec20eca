// Devices that are lost, or have no memory left, where the driver is pretended: a sentence with
// CUDA's own error, and all else goes on.

#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "coll/device_lease.h"
#include "cuda/pretended.h"
#include "support/thread_bootstrap.h"

namespace rondo::testing {
namespace {

constexpr int kEccUncorrectable = 214;  // CUDA_ERROR_ECC_UNCORRECTABLE
constexpr char kWhatCudaSays[] =
    "CUDA_ERROR_ECC_UNCORRECTABLE (uncorrectable ECC error encountered)";
constexpr size_t kCount = 100, kBytes = kCount * sizeof(int);

class LostDevice : public PretendedCuda {
 protected:
  /// A communicator of one rank.
  static rondoResult_t make(rondoComm_t* comm, int device) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.device = device;
    rondoUniqueId id;
    EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess);
    return rondoCommInitRankConfig(comm, 1, id, 0, &config);
  }
  static void refused(rondoResult_t result, rondoResult_t code, rondoComm_t comm,
                      const std::vector<std::string>& words) {
    EXPECT_EQ(result, code);
    const std::string said = rondoGetLastError(comm);
    for (const std::string& each : words) {
      EXPECT_NE(said.find(each), std::string::npos) << said << "; not there: " << each;
    }
  }
  void good(rondoComm_t comm) {
    in_[0] = 7;
    EXPECT_EQ(rondoAllReduce(in_, out_, kCount, rondoInt32, rondoSum, comm, nullptr), rondoSuccess)
        << rondoGetLastError(comm);
    EXPECT_EQ(out_[0], 7);
  }
  int in_[kCount] = {}, out_[kCount] = {};
};

TEST_F(LostDevice, CallsSayWhatTheDriverSaysAndTheHostGoesOn) {
  rondoComm_t comm = nullptr;
  ASSERT_EQ(make(&comm, RONDO_DEVICE_NONE), rondoSuccess) << rondoGetLastError(nullptr);
  char* const device = given(kBytes, 0);
  good(comm);
  lose(kEccUncorrectable);
  const std::string allowed = "; allowed: host memory";
  refused(rondoAllReduce(device, device, kCount, rondoInt32, rondoSum, comm, nullptr),
          rondoUnhandledCudaError, comm,
          {"rondoAllReduce: rank 0: argument sendbuff (", kWhatCudaSays, allowed,
           "is memory that the host does not reach, and of which the CUDA driver says"});
  refused(rondoSend(device, kCount, rondoInt32, 0, comm, nullptr), rondoUnhandledCudaError, comm,
          {"rondoSend: rank 0: argument sendbuff (", kWhatCudaSays, allowed});
  good(comm);
  void* memory = nullptr;
  refused(rondoMemAllocDevice(&memory, 100, 0), rondoUnhandledCudaError, nullptr,
          {"rondoMemAllocDevice: ", kWhatCudaSays});
  // What is to be made with a device is not; what may do without does, and says why when asked.
  rondoComm_t other = nullptr;
  refused(make(&other, 0), rondoUnsupported, nullptr,
          {"config.device is 0, but the communicator can have no device: ", kWhatCudaSays});
  ASSERT_EQ(make(&other, RONDO_DEVICE_AUTO), rondoSuccess) << rondoGetLastError(nullptr);
  good(other);
  EXPECT_EQ(rondoCommDestroy(other), rondoSuccess);
  freed(device);
  good(comm);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

/// Two ranks, each with a device of its own, make their lease; what each of them is told.
std::vector<std::string> leases(std::vector<int>* codes) {
  ThreadGroup group(2);
  std::vector<std::string> said(2);
  codes->assign(2, rondoSuccess);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      ThreadBootstrap boot(group, r);
      const CudaDevice device = CudaDevice::open(r, 0);
      DeviceCard mine{};
      mine.device = device.uuid();
      mine.process = {1, 0};
      mine.ordinal = device.ordinal();
      mine.context = reinterpret_cast<uint64_t>(device.context());
      mine.descriptors = 1;
      std::vector<DeviceCard> cards(2);
      boot.allGather(&mine, sizeof mine, cards.data());
      const std::vector<int> peers = {1 - r};
      try {
        const auto lease =
            DeviceLease::create({boot, nullptr, peers, device, cards}, leaseShape(2, 8), {});
        EXPECT_FALSE(lease->onHost());
        boot.barrier();  // nobody's is freed while another one is made
      } catch (const Error& error) {
        (*codes)[static_cast<size_t>(r)] = error.code();
        said[static_cast<size_t>(r)] = error.sentence();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

TEST_F(LostDevice, ALeaseWithoutMemoryIsAnErrorOfAllRanks) {
  std::vector<int> codes;
  ASSERT_EQ(leases(&codes), (std::vector<std::string>{"", ""}));
  char* const most = given(63 * kMiB, 1);
  ASSERT_GT(leaseBytes(2, leaseShape(2, 8)), kMiB);
  const std::vector<std::string> said = leases(&codes);
  EXPECT_EQ(codes, (std::vector<int>{rondoOutOfMemory, rondoOutOfMemory}));
  EXPECT_EQ(said[0], said[1]);
  for (const char* words : {"rank 1", "device 1", "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"}) {
    EXPECT_NE(said[0].find(words), std::string::npos) << said[0];
  }
  freed(most);
  EXPECT_EQ(leases(&codes), (std::vector<std::string>{"", ""})) << "there is memory again";
}

}  // namespace
}  // namespace rondo::testing
