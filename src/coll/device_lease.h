#pragma once
// The device memory that the ranks of a communicator share, and the kernels' views of it.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "coll/device_order.h"
#include "kernels/direct_call.h"
#include "p2p/bootstrap.h"
#include "p2p/channel_view.h"
#include "p2p/cuda_memory.h"
#include "p2p/fd_exchange.h"

namespace rondo {

/// What a rank tells the others of its device; equal bytes mean equal devices and processes.
struct DeviceCard {
  int32_t code;  ///< rondoResult_t of opening the device.
  int32_t descriptors;
  int32_t noLines;       ///< DeviceConfig::noLineStores
  int32_t blocksAtOnce;  ///< Of any kernel, on the whole device.
  int32_t blocksFree;    ///< Of them, not promised to another communicator of this process.
  int32_t blocksWanted;  ///< config.smBudget, as blocks; 0: what is usual.
  int32_t noSms;         ///< DeviceConfig::noSms
  std::array<unsigned char, 16> device;
  std::array<uint64_t, 2> process;
  OrderCard order;
  std::array<char, 160> why;  ///< The sentence behind `code`.
};

/// How many blocks every rank may keep busy: ranks that share a device wait for each other, as do
/// communicators, so all their kernels must fit on it together. 0: too few are left, as `why` says.
int agreedLanes(const std::vector<DeviceCard>& cards, std::string* why);

/// How a rank's memory is cut. It grows with the blocks that the communicator may keep busy, about
/// 0.4 MiB each: a communicator with few of them needs little.
struct LeaseShape {
  WindowShape windowLL{};
  WindowShape windowLL128{};
  int ringLanes = 0;
  int pairLanes = 0;  ///< 0: more ranks than can send to each other.
};
LeaseShape leaseShape(int ranks, int lanes);
/// Of each rank.
uint64_t leaseBytes(int ranks, const LeaseShape& shape);

/// One allocation a rank, laid out alike on all of them, mapped by every other.
class DeviceLease {
 public:
  /// Collective: allocates, exchanges, maps, and has every rank write to all others and look at
  /// what came. Throws the same Error on all ranks. `losePeerWrites`: tests; this rank's writes go
  /// astray, as behind an IOMMU that translates them.
  DeviceLease(Bootstrap& boot, FdExchange* fds, const std::vector<int>& peers,
              const CudaDevice& device, const std::vector<DeviceCard>& cards,
              const LeaseShape& shape, bool losePeerWrites = false);

  WindowView windowLL() const;
  WindowView windowLL128() const;
  HelloView hello() const;
  RingView ring() const;
  PairView pairs() const;
  DirectView direct() const;
  MeetingView meeting() const;
  const LeaseShape& shape() const { return shape_; }
  /// 128-byte stores of every rank arrive whole at every other.
  bool lineStores() const { return lineStores_; }

  /// Sets every counter of this rank.
  void setCounters(const CudaDevice& device, uint32_t value);

 private:
  struct Offer;
  Offer makeOffer(bool crossesProcesses);
  void map(const CudaDevice& device, const std::vector<Offer>& offers,
           const std::vector<DeviceCard>& cards, const std::vector<int>& peers,
           const std::vector<UniqueFd>& descriptors);
  void writeToPeers(const CudaDevice& device, const std::vector<int>& peers) const;
  void checkWrites(const CudaDevice& device, const std::vector<int>& peers) const;
  WindowView window(const WindowShape& shape, uint64_t places, uint64_t epochs) const;
  unsigned char* at(int rank, uint64_t offset) const;
  uint32_t* words(int rank, uint64_t offset) const;

  int rank_;
  int size_;
  const LeaseShape shape_;
  DeviceMemory::Sharing sharing_;
  bool lineStores_ = false;
  std::shared_ptr<DeviceMemory> own_;
  std::vector<std::shared_ptr<DeviceMemory>> memory_;  ///< By rank, as mapped here.
};

}  // namespace rondo
