#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <algorithm>
#include <cstring>
#include <optional>

#include "api/rondo.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/user_memory.h"
#include "p2p/agree_on.h"
#include "p2p/device_heap.h"
#include "p2p/fd_exchange.h"

namespace rondo {

/// What a rank tells the others of its part of a registration.
struct UserMemory::Card {
  int32_t code;
  MemoryUse use;
  int32_t how;  ///< ExportedAllocation::How
  int32_t pad;
  uint64_t memory;
  uint64_t bytes;
  uint64_t base;  ///< Of the allocation.
  uint64_t allocated;
  CudaIpcHandle ipc;
};

UserMemory::UserMemory(const CudaDevice& device, const std::vector<DeviceCard>& cards, int rank,
                       bool shared, const Background& background)
    : device_(device), sharesContext_(sharesContext(cards, rank)), rank_(rank), shared_(shared) {
  const DeviceCard& mine = cards[static_cast<size_t>(rank)];
  for (const DeviceCard& card : cards) {
    places_.push_back(
        {card.process, card.device, card.ordinal, reinterpret_cast<CUctx_st*>(card.context)});
    neighbour_.push_back(shared && card.process == mine.process && card.registeredOnly == 0 &&
                         mine.registeredOnly == 0);
  }
  reaches_.resize(cards.size());
  const bool crosses = std::any_of(cards.begin(), cards.end(), [&](const DeviceCard& card) {
    return card.process != mine.process;
  });
  if (!shared || !crosses || background.off || mine.registeredOnly != 0) return;
  try {
    background_ = std::make_unique<BackgroundMemory>(
        BackgroundMemory::Place{device, rank, static_cast<int>(cards.size())}, background.bytes,
        background.healthy);
  } catch (const Error& error) {  // it can be done without
    logLine(LogPart::Device, LogLevel::Warn, rank,
            [&] { return format("memory is not registered in the background: %s", error.what()); });
  }
}

namespace {

/// What a rank tells the others of its thread; whom its device reaches follows, a byte a rank.
struct BackgroundCard {
  int32_t there;
  Secret address;
};

}  // namespace

void UserMemory::meetNeighbours(Bootstrap& boot) {
  const size_t size = places_.size(), me = static_cast<size_t>(rank_);
  const size_t bytes = sizeof(BackgroundCard) + size;
  std::vector<char> mine(bytes), all(size * bytes);
  for (size_t r = 0; r < size; ++r) {
    const bool same = places_[r].device == places_[me].device;
    mine[sizeof(BackgroundCard) + r] =
        neighbour_[r] && !same && reachContext(device_, places_[r].context) ? 1 : 0;
  }
  BackgroundCard card{};
  card.there = background_ != nullptr ? 1 : 0;
  if (background_ != nullptr) card.address = background_->address();
  std::memcpy(mine.data(), &card, sizeof card);
  boot.allGather(mine.data(), bytes, all.data());
  std::vector<std::optional<Secret>> peers(size);
  for (size_t r = 0; r < size; ++r) {
    const char* const row = all.data() + r * bytes;
    reaches_[r] = row[sizeof card + me] != 0;
    std::memcpy(&card, row, sizeof card);
    if (card.there != 0 && places_[r].process != places_[me].process) peers[r] = card.address;
  }
  if (background_ != nullptr) background_->meet(std::move(peers));
}

bool UserMemory::asks(int peer) const {
  const bool background = background_ != nullptr && background_->with(peer);
  return shared_ && (lastNumber_ > 0 || neighbour_[static_cast<size_t>(peer)] || background);
}

void UserMemory::prepare(int peer) const {
  if (background_ != nullptr && background_->with(peer)) background_->listen();
}

uint64_t UserMemory::placeFor(int peer, const unsigned char* data, uint64_t bytes, Use use) const {
  const auto at = static_cast<size_t>(peer);
  const auto address = reinterpret_cast<uint64_t>(data);
  const Entry* const entry = findPlace(data, bytes);
  if (entry != nullptr && entry->there[at] != 0) {
    return entry->there[at] + static_cast<uint64_t>(data - entry->memory);
  }
  if (background_ != nullptr && background_->with(peer)) {
    if (use == Use::kLaunch) return background_->placeFor(peer, data, bytes);
    return use == Use::kGraph ? background_->graphPlaceFor(peer, data, bytes) : 0;
  }
  if (!neighbour_[at] || !fitsOffer(address, bytes)) return 0;
  const bool reached = places_[at].context == device_.context() ||
                       DeviceHeap::own().reaches(places_[at].ordinal, data, bytes) ||
                       (reaches_[at] && plainMemoryOf(device_.context(), data));
  return reached ? address : 0;
}

namespace {

/// Of an allocation that is not a multiple of this long, peers in other processes map small pages.
constexpr uint64_t kWholePages = 64u << 10;

constexpr uint64_t kWindowNumbers = uint64_t{1} << 63;
static_assert(MemoryRegistry::isWindow(kWindowNumbers));

void checkRange(const CudaDevice& device, void* memory, size_t bytes, UserAllocation* own) {
  const auto refuse = [&](const char* what) {
    throw Error(rondoInvalidArgument,
                format("argument ptr (%p) is %s; allowed: memory of cudaMalloc or the like on the "
                       "communicator's device %d, or NULL with 0 bytes",
                       memory, what, device.ordinal()));
  };
  const PointerKind kind = pointerKind(memory);
  if (kind.memory == PointerKind::kManaged) refuse("managed memory");
  if (kind.memory == PointerKind::kGone && kind.error != 0) refuse(goneText(kind).c_str());
  if (kind.memory != PointerKind::kDevice || !findAllocation(memory, own)) {
    refuse("no device memory (host memory, or freed)");
  }
  if (kind.device != device.ordinal()) {
    refuse(format("memory of device %d", kind.device).c_str());
  }
  const auto offset = static_cast<size_t>(static_cast<unsigned char*>(memory) - own->base);
  if (bytes > own->bytes - offset) {
    throw Error(rondoInvalidArgument,
                format("argument bytes is %zu, but the allocation that ptr (%p) lies in ends %zu "
                       "bytes behind it; allowed: memory within one allocation",
                       bytes, memory, own->bytes - offset));
  }
}

}  // namespace

UserMemory::Card UserMemory::describe(void* memory, size_t bytes, MemoryUse use,
                                      UserAllocation* own, UniqueFd* fd) const {
  if ((memory == nullptr) != (bytes == 0)) {
    throw Error(rondoInvalidArgument,
                format("argument ptr is %p and bytes is %zu; allowed: memory and its length, or "
                       "NULL and 0",
                       memory, bytes));
  }
  if (entries_.size() == kMost) {
    throw Error(rondoOutOfMemory,
                format("%zu registrations are there already; allowed: %zu at once "
                       "(rondoCommDeregister frees one)",
                       entries_.size(), kMost));
  }
  Card card{};
  card.use = use;
  if (memory == nullptr) return card;
  checkRange(device_, memory, bytes, own);
  card.memory = reinterpret_cast<uint64_t>(memory);
  card.bytes = bytes;
  card.base = reinterpret_cast<uint64_t>(own->base);
  card.allocated = own->bytes;
  const bool crosses = std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.process != places_[static_cast<size_t>(rank_)].process;
  });
  if (!crosses || !shared_) return card;
  if (use != MemoryUse::kStraight && own->bytes % kWholePages != 0) {
    logLine(LogPart::Device, LogLevel::Warn, rank_, [&] {
      return format(
          "rondoCommRegister: the allocation of %p is %zu bytes long; copy engines of other "
          "processes reach a quarter more of the link where it is a multiple of %llu",
          memory, own->bytes, static_cast<unsigned long long>(kWholePages));
    });
  }
  ExportedAllocation exported = exportAllocation(device_, *own);
  card.how = exported.how;
  card.ipc = exported.ipc;
  *fd = std::move(exported.fd);
  return card;
}

