#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/error.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "coll/background_memory.h"
#include "kernels/direct_call.h"
#include "p2p/datagrams.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x52444d4c;  // "RDML"
constexpr int kSweepMs = 50;             // how long freed memory is not seen to be
constexpr int kMostRetryMs = 1000;       // while a peer's mailbox is full; from 1, doubled
constexpr int kMostPerRound = 64;        // letters taken before others are written
/// Of the address space, by what peers have offered.
constexpr uint64_t kMostMapped = uint64_t{1} << 44;

enum Kind : uint32_t {
  kOffer,   // an allocation: `id`, `value` bytes, how to map it
  kAnswer,  // to an offer: it is at `value`; 0: it could not be mapped
  kFreed,   // what was offered is no more
  kClosed,  // and the peer has let go of it
};

UnixAddress mailboxOf(const Secret& secret) { return groupAddress(secret, "m"); }

/// What peers may keep of this process's memory on a device, over all communicators. Never
/// destroyed: threads may outlive main().
KeptMemory* keptOn(int ordinal) {
  static auto& kept = *new std::array<KeptMemory, 64>;
  return &kept[static_cast<size_t>(ordinal) % kept.size()];
}

std::function<uint64_t()> mostOf(const CudaDevice& device, uint64_t said) {
  return [&device, said] { return said > 0 ? said : BackgroundMemory::usualBytes(device); };
}

}  // namespace

struct BackgroundMemory::Letter {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  int32_t from = 0;
  int32_t how = 0;    ///< ExportedAllocation::How
  int32_t place = 0;  ///< Of an offer and its answer: 1 + that of the graphs' places; 0: of none.
  int32_t pad = 0;
  uint64_t id = 0;  ///< Of the owner's.
  uint64_t value = 0;
  CudaIpcHandle ipc = {};
  Secret secret = {};  ///< The receiver's. Its second half is in no name: ranks alone know it.
};

struct BackgroundMemory::Outgoing {
  int peer;
  Letter letter;
  UniqueFd fd;
};

BackgroundMemory::BackgroundMemory(const Place& place, uint64_t mostKept,
                                   std::function<bool()> healthy)
    : device_(place.device),
      rank_(place.rank),
      size_(place.size),
      healthy_(std::move(healthy)),
      own_(makeSecret()),
      socket_(bindDatagrams(mailboxOf(own_), "registering memory in the background")),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      offered_(place.size, mostOf(place.device, mostKept), keptOn(place.device.ordinal())),
      graphs_(place.device, mostOf(place.device, mostKept), keptOn(place.device.ordinal())) {
  if (bell_.get() < 0) throw systemError("eventfd", errno);
}

BackgroundMemory::~BackgroundMemory() {
  stop_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  deafen();
  if (offered_.rows() == 0 && graphs_.size() == 0 && theirs_.empty()) return;
  logLine(LogPart::Device, LogLevel::Info, rank_, [&] {
    const Held all = held();
    return format(
        "registered in the background: %d allocations for peers, which may keep %llu bytes of "
        "them from being freed, and %d of graphs; %zu of peers' mapped, %llu bytes, %zu of them "
        "freed",
        all.offered, static_cast<unsigned long long>(all.kept), graphs_.size(), all.mapped,
        static_cast<unsigned long long>(all.mappedBytes), all.freed);
  });
}

void BackgroundMemory::listen() {
  std::call_once(begun_, [this] {
    try {
      thread_ = ownThread("the thread that registers memory", [this] { serve(); });
    } catch (const Error& error) {  // everything goes through slots
      logLine(LogPart::Device, LogLevel::Warn, rank_, [&] { return error.sentence(); });
      deafen();
    }
  });
}

/// Peers learn from it that nobody answers, also while a forked child of the process has the
/// socket.
void BackgroundMemory::deafen() {
  if (getpid() == process_) shutdown(socket_.get(), SHUT_RDWR);  // a child's end is not ours
  socket_ = UniqueFd();
}

