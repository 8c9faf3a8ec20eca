#include "p2p/shm_transport.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "p2p/shm_ports.h"

namespace rondo {
namespace {

constexpr int kLanes = 2;

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
  for (; layout_.areaBytes >= ShmLayout::kLeastArea; layout_.areaBytes /= 2) {
    offset_ = Segment::own().lease(layout_.leaseBytes(), layout_.controlBytes(), poolLimit);
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
  }
  boot.agree(problem.empty() ? rondoSuccess : rondoOutOfMemory, problem);
}

std::unique_ptr<ShmTransport> ShmTransport::create(Bootstrap& boot, FdExchange* exchange,
                                                   const std::vector<int>& near, const Wish& wish) {
  const int n = static_cast<int>(near.size());
  const int rank =
      static_cast<int>(std::find(near.begin(), near.end(), boot.rank()) - near.begin());
  std::unique_ptr<ShmTransport> self(new ShmTransport(rank, ShmLayout{n, kLanes, 0, boot.size()}));
  self->takeLease(boot, wish);

  Segment& own = Segment::own();
  const LeaseInfo mine{own.token(), own.bytes(), self->offset_, self->layout_.areaBytes};
  std::vector<LeaseInfo> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  for (const LeaseInfo& info : all) {
    self->layout_.areaBytes = std::min(self->layout_.areaBytes, info.areaBytes);
  }
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
  }
  // Peers that hear that all is well use the lease, whether this rank hears it or not.
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
    const UniqueFd self = PeerWatch::ownProcess();
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

bool ShmTransport::claimReport(std::chrono::seconds again) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::steady_clock::now().time_since_epoch());
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

}  // namespace

ShmTransport::~ShmTransport() {
  for (int r = 0; joined_ && r < layout_.ranks; ++r) died(r);  // remembered for what follows
  // A peer may yet end without having let go of this rank's lease.
  std::shared_ptr<StillWatched> watched;
  if (joined_) watched = std::make_shared<StillWatched>(tokens_, std::move(processes_));
  PeerWatch::one().forget(this);
  PeerWatch::one().forget(&tokens_);
  if (offset_ == RangeAllocator::kNone) return;
  if (!joined_) {
    Segment::own().endLease(offset_, 0);
    return;
  }
  std::atomic_ref(header(rank_)->left).store(1, std::memory_order_release);
  for (int r = 0; r < layout_.ranks; ++r) {
    if (r == rank_) continue;
    std::atomic_ref(leavers(r)[rank_]).store(1, std::memory_order_seq_cst);
    std::atomic_ref(header(r)->detached).fetch_add(1, std::memory_order_release);
  }
  // A peer that died is not counted, unless it died between its mark and its count: then the lease
  // is lost, which is better than given away too early.
  Segment::own().endLease(offset_, static_cast<uint32_t>(layout_.ranks - 1),
                          [marks = leavers(rank_), tokens = tokens_, watched] {
                            uint32_t dead = 0;
                            for (size_t r = 0; r < tokens.size(); ++r) {
                              const bool marked =
                                  std::atomic_ref(marks[r]).load(std::memory_order_acquire) != 0;
                              if (!marked && PeerWatch::one().died(tokens[r])) ++dead;
                            }
                            return dead;
                          });
}

Channels ShmTransport::makeChannels() {
  Channels channels;
  const int n = layout_.ranks;
  channels.ranks = n;
  channels.lanes = layout_.lanes;
  channels.chunkBytes = layout_.chunkBytes();
  for (int lane = 0; lane < layout_.lanes; ++lane) {
    for (int peer = 0; peer < n; ++peer) {
      const bool own = peer == rank_;
      channels.sends.push_back(std::make_unique<ShmSendPort>(
          layout_, layout_.channel(lane, rank_, own ? -1 : peer), own ? n - 1 : 1, leases_[rank_],
          segments_[rank_]->base(), channels.stamp.get()));
      channels.pairRecvs.push_back(
          own ? nullptr
              : std::make_unique<ShmRecvPort>(layout_, layout_.channel(lane, peer, rank_), 0,
                                              leases_[peer], segments_[peer]->base()));
      channels.allRecvs.push_back(
          own ? nullptr
              : std::make_unique<ShmRecvPort>(layout_, layout_.channel(lane, peer, -1),
                                              layout_.readerOf(peer, rank_), leases_[peer],
                                              segments_[peer]->base()));
    }
  }
  return channels;
}

void ShmTransport::abort(uint32_t word) {
  for (int r = 0; r < layout_.ranks; ++r) {
    uint32_t none = 0;
    std::atomic_ref(header(r)->aborted)
        .compare_exchange_strong(none, word, std::memory_order_release, std::memory_order_relaxed);
  }
}

}  // namespace rondo