/// What depends on all cards alone: the same Error on all ranks.
void UserMemory::checkTogether(const std::vector<Card>& cards) {
  for (size_t r = 1; r < cards.size(); ++r) {
    if (cards[r].use != cards[0].use) {
      throw Error(rondoInvalidUsage,
                  format("argument flags is %d on rank 0 and %d on rank %zu; allowed: the same on "
                         "all ranks",
                         static_cast<int>(cards[0].use), static_cast<int>(cards[r].use), r));
    }
    if (cards[0].use != MemoryUse::kStraight && cards[r].bytes != cards[0].bytes) {
      throw Error(rondoInvalidUsage,
                  format("argument bytes is %llu on rank 0 and %llu on rank %zu; allowed with "
                         "these flags: the same on all ranks",
                         static_cast<unsigned long long>(cards[0].bytes),
                         static_cast<unsigned long long>(cards[r].bytes), r));
    }
  }
}

namespace {

/// The same ranks with a new secret: names of sockets are made of it, and the communicator's own
/// may be in use.
class WithNewSecret : public Bootstrap {
 public:
  explicit WithNewSecret(Bootstrap& ranks) : ranks_(ranks) {
    const Secret mine = ranks.rank() == 0 ? makeSecret() : Secret{};
    std::vector<Secret> all(static_cast<size_t>(ranks.size()));
    ranks.allGather(&mine, sizeof mine, all.data());
    secret_ = all.front();
  }
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override {
    ranks_.allGather(mine, bytes, all);
  }
  void idle() override { ranks_.idle(); }

