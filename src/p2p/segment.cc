#include "p2p/segment.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/error.h"
#include "p2p/peer_watch.h"

namespace rondo {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kPoolReserve =
    4 * kGiB;  // addresses, not memory: use is bounded by lease()'s limit
constexpr uint64_t kHeapMost = 256 * kGiB;  // addresses: 128 peers x 256 GiB stay inside 47 bits
constexpr uint64_t kHeapLeast = kGiB;

uint64_t heapReserve() {
  const uint64_t memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::clamp((memory + kGiB - 1) / kGiB * kGiB, kHeapLeast, kHeapMost);
}

void* mapShared(int fd, uint64_t bytes, void* at = nullptr) {
  const int flags = MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void* base = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base != MAP_FAILED) madvise(base, bytes, MADV_DONTDUMP);
  return base;
}

/// Maps a peer's segment at an address whose last 28 bits are PeerSegment::shiftOf(`number`) more
/// than those of `own`. Where the system does not lend the addresses for that it comes to lie
/// anywhere.
void* mapShifted(int fd, uint64_t bytes, const char* own, uint64_t number) {
  const uint64_t room = bytes + PeerSegment::kTurn;
  void* const lent =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (lent == MAP_FAILED) return mapShared(fd, bytes);
  const uint64_t first = reinterpret_cast<uintptr_t>(lent);
  const uint64_t wanted = reinterpret_cast<uintptr_t>(own) + PeerSegment::shiftOf(number);
  const uint64_t before = (wanted - first) % PeerSegment::kTurn;
  char* const at = static_cast<char*>(lent) + before;
  void* const base = mapShared(fd, bytes, at);
  if (base == MAP_FAILED) {
    munmap(lent, room);
    return mapShared(fd, bytes);
  }
  if (before != 0) munmap(lent, before);
  munmap(at + bytes, PeerSegment::kTurn - before);
  return base;
}

std::atomic<bool> parents{false};

// The own process's mappings of its peers, by token.
std::mutex& peerMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}
std::map<uint64_t, std::weak_ptr<PeerSegment>>& peerMap() {
  static auto* map = new std::map<uint64_t, std::weak_ptr<PeerSegment>>;
  return *map;
}

}  // namespace

Segment& Segment::own() {
  // Never destroyed: MPI's finalize callbacks and other threads may still use it while statics are
  // taken down.
  static Segment* segment = [] {
    auto* const made = new Segment;
    pthread_atfork(nullptr, nullptr, [] { parents = true; });
    return made;
  }();
  return *segment;
}

bool Segment::isParents() { return parents.load(std::memory_order_relaxed); }

Segment::Segment()
    : fd_(memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      pool_(StatusArea::kBytes, kPoolReserve),
      heapRanges_(0, 0) {
  if (fd_.get() < 0) throw systemError("cannot create shared memory (memfd_create)", errno);
  if (getrandom(&token_, sizeof token_, 0) != sizeof token_) {
    throw systemError("cannot get random bits (getrandom)", errno);
  }
  // An address-space limit (RLIMIT_AS) may forbid the usual reserve: ask for less until it fits.
  for (uint64_t heap = heapReserve();; heap /= 2) {
    bytes_ = kPoolReserve + heap;
    if (ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) {
      throw systemError("cannot size shared memory (ftruncate)", errno);
    }
    void* base = mapShared(fd_.get(), bytes_);
    if (base != MAP_FAILED) {
      base_ = static_cast<char*>(base);
      break;
    }
    if (heap / 2 < kHeapLeast) {
      throw systemError(format("cannot map %llu bytes of shared memory (mmap; see ulimit -v)",
                               static_cast<unsigned long long>(bytes_)),
                        errno);
    }
  }
  // So that readers of other users need not fear that it shrinks under them.
  fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  heap_ = base_ + kPoolReserve;
  heapRanges_ = RangeAllocator(kPoolReserve, bytes_);
  statuses_.open(base_, token_);
  waits_.open(&StatusArea::waits(base_));
}

Segment::~Segment() { munmap(base_, bytes_); }

/// Gives the pages back. By madvise and not by fallocate, which UCX does not notice: the card would
/// go on sending the old pages, for which it keeps registrations, when memory is allocated here
/// again. Where the system refuses (locked memory), they stay.
void Segment::punch(uint64_t offset, uint64_t bytes) {
  madvise(base_ + offset, bytes, MADV_REMOVE);
}

void Segment::free(uint64_t offset) {
  pool_.release(offset);
  const auto besides = besides_.extract(offset);
  if (!besides.empty()) besidesUsed_ -= besides.mapped();
}

void Segment::reclaim() {
  const auto done = [this](const Ended& ended) {
    if (ended.unused && !ended.unused()) return false;
    free(ended.offset);
    return true;
  };
  ended_.erase(std::remove_if(ended_.begin(), ended_.end(), done), ended_.end());
}

/// Where no communicator was ever made no other thread looks. Not under the lock: whoever is told
/// of a death may take others.
void Segment::lookForDeaths() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_.empty()) return;
  }
  PeerWatch::one().look();
}

