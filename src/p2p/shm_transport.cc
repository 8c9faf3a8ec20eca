#include "p2p/shm_transport.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "p2p/shm_ports.h"

namespace rondo {
namespace {

constexpr int kLanes = 2;

/// Of this process's next lease.
uint32_t nextSerial() {
  static std::atomic<uint32_t> last{0};
  uint32_t serial = 0;
  while (serial == 0) serial = ++last;  // cleared memory is nobody's
  return serial;
}

}  // namespace

void ShmTransport::takeLease(Bootstrap& boot, const Wish& wish) {
  const uint64_t poolLimit = wish.poolLimit;
  // A communicator takes at most an eighth of what is left for a rank, so that there is always some
  // for the next one; with less it runs in smaller chunks.
  const uint64_t left = poolLimit - std::min(poolLimit, Segment::own().poolUsed());
  const uint64_t share = left / (poolLimit / wish.poolBytes) / 8;
  layout_.areaBytes = wish.mostArea;
  while (layout_.areaBytes > ShmLayout::kLeastArea && layout_.leaseBytes() > share) {
    layout_.areaBytes /= 2;
  }
  // Shorter windows would all stay in a reader's cache, and wide staging is of no use then. They
  // count for no share: a communicator has them however many there are, because with windows on
  // some the same plan took 1.2 to 1.7 times as long on the others (64 KiB to 1 MiB of all-reduce,
  // two ranks, EPYC, family 25, 2026-11-23).
  const bool wide = layout_.ranks > 1 && layout_.ranks <= ShmLayout::kMostWideRanks;
  layout_.windows = wide && layout_.areaBytes == ShmLayout::kMostArea ? ShmLayout::kWindows : 0;
  for (; layout_.areaBytes >= ShmLayout::kLeastArea; layout_.areaBytes /= 2, layout_.windows = 0) {
    offset_ = Segment::own().lease(layout_.windowsAt(), layout_.controlBytes(), poolLimit,
                                   layout_.windowBytes());
    if (offset_ != RangeAllocator::kNone) break;
  }
  std::string problem;
  if (offset_ == RangeAllocator::kNone) {
    problem = format(
        "the pool of shared memory is used up (%llu of %llu bytes in use): destroy communicators "
        "or raise "
        "RONDO_POOL_BYTES",
        static_cast<unsigned long long>(Segment::own().poolUsed()),
        static_cast<unsigned long long>(poolLimit));
  } else {
    serial_ = nextSerial();
    auto* const own = reinterpret_cast<LeaseHeader*>(Segment::own().base() + offset_);
    std::atomic_ref(own->serial).store(serial_, std::memory_order_release);
  }
  boot.agree(problem.empty() ? rondoSuccess : rondoOutOfMemory, problem);
}

std::unique_ptr<ShmTransport> ShmTransport::create(Bootstrap& boot, FdExchange* exchange,
                                                   const std::vector<int>& near, const Wish& wish) {
  const int n = static_cast<int>(near.size());
  const int rank =
      static_cast<int>(std::find(near.begin(), near.end(), boot.rank()) - near.begin());
  std::unique_ptr<ShmTransport> self(new ShmTransport(rank, ShmLayout{n, kLanes, 0}));
  self->takeLease(boot, wish);

  Segment& own = Segment::own();
  const LeaseInfo mine{own.token(), own.bytes(), self->offset_, self->layout_.areaBytes,
                       self->serial_};
  std::vector<LeaseInfo> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  for (const LeaseInfo& info : all) {
    self->layout_.areaBytes = std::min(self->layout_.areaBytes, info.areaBytes);
  }
  if (self->layout_.areaBytes < ShmLayout::kMostArea) self->layout_.windows = 0;
  if (self->layout_.areaBytes < wish.mostArea) {
    logLine(LogPart::Boot, LogLevel::Info, boot.rank(), [&] {
      return format(
          "staging areas of %llu bytes a channel instead of %llu: little is left of "
          "RONDO_POOL_BYTES on a rank, or there are many ranks",
          static_cast<unsigned long long>(self->layout_.areaBytes),
          static_cast<unsigned long long>(wish.mostArea));
    });
  }
  std::string problem;
  int code = rondoSuccess;
  try {
    self->map(all, near, exchange);
  } catch (const Error& error) {
    problem = error.sentence();
    code = error.code();
  } catch (const std::exception& error) {  // the others wait for this rank's word
    problem = std::string("mapping the peers' memory: ") + error.what();
    code = rondoOutOfMemory;
  }
  // Peers that hear that all is well use the lease, whether this rank hears it or not. Nobody
  // touches another's before it hears that, and nobody hears it if any rank has a problem.
  self->joined_ = problem.empty();
  if (const std::optional<Error> failure = boot.verdict(code, problem)) {
    self->joined_ = false;
    throw *failure;
  }
  return self;
}

/// Trades segments and processes with the near ranks.
void ShmTransport::map(const std::vector<LeaseInfo>& all, const std::vector<int>& near,
                       FdExchange* exchange) {
  const auto n = static_cast<size_t>(layout_.ranks);
  std::vector<UniqueFd> segments, processes;
  if (exchange != nullptr) {
    // Where something did not fit, the peers still get what they wait for.
    std::optional<Error> wrong;
    try {
      segments = exchange->exchange(Segment::own().fd());
    } catch (const Error& error) {
      if (error.code() != rondoSystemError) throw;
      wrong = error;
    }
    UniqueFd self;
    try {
      self = PeerWatch::ownProcess();
    } catch (const Error& error) {
      if (!wrong) wrong = error;
    }
    try {
      processes = exchange->exchange(self.get());
    } catch (const Error&) {
      if (!wrong) throw;
    }
    if (wrong) throw Error(*wrong);
  }
  processes_.resize(n);
  size_t next = 0;
  for (size_t r = 0; r < n; ++r) {
    const LeaseInfo& info = all[static_cast<size_t>(near[r])];
    UniqueFd segment;
    if (exchange != nullptr && static_cast<int>(r) != rank_) {
      segment = std::move(segments[next]);
      processes_[r] = std::move(processes[next++]);
    }
    segments_.push_back(PeerSegment::map(info.token, std::move(segment), info.segmentBytes));
    leases_.push_back(segments_.back()->base() + info.offset);
    tokens_.push_back(info.token);
    serials_.push_back(static_cast<uint32_t>(info.serial));
  }
}

void ShmTransport::watch(const std::function<void(int, Ending)>& ended) {
  for (int r = 0; r < layout_.ranks; ++r) {
    const auto at = static_cast<size_t>(r);
    if (processes_[at].get() < 0 || tokens_[at] == Segment::own().token()) continue;
    PeerWatch::one().watch(this, tokens_[at], std::move(processes_[at]),
                           [r, ended](Ending ending) { ended(r, ending); });
    // And beyond the communicator's end, until nobody can hold this rank's lease any more.
    PeerWatch::one().watch(&tokens_, tokens_[at], UniqueFd(), [](Ending) {});
  }
  processes_.clear();
}

/// Another process may have found out first.
bool ShmTransport::died(int rank) const {
  const uint64_t token = tokens_[static_cast<size_t>(rank)];
  if (ending(rank).word() != 0) PeerWatch::one().believeDead(token);
  return PeerWatch::one().died(token);
}

void ShmTransport::noteEnding(int rank, Ending ending) {
  uint32_t none = 0;
  std::atomic_ref(header(rank)->ending)
      .compare_exchange_strong(none, ending.word(), std::memory_order_acq_rel);
}

namespace {

std::chrono::seconds secondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

/// Who reports again is the host that did, unless it has stopped to: others come so much later.
constexpr uint32_t kOthersLater = 1;

}  // namespace

void ShmTransport::noteReport() {
  std::atomic_ref(header(0)->reported)
      .store(static_cast<uint32_t>(secondsNow().count()) + 1 + kOthersLater,
             std::memory_order_relaxed);
}

bool ShmTransport::claimReport(std::chrono::seconds again) {
  const std::chrono::seconds now = secondsNow();
  std::atomic_ref<uint32_t> reported(header(0)->reported);
  uint32_t last = reported.load(std::memory_order_relaxed);
  if (last != 0 && now - std::chrono::seconds(last) < again) return false;
  return reported.compare_exchange_strong(last, static_cast<uint32_t>(now.count()) + 1);
}

namespace {

/// Goes on watching processes that are watched now, or for which there is something to watch by.
class StillWatched {
 public:
  StillWatched(const std::vector<uint64_t>& tokens, std::vector<UniqueFd> processes) {
    processes.resize(tokens.size());
    for (size_t r = 0; r < tokens.size(); ++r) {
      if (tokens[r] == Segment::own().token()) continue;
      PeerWatch::one().watch(this, tokens[r], std::move(processes[r]), [](Ending) {});
    }
  }
  ~StillWatched() { PeerWatch::one().forget(this); }
  StillWatched(const StillWatched&) = delete;
  StillWatched& operator=(const StillWatched&) = delete;
};

/// Whose letting go, or death, a lease still waits for: every rank says so in its own lease, which
/// the others can read until then and later see to be another's. So it matters to nobody how far
/// the making of the communicator came elsewhere, or in which moment a process was killed.
class Stayers {
 public:
  Stayers(std::vector<uint64_t> tokens, std::vector<UniqueFd> processes,
          const std::vector<uint32_t>& serials, const std::vector<char*>& leases,
          std::vector<std::shared_ptr<PeerSegment>> segments)
      : watched_(tokens, std::move(processes)) {
    for (size_t r = 0; r < tokens.size(); ++r) {
      stayers_.push_back({tokens[r], serials[r], reinterpret_cast<LeaseHeader*>(leases[r]),
                          std::move(segments[r])});
    }
  }
  /// Never reads a lease again whose rank was seen to have let go: in a process of several ranks
  /// that memory may be in use.
  bool none() {
    std::erase_if(stayers_, hasGone);
    return stayers_.empty();
  }