 private:
  Bootstrap& ranks_;
  Secret secret_{};
};

}  // namespace

std::vector<UniqueFd> UserMemory::passDescriptors(Bootstrap& boot, const std::vector<Card>& cards,
                                                  const UniqueFd& own) const {
  const bool any = std::any_of(cards.begin(), cards.end(), [](const Card& card) {
    return card.how == ExportedAllocation::kDescriptor;
  });
  std::vector<UniqueFd> byRank(cards.size());
  if (!any) return byRank;
  std::vector<int> peers;
  for (int r = 0; r < boot.size(); ++r) {
    if (r != rank_) peers.push_back(r);
  }
  WithNewSecret ranks(boot);
  std::optional<FdExchange> sockets;
  agreeOn(boot, [&] { sockets.emplace(ranks, peers); });  // all of them are bound
  std::vector<UniqueFd> received;
  agreeOn(boot, [&] { received = sockets->exchange(own.get()); });
  for (size_t k = 0; k < peers.size(); ++k) {
    byRank[static_cast<size_t>(peers[k])] = std::move(received[k]);
  }
  return byRank;
}

/// What cannot be mapped stays 0: it goes through slots.
void UserMemory::map(const std::vector<Card>& cards, const std::vector<UniqueFd>& descriptors,
                     Entry* entry) const {
  const Place& mine = places_[static_cast<size_t>(rank_)];
  entry->here.assign(cards.size(), 0);
  entry->mapped.resize(cards.size());
  uint64_t all = 0;
  for (const auto& other : entries_) all += other->mappedBytes;
  for (size_t r = 0; r < cards.size(); ++r) {
    const Card& card = cards[r];
    if (card.memory == 0 || (!shared_ && static_cast<int>(r) != rank_)) continue;
    const bool handle = card.how == ExportedAllocation::kIpc;
    // Closing one waits for the kernels that run, which may wait for other ranks.
    if (handle && entry->use == MemoryUse::kWindow) continue;
    uint64_t base = card.base;
    if (places_[r].process == mine.process) {
      const UserAllocation theirs{reinterpret_cast<unsigned char*>(card.base), card.allocated, 0};
      if (places_[r].device != mine.device && !reachInProcess(device_, theirs)) continue;
    } else {
      if (all + entry->mappedBytes + card.allocated > kMostBytes) continue;
      try {
        if (card.how == ExportedAllocation::kDescriptor && descriptors[r].get() >= 0) {
          entry->mapped[r] = importDescriptor(device_, descriptors[r], card.allocated);
        } else if (handle) {
          entry->mapped[r] = importIpc(device_, card.ipc, card.allocated);
        }
      } catch (const Error&) {
      }
      if (entry->mapped[r] == nullptr) continue;
      base = reinterpret_cast<uint64_t>(entry->mapped[r]->data());
      entry->mappedBytes += card.allocated;
    }
    const uint64_t at = base + (card.memory - card.base);
    if (fitsOffer(at, card.bytes)) entry->here[r] = at;
  }
}

uint64_t UserMemory::add(Bootstrap& boot, void* memory, size_t bytes, MemoryUse use) {
  dropFreedWindows();
  UserAllocation own;
  UniqueFd fd;
  Card card{};
  std::string sentence;
  try {
    card = describe(memory, bytes, use, &own, &fd);
  } catch (const Error& error) {
    card.code = error.code();
    sentence = error.sentence();
  }
  boot.agree(card.code, sentence);
  const auto size = static_cast<size_t>(boot.size());
  std::vector<Card> cards(size);
  boot.allGather(&card, sizeof card, cards.data());
  checkTogether(cards);
  const std::vector<UniqueFd> descriptors = passDescriptors(boot, cards, fd);
  auto entry = std::make_unique<Entry>();
  entry->memory = static_cast<unsigned char*>(memory);
  entry->bytes = bytes;
  entry->id = own.id;
  entry->use = use;
  map(cards, descriptors, entry.get());
  std::vector<uint64_t> table(size * size);  // row r: where rank r has everybody's
  boot.allGather(entry->here.data(), size * sizeof(uint64_t), table.data());
  entry->there.resize(size);
  for (size_t r = 0; r < size; ++r) {
    entry->there[r] = table[r * size + static_cast<size_t>(rank_)];
    for (size_t of = 0; of < size; ++of) {
      entry->unreached += cards[of].memory != 0 && table[r * size + of] == 0 ? 1 : 0;
    }
  }
  entry->everywhere = use != MemoryUse::kStraight && cards[0].bytes > 0 && entry->unreached == 0;
  entry->number = ++lastNumber_ | (use == MemoryUse::kWindow ? kWindowNumbers : 0);
  entries_.push_back(std::move(entry));
  return entries_.back()->number;
}

