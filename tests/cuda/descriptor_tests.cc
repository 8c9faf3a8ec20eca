// A rank that has no room for a descriptor, as it has too many open files: an error of all ranks,
// for they wait for each other. Ranks are threads that say that they are processes.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "coll/device_lease.h"
#include "coll/user_memory.h"
#include "cuda/pretended.h"
#include "p2p/datagrams.h"
#include "p2p/fd_exchange.h"
#include "support/thread_bootstrap.h"

namespace rondo::testing {
namespace {

/// To rank 1, as if from rank 0: a descriptor that did not fit (src/p2p/fd_exchange.cc).
void sendWithoutDescriptor(const Secret& secret) {
  const struct {
    uint32_t magic = 0x52444644, round = 0;
    int32_t rank = 0;
    uint32_t hasFd = 1;
    Secret secret;
  } message{.secret = secret};
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(sendDatagram(socket.get(), groupAddress(secret, "r1"), &message, sizeof message, -1),
            0);
}

/// Rank 1's: once the ranks have a new secret and sockets of that name, it sends itself that.
class WithStray : public ThreadBootstrap {
 public:
  using ThreadBootstrap::ThreadBootstrap;
  void allGather(const void* mine, size_t bytes, void* all) override {
    if (secret_ && rank() == 1) sendWithoutDescriptor(*secret_);
    secret_.reset();
    ThreadBootstrap::allGather(mine, bytes, all);
    if (bytes == sizeof(Secret)) secret_ = static_cast<const Secret*>(all)[0];
  }

 private:
  std::optional<Secret> secret_;
};

class Descriptors : public PretendedCuda {
 protected:
  struct Rank {
    ThreadBootstrap& boot;
    const CudaDevice& device;
    const std::vector<DeviceCard>& cards;
  };
  /// Both ranks' `body` throws the same Error.
  template <class Boot>
  void refused(const std::function<void(const Rank&)>& body) {
    ThreadGroup group(2);
    std::atomic<int> refusals{0};
    const auto rank = [&](int r) {
      Boot boot(group, r);
      const CudaDevice device = CudaDevice::open(r, 0);
      DeviceCard mine{};
      mine.device = device.uuid();
      mine.process = {static_cast<uint64_t>(r + 1), 0};
      mine.ordinal = device.ordinal();
      mine.descriptors = 1;
      std::vector<DeviceCard> cards(2);
      boot.ThreadBootstrap::allGather(&mine, sizeof mine, cards.data());
      try {
        body({boot, device, cards});
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), rondoSystemError);
        EXPECT_NE(error.sentence().find("descriptor of rank 0 did not fit"), std::string::npos)
            << error.sentence();
        ++refusals;
      }
      for (int i = 0; i < 5000 && refusals != 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (refusals == 2) return;
      ADD_FAILURE() << "rank " << r << " is alone with its error: the other one waits for ever";
      std::_Exit(1);
    };
    std::thread other([&] { rank(1); });
    rank(0);
    other.join();
  }
};

TEST_F(Descriptors, OfACommunicatorsMemory) {
  refused<ThreadBootstrap>([](const Rank& me) {
    const std::vector<int> peers{1 - me.boot.rank()};
    FdExchange fds(me.boot, peers);
    me.boot.barrier();
    if (me.boot.rank() == 1) sendWithoutDescriptor(me.boot.secret());
    DeviceLease::create({me.boot, &fds, peers, me.device, me.cards}, leaseShape(2, 1), {});
  });
}

TEST_F(Descriptors, OfARegistration) {
  refused<WithStray>([](const Rank& me) {
    void* const memory = given(kMiB, me.device.ordinal());
    UserMemory known(me.device, me.cards, me.boot.rank(), true, {.off = true});
    try {
      known.add(me.boot, memory, kMiB, MemoryUse::kStraight);
    } catch (...) {
      freed(memory);
      throw;
    }
    freed(memory);
  });
}

}  // namespace
}  // namespace rondo::testing