 private:
  struct Stayer {
    uint64_t token;
    uint32_t serial;
    LeaseHeader* header;
    std::shared_ptr<PeerSegment> segment;
  };
  static bool hasGone(const Stayer& stayer) {
    const auto read = [](uint32_t& word) {
      return std::atomic_ref(word).load(std::memory_order_acquire);
    };
    return read(stayer.header->serial) != stayer.serial || read(stayer.header->left) != 0 ||
           PeerWatch::one().died(stayer.token);
  }

  StillWatched watched_;
  std::vector<Stayer> stayers_;
};

}  // namespace

ShmTransport::~ShmTransport() {
  // Who is known to have died is remembered for what follows. A rank that gave the making up may
  // use its lease for something else by now.
  for (int r = 0; joined_ && r < layout_.ranks; ++r) {
    const auto at = static_cast<size_t>(r);
    const bool ended = ending(r).word() != 0;
    const uint32_t serial = std::atomic_ref(header(r)->serial).load(std::memory_order_acquire);
    if (ended && serial == serials_[at]) PeerWatch::one().believeDead(tokens_[at]);
  }
  // A peer may yet end without having let go of this rank's lease.
  std::shared_ptr<Stayers> stayers;
  if (joined_) {
    stayers = std::make_shared<Stayers>(tokens_, std::move(processes_), serials_, leases_,
                                        std::move(segments_));
  }
  PeerWatch::one().forget(this);
  PeerWatch::one().forget(&tokens_);
  if (offset_ == RangeAllocator::kNone) return;
  auto* const own = reinterpret_cast<LeaseHeader*>(Segment::own().base() + offset_);
  const std::atomic_ref<uint32_t> left(own->left);
  if (!joined_) {
    left.store(1, std::memory_order_release);
    Segment::own().endLease(offset_);
    return;
  }
  // Before it says that it has left: until then no peer's lease, and with this rank among those who
  // stay not this one either, is used again, so that the first look at each reads what is its own.
  Segment::own().endLease(offset_, [stayers] { return stayers->none(); });
  left.store(1, std::memory_order_release);
  Segment::own().settle();
}

Channels ShmTransport::makeChannels() {
  Channels channels;
  const int n = layout_.ranks;
  channels.ranks = n;
  channels.lanes = layout_.lanes;
  channels.chunkBytes = layout_.chunkBytes();
  std::shared_ptr<WideArea> wide;
  std::vector<std::shared_ptr<PeerWindows>> theirs(static_cast<size_t>(n));
  if (layout_.windows > 0) {
    wide = std::make_shared<WideArea>(layout_, segments_[rank_]->base(),
                                      offset_ + layout_.windowsAt());
    for (int peer = 0; peer < n; ++peer) {
      theirs[static_cast<size_t>(peer)] = std::make_shared<PeerWindows>(layout_, leases_[peer]);
    }
  }
  for (int lane = 0; lane < layout_.lanes; ++lane) {
    for (int peer = 0; peer < n; ++peer) {
      const bool own = peer == rank_;
      channels.sends.push_back(std::make_unique<ShmSendPort>(
          layout_, layout_.channel(lane, rank_, own ? -1 : peer), own ? n - 1 : 1, leases_[rank_],
          segments_[rank_]->base(), channels.stamp.get(), wide));
      channels.pairRecvs.push_back(
          own ? nullptr
              : std::make_unique<ShmRecvPort>(layout_, layout_.channel(lane, peer, rank_), 0,
                                              leases_[peer], segments_[peer]->base(),
                                              theirs[static_cast<size_t>(peer)]));
      channels.allRecvs.push_back(
          own ? nullptr
              : std::make_unique<ShmRecvPort>(
                    layout_, layout_.channel(lane, peer, -1), layout_.readerOf(peer, rank_),
                    leases_[peer], segments_[peer]->base(), theirs[static_cast<size_t>(peer)]));
    }
  }
  return channels;
}

std::optional<uint64_t> ShmTransport::untaken(int from, int channel, int reader) const {
  char* const lease = leases_[static_cast<size_t>(from)];
  auto* const headers = reinterpret_cast<MessageHeader*>(lease + layout_.headersAt(channel));
  auto* const line = reinterpret_cast<ReaderLine*>(lease + layout_.readerLineAt(channel, reader));
  const uint64_t next = std::atomic_ref(line->released).load(std::memory_order_acquire);
  MessageHeader& oldest = headers[next % ShmLayout::kHeaders];
  if (std::atomic_ref(oldest.sequence).load(std::memory_order_acquire) != next + 1) return {};
  return oldest.bytes;
}

std::optional<uint64_t> ShmTransport::untaken(int from, int to) const {
  for (int lane = 0; lane < layout_.lanes; ++lane) {
    auto bytes = untaken(from, layout_.channel(lane, from, to), 0);
    if (!bytes) bytes = untaken(from, layout_.channel(lane, from, -1), layout_.readerOf(from, to));
    if (bytes) return bytes;
  }
  return {};
}

void ShmTransport::abort(uint32_t word) {
  for (int r = 0; r < layout_.ranks; ++r) {
    uint32_t none = 0;
    std::atomic_ref(header(r)->aborted)
        .compare_exchange_strong(none, word, std::memory_order_release, std::memory_order_relaxed);
  }
}

}  // namespace rondo