namespace {

std::string noSuch(uint64_t number) {
  return format(
      "argument registration is %llu; allowed: what rondoCommRegister gave for this communicator, "
      "once",
      static_cast<unsigned long long>(number));
}

}  // namespace

void UserMemory::removeWindow(uint64_t number) {
  const auto gone =
      std::erase_if(entries_, [number](const auto& entry) { return entry->number == number; });
  if (gone == 0) throw Error(rondoInvalidArgument, noSuch(number));
}

/// What a program frees without ending its window is of no use any more, and the peers' parts of it
/// stay in use for as long as they are mapped here.
void UserMemory::dropFreedWindows() {
  std::erase_if(entries_, [](const auto& entry) {
    return entry->use == MemoryUse::kWindow && allocationId(entry->memory) != entry->id;
  });
}

void UserMemory::remove(Bootstrap& boot, uint64_t number) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->number == number; });
  std::vector<uint64_t> all(static_cast<size_t>(boot.size()));
  boot.allGather(&number, sizeof number, all.data());
  std::string fault;
  int code = rondoSuccess;
  if (found == entries_.end()) {
    code = rondoInvalidArgument;
    fault = noSuch(number);
  } else if (std::any_of(all.begin(), all.end(), [&](uint64_t n) { return n != number; })) {
    code = rondoInvalidUsage;
    fault = "ranks give different registrations; allowed: the same on all ranks";
  }
  boot.agree(code, fault);
  try {
    // Kernels may still write there.
    device_.synchronize(whileWaiting(device_, sharesContext_));
  } catch (const Error& error) {
    code = error.code();
    fault = error.sentence();
  }
  boot.agree(code, fault);
  entries_.erase(found);
  if (background_ != nullptr) background_->closeFreed();
  boot.agree(rondoSuccess, "");  // nobody has it any more
}

MemoryRegistry::Held UserMemory::held(MemoryRegistry::Held out) const {
  out.registrations = entries_.size();
  for (const auto& entry : entries_) {
    out.mappedBytes += entry->mappedBytes;
    out.unreached += entry->unreached;
  }
  if (background_ == nullptr) return out;
  const BackgroundMemory::Held all = background_->held();
  out.offered = static_cast<size_t>(all.offered);
  out.keptBytes = all.kept;
  out.graphs = static_cast<size_t>(all.graphs);
  out.graphsUsed = static_cast<size_t>(all.graphsUsed);
  out.mappedBytes += all.mappedBytes;
  return out;
}

namespace {

bool holds(const UserMemory::Entry& entry, const void* data, uint64_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(data);
  return begin >= entry.memory && bytes <= entry.bytes &&
         static_cast<uint64_t>(begin - entry.memory) <= entry.bytes - bytes;
}

}  // namespace

/// What senders may write to.
const UserMemory::Entry* UserMemory::findPlace(const void* data, uint64_t bytes) const {
  for (const auto& entry : entries_) {
    if (entry->use != MemoryUse::kWindow && holds(*entry, data, bytes) &&
        allocationId(static_cast<const unsigned char*>(data)) == entry->id) {
      return entry.get();
    }
  }
  return nullptr;
}

const UserMemory::Entry* UserMemory::findSymmetric(const void* data, uint64_t bytes,
                                                   const Entry** stale) const {
  for (const auto& entry : entries_) {
    if (entry->use == MemoryUse::kStraight || !holds(*entry, data, bytes)) continue;
    if (allocationId(static_cast<const unsigned char*>(data)) == entry->id) return entry.get();
    if (entry->use != MemoryUse::kWindow) *stale = entry.get();
  }
  return nullptr;
}

}  // namespace rondo

#endif  // HAVE_CUDA