uint64_t BackgroundMemory::placeFor(int peer, const unsigned char* data, uint64_t bytes) {
  bool unknown = false;
  const uint64_t place = offered_.find(peer, data, bytes, &unknown);
  if (!unknown) return place;
  bool first = false;
  {
    const std::lock_guard<std::mutex> lock(wishMutex_);
    const auto end = wishes_.begin() + wished_;
    const bool known = std::any_of(wishes_.begin(), end, [&](const Wish& wish) {
      return wish.peer == peer && wish.data == data;
    });
    if (known || wished_ == kMostWishes) return 0;
    first = wished_ == 0;
    wishes_[wished_++] = {peer, data};
  }
  if (first) wake();
  return 0;
}

uint64_t BackgroundMemory::graphPlaceFor(int peer, const unsigned char* data, uint64_t bytes) {
  UserAllocation allocation;
  if (!findAllocation(data, &allocation) || allocation.id == 0) return 0;
  const auto offset = static_cast<uint64_t>(data - allocation.base);
  if (offset > allocation.bytes || bytes > allocation.bytes - offset) return 0;
  bool fresh = false;
  const uint64_t place = graphs_.add(peer, allocation, &fresh);
  if (fresh) wake();
  return place;
}

void BackgroundMemory::closeFreed() {
  if (!healthy_()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto goes = [](const Theirs& each) { return each.freed && !each.stays; };
  for (const Theirs& each : theirs_) {
    if (goes(each)) write(each.peer, {.kind = kClosed, .id = each.id});
  }
  std::erase_if(theirs_, goes);
  if (!outgoing_.empty()) wake();
}

BackgroundMemory::Held BackgroundMemory::held() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Held out;
  out.offered = offered_.rows();
  out.kept = offered_.keptBytes();
  out.mapped = theirs_.size();
  out.graphs = graphs_.filled();
  out.graphsUsed = graphs_.used();
  for (const Theirs& each : theirs_) {
    out.mappedBytes += each.memory->bytes();
    out.freed += each.freed ? 1 : 0;
  }
  return out;
}

void BackgroundMemory::wake() {
  const uint64_t one = 1;
  const ssize_t written = ::write(bell_.get(), &one, sizeof one);
  static_cast<void>(written);  // it rings already
}

int BackgroundMemory::napMs() {
  const int sweep = offered_.rows() > 0 || graphs_.filled() > 0 ? kSweepMs : -1;
  if (outgoing_.empty()) {
    retryMs_ = 0;
    return sweep;
  }
  retryMs_ = std::clamp(2 * retryMs_, 1, kMostRetryMs);
  return sweep < 0 ? retryMs_ : std::min(sweep, retryMs_);
}

void BackgroundMemory::serve() {
  const ContextScope scope(device_.context());
  const CapturesAlone alone;
  int nap = 0;
  while (!stop_) {
    pollfd sources[] = {{socket_.get(), POLLIN, 0}, {bell_.get(), POLLIN, 0}};
    poll(sources, 2, nap);
    uint64_t rings = 0;
    const ssize_t got = read(bell_.get(), &rings, sizeof rings);
    static_cast<void>(got);
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      round();
    } catch (const std::exception& error) {  // what is mapped stays so; nothing else will be
      logLine(LogPart::Device, LogLevel::Warn, rank_, [&] {
        return format("memory is not registered in the background any more: %s", error.what());
      });
      deafen();
      return;
    }
    nap = napMs();
  }
}

void BackgroundMemory::round() {
  takeLetters();
  if (healthy_()) {
    takeWishes();
    offerToGraphs();
    // A context that broke meanwhile may say that its memory is gone.
    const auto isFreed = [&](const unsigned char* base, uint64_t id) {
      return allocationIsGone(base, id) && healthy_();
    };
    const auto tell = [&](int peer, uint64_t id) {
      const bool queued = std::any_of(outgoing_.begin(), outgoing_.end(), [&](const Outgoing& out) {
        return out.peer == peer && out.letter.kind == kFreed && out.letter.id == id;
      });
      if (!queued) write(peer, {.kind = kFreed, .id = id});
    };
    offered_.sweep(isFreed, tell);
    graphs_.sweep(isFreed);
  }
  send();
}