void Segment::settle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  reclaim();
}

uint64_t Segment::lease(uint64_t bytes, uint64_t zeroBytes, uint64_t limit, uint64_t besides) {
  lookForDeaths();
  const std::lock_guard<std::mutex> lock(mutex_);
  reclaim();
  bytes = RangeAllocator::roundUp(bytes);
  besides = RangeAllocator::roundUp(besides);
  if (counted() + bytes > limit) return RangeAllocator::kNone;
  const uint64_t offset = pool_.allocate(bytes + besides);
  if (offset == RangeAllocator::kNone) return offset;
  std::memset(base_ + offset, 0, zeroBytes);
  if (besides > 0) besides_[offset] = besides;
  besidesUsed_ += besides;
  return offset;
}

void Segment::endLease(uint64_t offset, std::function<bool()> unused) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_.push_back({offset, std::move(unused)});
  reclaim();
}

uint64_t Segment::poolUsed() {
  lookForDeaths();
  const std::lock_guard<std::mutex> lock(mutex_);
  reclaim();
  return counted();
}

void* Segment::allocate(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > bytes_) return nullptr;
  const uint64_t offset = heapRanges_.allocate(RangeAllocator::roundUp(bytes));
  return offset == RangeAllocator::kNone ? nullptr : base_ + offset;
}

bool Segment::release(void* ptr) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t offset = static_cast<uint64_t>(static_cast<char*>(ptr) - base_);
  const uint64_t bytes = heapRanges_.release(offset);
  if (bytes == 0) return false;
  punch(offset, bytes);
  return true;
}

void populate(char* at, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  const uint64_t before = reinterpret_cast<uintptr_t>(at) % RangeAllocator::kPage;
  madvise(at - before, bytes + before, MADV_POPULATE_WRITE);
#else
  static_cast<void>(at), static_cast<void>(bytes);
#endif
}

std::shared_ptr<PeerSegment> PeerSegment::map(uint64_t token, UniqueFd fd, uint64_t bytes) {
  if (token == Segment::own().token()) {
    return std::shared_ptr<PeerSegment>(
        new PeerSegment(Segment::own().base(), Segment::own().bytes(), false));
  }
  const std::lock_guard<std::mutex> lock(peerMutex());
  std::weak_ptr<PeerSegment>& known = peerMap()[token];
  if (auto mapped = known.lock()) return mapped;
  struct stat status;
  if (fstat(fd.get(), &status) != 0)
    throw systemError("cannot read a peer's shared memory (fstat)", errno);
  if (static_cast<uint64_t>(status.st_size) < bytes) {
    throw Error(rondoInternalError, "a peer's shared memory is smaller than it said");
  }
  static uint64_t number = 0;  // of peers that were ever mapped
  void* base = mapShifted(fd.get(), bytes, Segment::own().base(), ++number);
  if (base == MAP_FAILED) throw systemError("cannot map a peer's shared memory (mmap)", errno);
  std::shared_ptr<PeerSegment> mapped(new PeerSegment(static_cast<char*>(base), bytes, true));
  known = mapped;
  return mapped;
}

std::vector<std::shared_ptr<PeerSegment>> PeerSegment::mapped() {
  const std::lock_guard<std::mutex> lock(peerMutex());
  std::vector<std::shared_ptr<PeerSegment>> all;
  for (auto& [token, peer] : peerMap()) {
    if (auto there = peer.lock()) all.push_back(std::move(there));
  }
  return all;
}

PeerSegment::~PeerSegment() {
  if (owned_) munmap(base_, bytes_);
}

}  // namespace rondo
