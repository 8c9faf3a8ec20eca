#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_lease.h"

#include <algorithm>
#include <cstddef>

#include "api/rondo.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/device_budget.h"
#include "p2p/agree_on.h"

namespace rondo {
namespace {

// Where things are in a rank's allocation. Counters first, see setCounters().
struct Layout {
  Layout(int ranks, const LeaseShape& shape) {
    const uint64_t flags = static_cast<uint64_t>(shape.ringLanes) * kFlagWords * 4;
    const uint64_t peers = static_cast<uint64_t>(ranks - 1);
    head = 0;
    credit = head + flags;
    steps = credit + flags;
    const uint64_t queues = peers * static_cast<uint64_t>(shape.pairLanes);
    const uint64_t passOn = peers * static_cast<uint64_t>(shape.passOnLanes);
    offers = steps + flags;
    pairs = offers + sizeof(RingOffers);
    passOnPairs = pairs + queues * sizeof(PairLane);
    direct = passOnPairs + passOn * sizeof(PairLane);
    passOnDirect = direct + queues * sizeof(DirectLane);
    meeting = passOnDirect + passOn * sizeof(DirectLane);
    epochsLL = meeting + (ranks <= kMaxPairRanks ? kMeetingBytes : 0);
    epochsLL128 = epochsLL + static_cast<uint64_t>(shape.windowLL.lanes) * 8;
    countersEnd = epochsLL128 + static_cast<uint64_t>(shape.windowLL128.lanes) * 8;
    look = (countersEnd + 127) / 128 * 128;
    written = look + 128;
    decisions = written + uint64_t{kWrittenWords} * 4;
    hello = decisions + (static_cast<uint64_t>(shape.ringLanes) * 8 + 127) / 128 * 128;
    helloLL = hello + helloBytes(shape.windowLL128.lanes);
    slots = roundUp(helloLL + helloBytes(shape.windowLL.lanes));
    fifos = roundUp(slots + static_cast<uint64_t>(shape.ringLanes) * kFifoSlots * kSlotBytes);
    passOnFifos = fifos + queues * kPairFifoBytes;
    windowLL = roundUp(passOnFifos + passOn * kPairFifoBytes);
    const bool windows = ranks <= kMaxWindowRanks;
    windowLL128 = windowLL + (windows ? shape.windowLL.bytes(ranks) : 0);
    bytes = windowLL128 + (windows ? shape.windowLL128.bytes(ranks) : 0);
  }
  static uint64_t roundUp(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static constexpr int kWrittenWords = 1024;
  uint64_t head, credit, steps, offers, pairs, direct, meeting, epochsLL, epochsLL128, countersEnd;
  uint64_t look;     ///< A FaultLook.
  uint64_t written;  ///< What peers write when the communicator is made, one word each.
  uint64_t passOnPairs, passOnDirect;
  uint64_t decisions;  ///< Of RingView. Not counters: 0 between calls.
  uint64_t hello, helloLL, slots, fifos, passOnFifos, windowLL, windowLL128, bytes;
};

// What rank `from` writes to rank `to` to see whether it arrives.
uint32_t greeting(int from, int to) {
  return 0x9e3779b9u * static_cast<uint32_t>(from + 1) ^
         0x85ebca6bu * static_cast<uint32_t>(to + 1);
}

/// Not all ranks are threads of one process.
bool crossesProcesses(const std::vector<DeviceCard>& cards) {
  return std::any_of(cards.begin(), cards.end(),
                     [&](const DeviceCard& card) { return card.process != cards.front().process; });
}

DeviceSharers sharersIn(const std::vector<DeviceCard>& cards,
                        const std::vector<DeviceTenant>& tenants, size_t rank) {
  DeviceSharers sharers = sharersOf(tenants, rank);
  sharers.processes = std::max(sharers.processes, cards[rank].sharers.processes);
  sharers.inProcess = std::max(sharers.inProcess, cards[rank].sharers.inProcess);
  return sharers;
}

/// Of the rank's device, before this communicator took any.
int takenByOthers(const DeviceCard& card, const DeviceSharers& sharers) {
  return std::max(0, card.room.taken - card.blocksHeld * sharers.inProcess);
}

}  // namespace

int agreedLanes(const std::vector<DeviceCard>& cards, std::string* why) {
  int least = kShapeLL128.lanes;
  const std::vector<DeviceTenant> tenants = tenantsOf(cards);
  for (size_t r = 0; r < cards.size(); ++r) {
    const DeviceCard& card = cards[r];
    const DeviceSharers sharers = sharersIn(cards, tenants, r);
    DeviceRoom before = card.room;
    before.taken = takenByOthers(card, sharers);
    const int share = before.share(sharers);
    const int whole = DeviceRoom{before.total, 0, before.processes}.share(sharers);
    const int free = std::max(0, share - card.blocksHeld);
    const int others = std::max(0, before.looking - (sharers.inProcess - 1));  // not its own ranks
    const int usual = std::min(free, DeviceBudget::usual(whole, share, others));
    int lanes = card.blocksWanted == 0 ? usual : card.blocksWanted;
    if (card.blocksMost > 0) lanes = std::min(lanes, card.blocksMost);
    if (lanes < 1 || lanes > free) {
      *why = format(
          "the device of rank %zu %s, and this communicator wants %d; allowed: fewer ranks on the "
          "device, communicators alive or a smaller config.smBudget (RONDO_SM_BUDGET)",
          r, before.text(sharers).c_str(), std::max(1, lanes) + card.blocksHeld);
      return 0;
    }
    least = std::min(least, lanes);
  }
  return least;
}

std::vector<DeviceTenant> tenantsOf(const std::vector<DeviceCard>& cards) {
  return {cards.begin(), cards.end()};
}

bool sharesContext(const std::vector<DeviceCard>& cards, int rank) {
  const DeviceCard& mine = cards[static_cast<size_t>(rank)];
  return std::count_if(cards.begin(), cards.end(), [&mine](const DeviceCard& card) {
           return card.process == mine.process && card.context == mine.context;
         }) > 1;
}

CudaDevice::Meanwhile whileWaiting(const CudaDevice& device, bool sharesContext) {
  const bool alone = DeviceBudget::users(device.ordinal()).load(std::memory_order_relaxed) <= 1;
  return alone && !sharesContext ? CudaDevice::Meanwhile::kCapture : CudaDevice::Meanwhile::kLaunch;
}

bool mayGoStraight(const std::vector<DeviceCard>& cards) {
  const bool crosses = crossesProcesses(cards);
  return std::none_of(cards.begin(), cards.end(), [crosses](const DeviceCard& card) {
    return card.registeredOnly != 0 || (crosses && card.noBackground != 0);
  });
}

Close agreedClose(const std::vector<DeviceCard>& cards) {
  Close least = Close::kBeside;
  for (const DeviceCard& card : cards) {
    const auto shares = [&card](const DeviceCard& other) { return other.device == card.device; };
    const bool alone = std::count_if(cards.begin(), cards.end(), shares) == 1;
    least = std::min({least, card.close, alone ? Close::kBeside : Close::kAtItsEnd});
  }
  return least;
}

uint64_t agreedSerial(const std::vector<DeviceCard>& cards) {
  std::vector<OrderCard> orders;
  for (const DeviceCard& card : cards) orders.push_back(card.order);
  return agreedOrder(orders);
}

LeaseShape leaseShape(int ranks, int lanes, bool passesOn) {
  LeaseShape shape;
  // a window for LL holds what needs no more lanes than this
  shape.windowLL = {std::clamp(lanes / 2, 1, kShapeLL.lanes), kShapeLL.roomBytes};
  shape.windowLL128 = {std::clamp(lanes, 1, kShapeLL128.lanes), kShapeLL128.roomBytes};
  shape.ringLanes = std::clamp(lanes, 1, kRingLanes);
  shape.pairLanes = pairLanes(ranks, lanes);
  shape.passOnLanes = passesOn ? shape.pairLanes : 0;
  return shape;
}

LeaseShape leanShape(int ranks, int lanes, bool passesOn, bool lines) {
  LeaseShape shape = leaseShape(ranks, lanes, false);
  if (lanes > kLeanLanes || leaseBytes(ranks, shape) <= kLeanBytes) {
    return leaseShape(ranks, lanes, passesOn);
  }
  constexpr int kPairBlocks = 8;  // what sends have
  constexpr int kLanesLL = 3;     // of the shortest messages
  constexpr int kManyRanks = 5;   // from here on long broadcasts, reductions and scans take rings
  constexpr int kManyRing = 8;
  shape.pairLanes = pairLanes(ranks, std::min(lanes, kPairBlocks));
  const auto grow = [&](int& count) {
    while (count < lanes && leaseBytes(ranks, shape) <= kLeanBytes) ++count;
    if (leaseBytes(ranks, shape) > kLeanBytes) --count;
  };
  if (lines) shape.windowLL.lanes = std::min(shape.windowLL.lanes, kLanesLL);
  shape.windowLL128.lanes = 1;
  shape.ringLanes = ranks >= kManyRanks || !lines ? std::min(lanes, kManyRing) : 1;
  if (lines && ranks <= kMaxWindowRanks) grow(shape.windowLL128.lanes);
  grow(shape.ringLanes);
  shape.passOnLanes = passesOn ? shape.pairLanes : 0;
  return shape;
}

LeaseShape agreedShape(const std::vector<DeviceCard>& cards, int lanes, bool passesOn) {
  const std::vector<DeviceTenant> tenants = tenantsOf(cards);
  bool further = false, asked = false, lines = true;
  for (size_t r = 0; r < cards.size(); ++r) {
    const DeviceCard& card = cards[r];
    further = further || takenByOthers(card, sharersIn(cards, tenants, r)) > 0;
    asked = asked || card.blocksWanted != 0 || card.blocksMost != 0;
    lines = lines && card.noLines == 0;
  }
  const int ranks = static_cast<int>(cards.size());
  return asked || !further ? leaseShape(ranks, lanes, passesOn)
                           : leanShape(ranks, lanes, passesOn, lines);
}

uint64_t leaseBytes(int ranks, const LeaseShape& shape) { return Layout(ranks, shape).bytes; }

// How peers reach a rank's memory. `shared` is good within the process only, and until the
// collective creation is over.
struct DeviceLease::Offer {
  const std::shared_ptr<DeviceMemory>* shared;
  uint64_t bytes;
  uint64_t lineStores;  ///< To all ranks.
  CudaIpcHandle ipc;
};

namespace {

bool allOf(const std::vector<DeviceCard>& cards, int32_t DeviceCard::*what) {
  return std::all_of(cards.begin(), cards.end(),
                     [what](const DeviceCard& card) { return card.*what != 0; });
}

}  // namespace

std::unique_ptr<DeviceLease> DeviceLease::create(const Ranks& ranks, const LeaseShape& shape,
                                                 const Wish& wish) {
  const auto make = [&](DeviceMemory::Sharing sharing) {
    std::unique_ptr<DeviceLease> lease(new DeviceLease(ranks, shape, sharing));
    lease->allocate(ranks);
    endStage(wish.times, "device memory");
    return lease;
  };
  if (!wish.hostMemory) {
    auto lease =
        make(allOf(ranks.cards, &DeviceCard::descriptors) ? DeviceMemory::Sharing::kDescriptor
                                                          : DeviceMemory::Sharing::kLegacyIpc);
    try {
      lease->exchange(ranks, wish);
      return lease;
    } catch (const Error& error) {
      if (error.code() != rondoUnhandledCudaError) throw;
      logLine(LogPart::Device, LogLevel::Warn, ranks.boot.rank(), [&] {
        return "the ranks' GPUs meet in host memory, which is several times slower: " +
               error.sentence();
      });
    }
  }
  auto lease = make(DeviceMemory::Sharing::kHost);
  lease->exchange(ranks, wish);
  return lease;
}

DeviceLease::DeviceLease(const Ranks& ranks, const LeaseShape& shape, DeviceMemory::Sharing sharing)
    : rank_(ranks.boot.rank()), size_(ranks.boot.size()), shape_(shape), sharing_(sharing) {}

void DeviceLease::allocate(const Ranks& ranks) {
  agreeOn(ranks.boot, [&] {
    const Layout layout(size_, shape_);
    own_ = allocateDevice(ranks.device, layout.bytes, sharing_);
    if (onHost()) {
      counters_ = allocateDevice(ranks.device, layout.written, DeviceMemory::Sharing::kLegacyIpc);
    }
  });
}

void DeviceLease::exchange(const Ranks& ranks, const Wish& wish) {
  Bootstrap& boot = ranks.boot;
  const std::vector<DeviceCard>& cards = ranks.cards;
  const bool crosses = crossesProcesses(cards);
  const bool descriptors = crosses && sharing_ != DeviceMemory::Sharing::kLegacyIpc;
  Offer mine{};
  UniqueFd fd;
  agreeOn(boot, [&] { mine = makeOffer(ranks, crosses, &fd); });
  std::vector<Offer> offers(static_cast<size_t>(size_));
  boot.allGather(&mine, sizeof mine, offers.data());
  agreeOn(boot, [&] {  // also on what did not fit: the others have all that they wait for
    std::vector<UniqueFd> received;
    if (descriptors) received = ranks.fds->exchange(fd.get());
    map(ranks, offers, received);
  });
  endStage(wish.times, "peers' memory");
  lineStores_ =
      std::all_of(offers.begin(), offers.end(), [](const Offer& o) { return o.lineStores != 0; });
  const bool lost = wish.losePeerWrites && !onHost();
  agreeOn(boot, [&] {
    if (!lost) writeToPeers(ranks.device, ranks.peers);
  });
  agreeOn(boot, [&] { checkWrites(ranks.device, ranks.peers); });
}

void DeviceLease::writeToPeers(const CudaDevice& device, const std::vector<int>& peers) const {
  const Layout layout(size_, shape_);
  for (const int peer : peers) {
    uint32_t* const word = words(peer, layout.written) + rank_ % Layout::kWrittenWords;
    fillDevice(device, word, greeting(rank_, peer), 1);
  }
}

constexpr const char* kRemedy =
    ". Usually an IOMMU or PCIe ACS redirects traffic between GPUs: turn it off (firmware setup, "
    "kernel argument iommu=pt or intel_iommu=off or amd_iommu=off)";

// Both ways: what the peers wrote here, as this device sees it, and what this rank wrote there, as
// it sees it from here.
void DeviceLease::checkWrites(const CudaDevice& device, const std::vector<int>& peers) const {
  if (size_ > Layout::kWrittenWords) return;
  const Layout layout(size_, shape_);
  const auto expect = [&](int from, int to) {
    uint32_t found = 0;
    readDevice(device, words(to, layout.written) + from, &found, sizeof found);
    if (found == greeting(from, to)) return;
    throw Error(rondoUnhandledCudaError,
                format("what rank %d writes to the %s of rank %d does not arrive (read by "
                       "rank %d: %08x instead of %08x)%s",
                       from, onHost() ? "host pages" : "GPU memory", to, rank_, found,
                       greeting(from, to), onHost() ? "" : kRemedy));
  };
  for (const int peer : peers) {
    expect(peer, rank_);
    expect(rank_, peer);
  }
}

DeviceLease::Offer DeviceLease::makeOffer(const Ranks& ranks, bool crossesProcesses, UniqueFd* fd) {
  Offer offer{&own_, own_->bytes(), 0, {}};
  offer.lineStores =
      !onHost() && std::all_of(ranks.cards.begin(), ranks.cards.end(), [&](const DeviceCard& card) {
        return card.noLines == 0 && ranks.device.storesLinesTo(card.device);
      });
  if (!crossesProcesses) return offer;
  if (sharing_ == DeviceMemory::Sharing::kLegacyIpc) {
    offer.ipc = own_->exportIpc();
    return offer;
  }
  *fd = own_->exportDescriptor();
  if (ranks.fds == nullptr) {
    throw Error(rondoInternalError, "ranks of several processes need a descriptor exchange");
  }
  return offer;
}

void DeviceLease::map(const Ranks& ranks, const std::vector<Offer>& offers,
                      const std::vector<UniqueFd>& descriptors) {
  const CudaDevice& device = ranks.device;
  memory_.resize(offers.size());
  memory_[static_cast<size_t>(rank_)] = own_;
  const DeviceCard& mine = ranks.cards[static_cast<size_t>(rank_)];
  for (size_t k = 0; k < ranks.peers.size(); ++k) {
    const size_t peer = static_cast<size_t>(ranks.peers[k]);
    const DeviceCard& theirs = ranks.cards[peer];
    try {
      if (theirs.process == mine.process) {
        memory_[peer] = *offers[peer].shared;
        if (theirs.device != mine.device) memory_[peer]->allow(device);
      } else if (sharing_ == DeviceMemory::Sharing::kLegacyIpc) {
        memory_[peer] = importIpc(device, offers[peer].ipc, offers[peer].bytes);
      } else if (onHost()) {
        memory_[peer] = importHostPages(device, descriptors[k], offers[peer].bytes);
      } else {
        memory_[peer] = importDescriptor(device, descriptors[k], offers[peer].bytes);
      }
    } catch (const Error& error) {
      throw Error(error.code(), format("device %d cannot map the memory of rank %d: %s",
                                       device.ordinal(), ranks.peers[k], error.sentence().c_str()));
    }
  }
}

unsigned char* DeviceLease::at(int rank, uint64_t offset) const {
  return memory_[static_cast<size_t>(rank)]->data() + offset;
}

uint32_t* DeviceLease::words(int rank, uint64_t offset) const {
  return reinterpret_cast<uint32_t*>(at(rank, offset));
}

/// Counters that this rank alone keeps: across PCIe they would cost each kernel a round trip.
unsigned char* DeviceLease::ownWords(uint64_t offset) const {
  return counters_ != nullptr ? counters_->data() + offset : at(rank_, offset);
}

WindowView DeviceLease::window(const WindowShape& shape, uint64_t places, uint64_t epochs) const {
  WindowView view{};
  for (int r = 0; r < size_ && r < kMaxWindowRanks; ++r) {
    view.base[r] = at(r, places);
  }
  view.epochs = reinterpret_cast<uint64_t*>(ownWords(epochs));
  view.placeBytes = size_ <= kMaxWindowRanks ? shape.placeBytes(size_) : 0;
  view.lanes = shape.lanes;
  return view;
}

WindowView DeviceLease::windowLL() const {
  const Layout layout(size_, shape_);
  return window(shape_.windowLL, layout.windowLL, layout.epochsLL);
}
WindowView DeviceLease::windowLL128() const {
  const Layout layout(size_, shape_);
  return window(shape_.windowLL128, layout.windowLL128, layout.epochsLL128);
}

HelloView DeviceLease::hello(Protocol protocol) const {
  const Layout layout(size_, shape_);
  const uint64_t flags = protocol == Protocol::kLL ? layout.helloLL : layout.hello;
  HelloView view{};
  for (int r = 0; r < size_ && r < kMaxWindowRanks; ++r) view.flags[r] = at(r, flags);
  return view;
}

RingView DeviceLease::ring() const {
  const Layout layout(size_, shape_);
  const int next = (rank_ + 1) % size_;
  const int prev = (rank_ + size_ - 1) % size_;
  RingView view{{at(rank_, layout.slots), words(rank_, layout.head), words(prev, layout.credit)},
                {at(next, layout.slots), words(next, layout.head), words(rank_, layout.credit)},
                reinterpret_cast<uint32_t*>(ownWords(layout.steps)),
                {},
                reinterpret_cast<uint64_t*>(at(rank_, layout.decisions))};
  for (int r = 0; r < size_ && r < kMaxWindowRanks; ++r) {
    view.offers[r] = reinterpret_cast<RingOffers*>(at(r, layout.offers));
  }
  return view;
}

PairView DeviceLease::pairs(int lanes, uint64_t fifos, uint64_t counters) const {
  PairView view{};
  view.lanes = lanes;
  view.lines = lineStores_ ? 1 : 0;
  for (int r = 0; r < size_ && r < kMaxPairRanks; ++r) {
    view.fifos[r] = at(r, fifos);
    view.counters[r] = at(r, counters);
  }
  return view;
}

DirectView DeviceLease::direct(uint64_t lanes) const {
  DirectView view{};
  for (int r = 0; r < size_ && r < kMaxPairRanks; ++r) view.lanes[r] = at(r, lanes);
  return view;
}

PairView DeviceLease::pairs() const {
  const Layout layout(size_, shape_);
  return pairs(shape_.pairLanes, layout.fifos, layout.pairs);
}
PairView DeviceLease::passOnPairs() const {
  const Layout layout(size_, shape_);
  return pairs(shape_.passOnLanes, layout.passOnFifos, layout.passOnPairs);
}

DirectView DeviceLease::direct() const { return direct(Layout(size_, shape_).direct); }
DirectView DeviceLease::passOnDirect() const { return direct(Layout(size_, shape_).passOnDirect); }

MeetingView DeviceLease::meeting() const {
  const Layout layout(size_, shape_);
  MeetingView view{};
  for (int r = 0; r < size_ && r < kMaxPairRanks; ++r) {
    view.words[r] = reinterpret_cast<uint64_t*>(at(r, layout.meeting));
  }
  return view;
}

FaultLook* DeviceLease::faultLook() const {
  return reinterpret_cast<FaultLook*>(ownWords(Layout(size_, shape_).look));
}

void DeviceLease::setCounters(const CudaDevice& device, uint32_t value) {
  const Layout layout(size_, shape_);
  // Between two kernels those of the ring are of whole slices.
  const uint32_t whole = (value + kSliceSlots - 1) / kSliceSlots * kSliceSlots;
  const auto fill = [&](unsigned char* counters) {
    fillDevice(device, counters, whole, layout.pairs / 4);
    fillDevice(device, counters + layout.pairs, value, (layout.countersEnd - layout.pairs) / 4);
  };
  fill(at(rank_, 0));
  if (counters_ != nullptr) fill(static_cast<unsigned char*>(counters_->data()));
}

}  // namespace rondo

#endif  // HAVE_CUDA
