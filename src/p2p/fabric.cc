#include "p2p/fabric.h"

#include "base/error.h"
#include "p2p/mixed_ports.h"

namespace rondo {

Fabric::Fabric(int rank, int ranks, std::vector<int> near, std::unique_ptr<ShmTransport> shm,
               std::vector<std::string> hosts, std::vector<int> pids)
    : rank_(rank),
      ranks_(ranks),
      near_(std::move(near)),
      placeOf_(static_cast<size_t>(ranks), -1),
      shm_(std::move(shm)),
      hosts_(std::move(hosts)),
      pids_(std::move(pids)),
      farCalls_(static_cast<size_t>(ranks)) {
  for (size_t i = 0; i < near_.size(); ++i) {
    placeOf_[static_cast<size_t>(near_[i])] = static_cast<int>(i);
  }
  for (int r = 0; r < ranks; ++r) {
    if (placeOf_[static_cast<size_t>(r)] < 0) {
      farCalls_[static_cast<size_t>(r)] = std::make_unique<FarCalls>();
    }
  }
}

Fabric::~Fabric() = default;

Channels Fabric::makeChannels() {
  Channels local = shm_->makeChannels();
  if (!far_) return local;
  Channels all;
  all.ranks = ranks_;
  all.lanes = local.lanes;
  all.chunkBytes = local.chunkBytes;
  all.stamp = std::move(local.stamp);
  all.far.resize(static_cast<size_t>(ranks_));
  for (int lane = 0; lane < all.lanes; ++lane) {
    for (int peer = 0; peer < ranks_; ++peer) {
      const int place = placeOf_[static_cast<size_t>(peer)];
      if (place < 0) {
        all.far[static_cast<size_t>(peer)] = true;
        all.sends.push_back(far_->sendTo(lane, peer, all.stamp.get()));
        all.pairRecvs.push_back(far_->recvFrom(lane, peer, false));
        all.allRecvs.push_back(far_->recvFrom(lane, peer, true));
        continue;
      }
      const size_t at = local.index(lane, place);
      std::unique_ptr<SendPort> send = helpingSendPort(std::move(local.sends[at]), *far_);
      if (peer == rank_) {
        std::unique_ptr<SendPort> toFar = far_->sendToAll(lane, all.stamp.get());
        all.sends.push_back(near_.size() == 1 ? std::move(toFar)
                                              : mixedSendPort(std::move(send), std::move(toFar)));
        all.pairRecvs.push_back(nullptr);
        all.allRecvs.push_back(nullptr);
        continue;
      }
      all.sends.push_back(std::move(send));
      all.pairRecvs.push_back(helpingRecvPort(std::move(local.pairRecvs[at]), *far_));
      all.allRecvs.push_back(helpingRecvPort(std::move(local.allRecvs[at]), *far_));
    }
  }
  return all;
}

std::string Fabric::abortText(const std::string& name) const {
  const uint32_t word = aborted();
  const uint32_t rank = (word & kRankBits) - 1;
  if ((word & (kDied | kDeserted)) != 0) {
    const int who = static_cast<int>(rank);
    return format("%s of communicator \"%s\" %s", rankText(who).c_str(), name.c_str(),
                  (word & kDied) != 0 ? endingText(who).c_str()
                                      : "has let go of it and takes no part in this call");
  }
  if ((word & kLost) == 0) return format("rank %u aborted communicator \"%s\"", rank, name.c_str());
  std::string why;
  {
    const std::lock_guard<std::mutex> lock(lostMutex_);
    why = whyLost_;
  }
  const std::string host = rank < hosts_.size() ? hosts_[rank] : "?";
  return format("rank %u of communicator \"%s\" on host \"%s\" cannot be reached any more", rank,
                name.c_str(), host.c_str()) +
         (why.empty() ? " (another rank saw it go)" : ": " + why);
}

void Fabric::abort() { endAll(static_cast<uint32_t>(rank_) + 1); }

void Fabric::endAll(uint32_t word) {
  shm_->abort(word);
  if (far_) far_->abort(word);
}

void Fabric::watchPeers(std::function<void()> died) {
  shm_->watch([this, died = std::move(died)](int place, Ending ending) {
    peerDied(place, ending);
    died();
  });
}

void Fabric::peerDied(int place, Ending ending) {
  shm_->noteEnding(place, ending);
  if (shm_->left(place)) return;  // it had done what it had to
  const int rank = near_[static_cast<size_t>(place)];
  endAll((static_cast<uint32_t>(rank) + 1) | kDied);
}

int Fabric::culprit() const {
  const uint32_t word = aborted();
  return (word & (kDied | kDeserted)) != 0 ? static_cast<int>(word & kRankBits) - 1 : -1;
}

std::string Fabric::rankText(int rank) const {
  const auto at = static_cast<size_t>(rank);
  return format("rank %d (host \"%s\", pid %d)", rank, hosts_[at].c_str(), pids_[at]);
}

/// A process whose parent reaped it at once may have ended how it will.
std::string Fabric::endingText(int rank) const {
  return near(rank) ? shm_->ending(place(rank)).text() : "ended";
}

uint32_t Fabric::farLost(int rank, const std::string& why) {
  const uint32_t word = (static_cast<uint32_t>(rank) + 1) | kLost;
  {
    const std::lock_guard<std::mutex> lock(lostMutex_);
    if (whyLost_.empty()) whyLost_ = why;
  }
  shm_->abort(word);
  return word;
}

void Fabric::farCalled(int rank, const Call& call, PairCounts counts) {
  FarCalls* const calls = farCalls_[static_cast<size_t>(rank)].get();
  if (calls == nullptr) return;
  const uint64_t at = call.sequence % ShmLayout::kCallRecords;
  Call before;
  // A rank may tell again of a call that is long past.
  if (calls->records[at].read(&before) && before.sequence > call.sequence) return;
  calls->records[at].write(call, [&] { calls->counts[at].store(counts); });
}

CallRecord& Fabric::record(int rank, uint64_t sequence) const {
  const int place = placeOf_[static_cast<size_t>(rank)];
  if (place >= 0) return shm_->record(place, sequence);
  return farCalls_[static_cast<size_t>(rank)]->records[sequence % ShmLayout::kCallRecords];
}

bool Fabric::pairCounts(int rank, uint64_t sequence, int of, PairCounts* counts) const {
  const int place = placeOf_[static_cast<size_t>(rank)];
  if (place >= 0) {
    *counts = shm_->pairCounts(place, sequence)[of].load();
    return true;
  }
  // It told each rank what concerns that rank.
  if (of != rank_) return false;
  *counts = farCalls_[static_cast<size_t>(rank)]->counts[sequence % ShmLayout::kCallRecords].load();
  return true;
}

void Fabric::tell(int rank, uint64_t sequence) {
  Call call;
  PairCounts counts;
  const bool whole =
      record(rank_, sequence).read(&call, [&] { pairCounts(rank_, sequence, rank, &counts); });
  if (far_ && whole && call.sequence == sequence) far_->tell(rank, call, counts);
}

}  // namespace rondo