void BackgroundMemory::takeLetters() {
  for (int i = 0; i < kMostPerRound; ++i) {
    Letter letter{};
    Datagram came;
    if (receiveDatagram(socket_.get(), &letter, sizeof letter, &came) != 0) return;
    const bool whole = came.bytes == sizeof letter && came.sameUser && letter.magic == kMagic;
    if (!whole || letter.secret != own_ || letter.from < 0 || letter.from >= size_ ||
        !with(letter.from)) {
      continue;
    }
    take(letter, &came.fds);
  }
  wake();  // there may be more
}

void BackgroundMemory::take(const Letter& letter, std::vector<UniqueFd>* fds) {
  switch (letter.kind) {
    case kOffer:
      write(letter.from,
            {.kind = kAnswer, .place = letter.place, .id = letter.id, .value = map(letter, fds)});
      break;
    case kAnswer:
      if (letter.place > 0) {
        graphs_.answer(letter.place - 1, letter.from, letter.id, letter.value);
      } else {
        offered_.answer(letter.from, letter.id, letter.value);
      }
      break;
    case kFreed:
      ownerFreed(letter.from, letter.id);
      break;
    case kClosed:
      offered_.closed(letter.from, letter.id);
      break;
    default:
      break;
  }
}

/// Nothing of it waits for kernels that run. nullptr: it cannot be mapped.
std::shared_ptr<DeviceMemory> BackgroundMemory::import(const Letter& letter,
                                                       std::vector<UniqueFd>* fds) const {
  try {
    if (letter.how == ExportedAllocation::kIpc) {
      return importIpc(device_, letter.ipc, letter.value);
    }
    if (letter.how == ExportedAllocation::kDescriptor && !fds->empty()) {
      return importDescriptor(device_, fds->front(), letter.value);
    }
  } catch (const Error& error) {
    logLine(LogPart::Device, LogLevel::Info, rank_, [&] {
      return format("memory of rank %d is not mapped: %s", letter.from, error.what());
    });
  }
  return nullptr;
}

/// Where it is; 0: nowhere. What graphs and launches have both is mapped once.
uint64_t BackgroundMemory::map(const Letter& letter, std::vector<UniqueFd>* fds) {
  const bool stays = letter.place > 0;
  uint64_t mapped = 0;
  for (Theirs& each : theirs_) {
    mapped += each.memory->bytes();
    if (each.peer != letter.from || each.id != letter.id || each.freed) continue;
    each.stays = each.stays || stays;
    return reinterpret_cast<uint64_t>(each.memory->data());
  }
  if (letter.value > kMostMapped - std::min(kMostMapped, mapped)) return 0;
  std::shared_ptr<DeviceMemory> memory = import(letter, fds);
  if (memory == nullptr) return 0;
  const auto at = reinterpret_cast<uint64_t>(memory->data());
  if (!fitsOffer(at, letter.value)) return 0;
  const bool legacy = letter.how == ExportedAllocation::kIpc;
  theirs_.push_back({letter.from, letter.id, std::move(memory), legacy, stays, false});
  return at;
}

/// A descriptor's memory is unmapped beside kernels that run. A legacy handle's is closed only when
/// they have ended, and holds up launches until then: it stays until closeFreed().
void BackgroundMemory::ownerFreed(int peer, uint64_t id) {
  const auto found = std::find_if(theirs_.begin(), theirs_.end(), [&](const Theirs& each) {
    return each.peer == peer && each.id == id;
  });
  if (found == theirs_.end()) {
    write(peer, {.kind = kClosed, .id = id});
    return;
  }
  found->freed = true;
  if ((found->legacy && !found->stays) || !healthy_()) return;
  if (!found->stays) theirs_.erase(found);  // else the graphs' part of it counts what is kept
  write(peer, {.kind = kClosed, .id = id});
}

