#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_lease.h"

#include <algorithm>

#include "api/rondo.h"
#include "base/error.h"

namespace rondo {
namespace {

// Where things are in a rank's allocation.
struct Layout {
  explicit Layout(int ranks) {
    const uint64_t flags = uint64_t{kRingLanes} * kFlagWords * 4;
    head = 0;
    credit = head + flags;
    steps = credit + flags;
    epochs = steps + flags;
    slots = epochs + flags;
    window = slots + uint64_t{kRingLanes} * kFifoSlots * kSlotBytes;
    bytes = window + (ranks <= kMaxWindowRanks ? windowBytes(ranks) : 0);
  }
  uint64_t head, credit, steps, epochs, slots, window, bytes;
};

}  // namespace

// How peers reach a rank's memory. `shared` is good within the process only, and until the
// collective creation is over.
struct DeviceLease::Offer {
  const std::shared_ptr<DeviceMemory>* shared;
  uint64_t bytes;
  CudaIpcHandle ipc;
};

DeviceLease::DeviceLease(Bootstrap& boot, FdExchange* fds, const std::vector<int>& peers,
                         const CudaDevice& device, const std::vector<DeviceCard>& cards)
    : rank_(boot.rank()), size_(boot.size()) {
  const bool descriptors =
      std::all_of(cards.begin(), cards.end(), [](const auto& c) { return c.descriptors != 0; });
  const bool crosses = std::any_of(cards.begin(), cards.end(), [&](const auto& c) {
    return c.process != cards.front().process;
  });
  sharing_ = descriptors ? DeviceMemory::Sharing::kDescriptor : DeviceMemory::Sharing::kLegacyIpc;

  Offer mine{};
  UniqueFd fd;
  int code = rondoSuccess;
  std::string sentence;
  const auto attempt = [&](auto&& step) {
    try {
      step();
    } catch (const Error& error) {
      code = error.code();
      sentence = error.sentence();
    }
    boot.agree(code, sentence);
  };
  attempt([&] {
    own_ = allocateDevice(device, Layout(size_).bytes, sharing_);
    mine = makeOffer(crosses);
    if (crosses && descriptors) fd = own_->exportDescriptor();
    if (crosses && descriptors && fds == nullptr) {
      throw Error(rondoInternalError, "ranks of several processes need a descriptor exchange");
    }
  });
  std::vector<Offer> offers(static_cast<size_t>(size_));
  boot.allGather(&mine, sizeof mine, offers.data());
  std::vector<UniqueFd> received;
  if (crosses && descriptors) received = fds->exchange(fd.get());
  attempt([&] { map(device, offers, cards, peers, received); });
}

DeviceLease::Offer DeviceLease::makeOffer(bool crossesProcesses) {
  Offer offer{&own_, own_->bytes(), {}};
  if (crossesProcesses && sharing_ == DeviceMemory::Sharing::kLegacyIpc) {
    offer.ipc = own_->exportIpc();
  }
  return offer;
}

void DeviceLease::map(const CudaDevice& device, const std::vector<Offer>& offers,
                      const std::vector<DeviceCard>& cards, const std::vector<int>& peers,
                      const std::vector<UniqueFd>& descriptors) {
  memory_.resize(offers.size());
  memory_[static_cast<size_t>(rank_)] = own_;
  for (size_t k = 0; k < peers.size(); ++k) {
    const size_t peer = static_cast<size_t>(peers[k]);
    const DeviceCard& mine = cards[static_cast<size_t>(rank_)];
    try {
      if (cards[peer].process == mine.process) {
        memory_[peer] = *offers[peer].shared;
        if (cards[peer].device != mine.device) memory_[peer]->allow(device);
      } else if (sharing_ == DeviceMemory::Sharing::kDescriptor) {
        memory_[peer] = importDescriptor(device, descriptors[k], offers[peer].bytes);
      } else {
        memory_[peer] = importIpc(device, offers[peer].ipc, offers[peer].bytes);
      }
    } catch (const Error& error) {
      throw Error(error.code(), format("device %d cannot map the memory of rank %d: %s",
                                       device.ordinal(), peers[k], error.sentence().c_str()));
    }
  }
}

unsigned char* DeviceLease::at(int rank, uint64_t offset) const {
  return memory_[static_cast<size_t>(rank)]->data() + offset;
}

uint32_t* DeviceLease::words(int rank, uint64_t offset) const {
  return reinterpret_cast<uint32_t*>(at(rank, offset));
}

WindowView DeviceLease::window() const {
  const Layout layout(size_);
  WindowView view{};
  for (int r = 0; r < size_ && r < kMaxWindowRanks; ++r) view.base[r] = at(r, layout.window);
  view.epochs = words(rank_, layout.epochs);
  return view;
}

RingView DeviceLease::ring() const {
  const Layout layout(size_);
  const int next = (rank_ + 1) % size_;
  const int prev = (rank_ + size_ - 1) % size_;
  return RingView{{at(rank_, layout.slots), words(rank_, layout.head), words(prev, layout.credit)},
                  {at(next, layout.slots), words(next, layout.head), words(rank_, layout.credit)},
                  words(rank_, layout.steps)};
}

void DeviceLease::setCounters(const CudaDevice& device, uint32_t value) {
  // head, credit, steps and epochs lie side by side, at the start
  fillDevice(device, at(rank_, 0), value, Layout(size_).slots / 4);
}

}  // namespace rondo

#endif  // HAVE_CUDA
