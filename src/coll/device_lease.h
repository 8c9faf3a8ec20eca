#pragma once
// The device memory that the ranks of a communicator share, and the kernels' views of it.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/stage_times.h"
#include "coll/device_budget.h"
#include "coll/device_order.h"
#include "coll/device_predict.h"
#include "coll/device_tenants.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"
#include "p2p/bootstrap.h"
#include "p2p/channel_view.h"
#include "p2p/cuda_memory.h"
#include "p2p/fd_exchange.h"

namespace rondo {

/// What a rank tells the others of its device.
struct DeviceCard : DeviceTenant {
  int32_t code;  ///< rondoResult_t of opening the device.
  int32_t descriptors;
  int32_t noLines;  ///< DeviceConfig::noLineStores
  DeviceRoom room;
  int32_t blocksHeld;      ///< DeviceConfig::blocksHeld, among those taken.
  DeviceSharers sharers;   ///< DeviceConfig::sharers
  int32_t blocksWanted;    ///< config.smBudget, as blocks; 0: what is usual.
  int32_t blocksMost;      ///< DeviceConfig::smMost, as blocks; 0: no bound.
  int32_t noSms;           ///< DeviceConfig::noSms
  int32_t ordinal;         ///< The process's name of the device.
  int32_t registeredOnly;  ///< DeviceConfig::registeredOnly
  int32_t noBackground;    ///< DeviceConfig::noBackground
  Close close;             ///< How close its kernels come in graphs, at best.
  uint64_t context;        ///< An address of the process.
  OrderCard order;
  std::array<char, 160> why;  ///< The sentence behind `code`.
};

/// How many blocks every rank may keep busy: ranks that share a device wait for each other, as do
/// communicators, so all their kernels must fit on it together. 0: too few are left, as `why` says.
int agreedLanes(const std::vector<DeviceCard>& cards, std::string* why);

std::vector<DeviceTenant> tenantsOf(const std::vector<DeviceCard>& cards);

/// Whether another of the communicator's ranks has this one's context.
bool sharesContext(const std::vector<DeviceCard>& cards, int rank);

/// What must be able to go on in a rank's context while it waits for all that runs there: launches,
/// if other ranks of the communicator have it, or other communicators of the process the device.
CudaDevice::Meanwhile whileWaiting(const CudaDevice& device, bool sharesContext);

/// Whether long sends between any two ranks may go straight into memory that nobody registers.
bool mayGoStraight(const std::vector<DeviceCard>& cards);

/// How close kernels of all ranks come behind those before them in graphs (coll/close_launch.h).
Close agreedClose(const std::vector<DeviceCard>& cards);

/// What agreedOrder() says.
uint64_t agreedSerial(const std::vector<DeviceCard>& cards);

/// How a rank's memory is cut. It grows with the blocks that the communicator may keep busy, about
/// 0.4 MiB each: a communicator with few of them needs little. A further one on its devices, for
/// which nobody said how many blocks it is to have, keeps to kLeanBytes: it has windows for most of
/// its blocks, and rings, which need the most and are the slower the fewer lanes they have, for
/// some.
struct LeaseShape {
  WindowShape windowLL{};
  WindowShape windowLL128{};
  int ringLanes = 0;
  int pairLanes = 0;    ///< 0: more ranks than can send to each other.
  int passOnLanes = 0;  ///< As many, where collectives send, too (DeviceRunner::passOn); else 0.
};
constexpr int kLeanLanes = 24;
constexpr uint64_t kLeanBytes = 4u << 20;  ///< Without what collectives send.
LeaseShape leaseShape(int ranks, int lanes, bool passesOn = false);
/// That of a further one of so many lanes, kLeanLanes at most, or the usual one. `lines`: lines may
/// arrive whole, so that most goes through windows of LL128.
LeaseShape leanShape(int ranks, int lanes, bool passesOn = false, bool lines = true);
/// Of these devices' ranks; `lanes`: agreedLanes().
LeaseShape agreedShape(const std::vector<DeviceCard>& cards, int lanes, bool passesOn);
/// Of each rank.
uint64_t leaseBytes(int ranks, const LeaseShape& shape);

/// One allocation a rank, laid out alike on all of them, mapped by every other: memory of its
/// device, or pages of the host.
class DeviceLease {
 public:
  /// What every rank brings to making one.
  struct Ranks {
    Bootstrap& boot;
    FdExchange* fds;
    const std::vector<int>& peers;
    const CudaDevice& device;
    const std::vector<DeviceCard>& cards;
  };
  struct Wish {
    bool hostMemory = false;  ///< Pages of the host; the same on all ranks.
    /// Tests: what this rank writes to others' devices goes astray, as behind an IOMMU that
    /// translates it.
    bool losePeerWrites = false;
    StageTimes* times = nullptr;  ///< Of its steps; nullptr: nobody asks.
  };

  /// Collective: allocates, exchanges, maps, and has every rank write to all others and look at
  /// what came. Where that fails with memory of the devices, it is pages of the host, and a warning
  /// says why. Throws the same Error on all ranks.
  static std::unique_ptr<DeviceLease> create(const Ranks& ranks, const LeaseShape& shape,
                                             const Wish& wish);

  WindowView windowLL() const;
  WindowView windowLL128() const;
  /// Of the windows of that protocol, whose epochs they carry.
  HelloView hello(Protocol protocol) const;
  RingView ring() const;
  PairView pairs() const;
  DirectView direct() const;
  /// The same for passOn().
  PairView passOnPairs() const;
  DirectView passOnDirect() const;
  MeetingView meeting() const;
  /// This rank's own.
  FaultLook* faultLook() const;
  const LeaseShape& shape() const { return shape_; }
  /// 128-byte stores of every rank arrive whole at every other.
  bool lineStores() const { return lineStores_; }
  bool onHost() const { return sharing_ == DeviceMemory::Sharing::kHost; }

  /// Sets every counter of this rank.
  void setCounters(const CudaDevice& device, uint32_t value);

 private:
  struct Offer;
  DeviceLease(const Ranks& ranks, const LeaseShape& shape, DeviceMemory::Sharing sharing);
  void exchange(const Ranks& ranks, const Wish& wish);
  void allocate(const Ranks& ranks);
  Offer makeOffer(const Ranks& ranks, bool crossesProcesses, UniqueFd* fd);
  void map(const Ranks& ranks, const std::vector<Offer>& offers,
           const std::vector<UniqueFd>& descriptors);
  void writeToPeers(const CudaDevice& device, const std::vector<int>& peers) const;
  void checkWrites(const CudaDevice& device, const std::vector<int>& peers) const;
  PairView pairs(int lanes, uint64_t fifos, uint64_t counters) const;
  DirectView direct(uint64_t lanes) const;
  WindowView window(const WindowShape& shape, uint64_t places, uint64_t epochs) const;
  unsigned char* at(int rank, uint64_t offset) const;
  uint32_t* words(int rank, uint64_t offset) const;
  unsigned char* ownWords(uint64_t offset) const;

  const int rank_;
  const int size_;
  const LeaseShape shape_;
  const DeviceMemory::Sharing sharing_;
  bool lineStores_ = false;
  std::shared_ptr<DeviceMemory> counters_;  ///< With pages of the host: what no peer looks at.
  std::shared_ptr<DeviceMemory> own_;
  std::vector<std::shared_ptr<DeviceMemory>> memory_;  ///< By rank, as mapped here.
};

}  // namespace rondo