void BackgroundMemory::takeWishes() {
  std::array<Wish, kMostWishes> wishes;
  size_t count = 0;
  {
    const std::lock_guard<std::mutex> lock(wishMutex_);
    wishes = wishes_;
    count = std::exchange(wished_, 0);
  }
  for (size_t i = 0; i < count; ++i) offer(wishes[i]);
}

/// The memory may be freed, and its address be another's, between any two of these questions.
void BackgroundMemory::offer(const Wish& wish) {
  const uint64_t id = allocationId(wish.data);
  UserAllocation allocation;
  if (id == 0 || !findAllocation(wish.data, &allocation) || allocation.id != id) return;
  ExportedAllocation exported = exportAllocation(device_, allocation);
  if (allocationId(wish.data) != id || allocationId(allocation.base) != id) return;
  if (!offered_.offer(wish.peer, allocation, exported.how)) return sayNoRoom(allocation);
  write(wish.peer,
        {.kind = kOffer,
         .how = exported.how,
         .id = allocation.id,
         .value = allocation.bytes,
         .ipc = exported.ipc},
        std::move(exported.fd));
}

/// Once: what is received there is slower, and nothing else tells.
void BackgroundMemory::sayNoRoom(const UserAllocation& allocation) {
  if (saidNoRoom_ || !offered_.lacksRoom(allocation.id)) return;
  saidNoRoom_ = true;
  logLine(LogPart::Device, LogLevel::Warn, rank_, [&] {
    return format(
        "what is received into the allocation of %p, %llu bytes long, takes up to a quarter "
        "longer, for other processes do not map it: they may keep %llu bytes of cudaMalloc's "
        "memory from being freed; RONDO_REGISTER=BYTES allows more, rondoCommRegister and memory "
        "of rondoMemAllocDevice need none of it",
        static_cast<const void*>(allocation.base),
        static_cast<unsigned long long>(allocation.bytes),
        static_cast<unsigned long long>(offered_.mostKept()));
  });
}

void BackgroundMemory::offerToGraphs() {
  for (const GraphPlaces::Wanted& wanted : graphs_.takeWanted()) {
    const UserAllocation& allocation = wanted.allocation;
    ExportedAllocation exported = exportAllocation(device_, allocation);
    if (allocationId(allocation.base) != allocation.id) exported.how = ExportedAllocation::kNone;
    if (exported.how == ExportedAllocation::kNone) {
      graphs_.answer(wanted.index, wanted.peer, allocation.id, 0);
      continue;
    }
    write(wanted.peer,
          {.kind = kOffer,
           .how = exported.how,
           .place = wanted.index + 1,
           .id = allocation.id,
           .value = allocation.bytes,
           .ipc = exported.ipc},
          std::move(exported.fd));
  }
}

void BackgroundMemory::write(int peer, const Letter& letter, UniqueFd fd) {
  Letter whole = letter;
  whole.from = rank_;
  whole.secret = *peers_[static_cast<size_t>(peer)];
  outgoing_.push_back({peer, whole, std::move(fd)});
}

/// Letters to one peer go in their order; a full mailbox does not hold up the others'.
void BackgroundMemory::send() {
  std::vector<char> full(static_cast<size_t>(size_));
  std::deque<Outgoing> left;
  for (Outgoing& out : outgoing_) {
    const auto peer = static_cast<size_t>(out.peer);
    const int problem = full[peer] != 0
                            ? EAGAIN
                            : sendDatagram(socket_.get(), mailboxOf(*peers_[peer]), &out.letter,
                                           sizeof out.letter, out.fd.get());
    if (problem == ECONNREFUSED || problem == ENOENT || problem == EPIPE) {  // it is gone
      offered_.closedAll(out.peer);
      graphs_.closedAll(out.peer);
    } else if (problem != 0) {
      full[peer] = 1;
      left.push_back(std::move(out));
    } else {
      retryMs_ = 0;
    }
  }
  outgoing_ = std::move(left);
}

}  // namespace rondo

#endif  // HAVE_CUDA
