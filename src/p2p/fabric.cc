#include "p2p/fabric.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/ticks.h"
#include "p2p/mixed_ports.h"
#include "p2p/segment.h"

namespace rondo {

namespace {

/// So that an answer is known by its number: those for verdicts begin at 1.
constexpr uint32_t kSurveyNumbers = 1u << 31;

std::vector<int> hostsOf(const std::vector<Fabric::Member>& members) {
  std::vector<int> out;
  for (const Fabric::Member& each : members) out.push_back(each.hostOf);
  return out;
}

}  // namespace

std::vector<int> Fabric::hostOf() const { return hostsOf(members_); }

Fabric::Fabric(int rank, std::vector<int> near, std::unique_ptr<ShmTransport> shm,
               std::vector<Member> members)
    : rank_(rank),
      ranks_(static_cast<int>(members.size())),
      near_(std::move(near)),
      placeOf_(members.size(), -1),
      shm_(std::move(shm)),
      members_(std::move(members)),
      relay_(rank, hostsOf(members_)),
      places_(rank, hostsOf(members_)),
      survey_(rank, hostsOf(members_), kSurveyNumbers),
      farRanks_(members_.size()) {
  for (size_t i = 0; i < near_.size(); ++i) {
    placeOf_[static_cast<size_t>(near_[i])] = static_cast<int>(i);
  }
  for (int r = 0; r < ranks_; ++r) {
    if (placeOf_[static_cast<size_t>(r)] < 0) {
      farRanks_[static_cast<size_t>(r)] = std::make_unique<FarRank>();
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
  const int rank = static_cast<int>(word & kRankBits) - 1;
  if (rank < 0 || rank >= ranks_) return format("communicator \"%s\" was aborted", name.c_str());
  if ((word & ~kRankBits) == 0) {
    return format("rank %d aborted communicator \"%s\"", rank, name.c_str());
  }
  std::string who = rankText(rank);
  const std::string link = near(rank) ? "" : far_->linkText(rank);
  if (!link.empty()) who.insert(who.size() - 1, ", by way of " + link);
  return format("%s of communicator \"%s\" ", who.c_str(), name.c_str()) + lossText(word, rank);
}

std::string Fabric::differText(const std::string& name) const {
  return format("%s of communicator \"%s\" ", rankText(rank_).c_str(), name.c_str()) +
         lossText(kDiffering, rank_);
}

/// What the word says of its rank.
std::string Fabric::lossText(uint32_t word, int rank) const {
  if ((word & kDied) != 0) return endingText(rank);
  if ((word & kDeserted) != 0) {
    return near(rank) && closing(rank) != 0 ? "has finalized it and takes no part in this call"
                                            : "has let go of it and takes no part in this call";
  }
  if ((word & kTimedOut) != 0) return "has waited longer than its config.timeout";
  if ((word & kDiffering) != 0) return "found that the ranks make different calls";
  if ((word & kSilent) != 0) {
    return "cannot be reached any more: nothing comes from its host, whose cable, power or system "
           "is gone";
  }
  const std::lock_guard<std::mutex> lock(lostMutex_);
  return "cannot be reached any more" +
         (whyLost_.empty() ? " (another rank saw it go)" : ": " + whyLost_);
}

void Fabric::abort() {
  logLine(LogPart::Watch, LogLevel::Info, rank_, [&] {
    return std::string(aborted() != 0 ? "aborts a communicator that has ended already"
                                      : "aborts its communicator");
  });
  endAll(static_cast<uint32_t>(rank_) + 1);
}

void Fabric::endAll(uint32_t word, uint32_t detail, std::string_view why) {
  shm_->abort(word);
  if (far_) far_->abort(word, detail, why);
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
  logLine(LogPart::Watch, LogLevel::Error, rank_,
          [&] { return rankText(rank) + " " + ending.text(); });
  endAll((static_cast<uint32_t>(rank) + 1) | kDied, ending.word());
}

int Fabric::culprit() const {
  const uint32_t word = aborted();
  return (word & (kDied | kDeserted | kSilent)) != 0 ? static_cast<int>(word & kRankBits) - 1 : -1;
}

int Fabric::endedBy(uint32_t kind) const {
  const uint32_t word = aborted();
  return (word & kind) != 0 ? static_cast<int>(word & kRankBits) - 1 : -1;
}

void Fabric::endWith(uint32_t kind, const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(lostMutex_);
    shm_->why(place(rank_)).write(why);
  }
  endAll((static_cast<uint32_t>(rank_) + 1) | kind, 0, why);
}

namespace {

/// Before a far rank's reason where a near one has it from that; its own begins with a letter.
constexpr const char* kFarMark = "\1";
std::string markOf(int rank) { return kFarMark + format("%d:", rank); }

}  // namespace

/// Far rank `rank` says why it ends the communicator. Of this host's ranks perhaps only this one is
/// told so by the network: the others find it here, before the abort word says that it is there.
void Fabric::noteWhy(int rank, std::string_view why) {
  const std::lock_guard<std::mutex> lock(lostMutex_);
  std::string& known = farRank(rank)->why;
  if (!known.empty()) return;
  known = printable(std::string(why));
  ShmLayout::Why& shown = shm_->why(place(rank_));
  if (aborted() == 0 && shown.read().empty()) shown.write(markOf(rank) + std::string(why));
}

std::string Fabric::toldWhy(int rank) const {
  if (near(rank)) {
    const std::string text = shm_->why(place(rank)).read();
    return text.compare(0, 1, kFarMark) == 0 ? "" : printable(text);
  }
  {
    const std::lock_guard<std::mutex> lock(lostMutex_);
    if (!farRank(rank)->why.empty()) return farRank(rank)->why;
  }
  const std::string mark = markOf(rank);
  for (const int each : near_) {
    const std::string text = shm_->why(place(each)).read();
    if (text.compare(0, mark.size(), mark) == 0) return printable(text.substr(mark.size()));
  }
  return "";
}

std::string Fabric::rankText(int rank) const {
  const Member& member = members_[static_cast<size_t>(rank)];
  return format("rank %d (host \"%s\", pid %d)", rank, member.host.c_str(), member.pid);
}

/// A process whose parent reaped it at once may have ended how it will; so may a far one that was
/// alone on its host.
std::string Fabric::endingText(int rank) const {
  if (near(rank)) return shm_->ending(place(rank)).text();
  return Ending(farRank(rank)->ending.load(std::memory_order_acquire)).text();
}

bool Fabric::gone(int rank, bool alsoLeft) const {
  if (near(rank)) return died(rank) || (alsoLeft && finished(rank));
  const FarRank& far = *farRank(rank);
  return far.gone.load(std::memory_order_acquire) ||
         (alsoLeft && far.left.load(std::memory_order_acquire));
}

/// Its own host's word for a death is believed here, too.
void Fabric::farAborted(uint32_t word, uint32_t detail, std::string_view why) {
  const uint32_t rank = (word & kRankBits) - 1;
  FarRank* const far = rank < farRanks_.size() ? farRank(static_cast<int>(rank)) : nullptr;
  if ((word & kDied) != 0 && far != nullptr) {
    if (detail != 0) far->ending = detail;
    far->gone = true;
    PeerWatch::noteFarDeath();
  }
  if (!why.empty() && far != nullptr) noteWhy(static_cast<int>(rank), why);
  shm_->abort(word);
}

uint32_t Fabric::farLost(int rank, FarLoss how, const std::string& why) {
  const uint32_t kind = how == FarLoss::Ended ? kDied : how == FarLoss::Silent ? kSilent : kLost;
  const uint32_t word = (static_cast<uint32_t>(rank) + 1) | kind;
  logLine(LogPart::Net, LogLevel::Error, rank_,
          [&] { return rankText(rank) + " cannot be reached any more: " + why; });
  {
    const std::lock_guard<std::mutex> lock(lostMutex_);
    if (whyLost_.empty()) whyLost_ = why;
  }
  if (how != FarLoss::Left) {
    farRank(rank)->gone = true;
    PeerWatch::noteFarDeath();
  }
  shm_->abort(word);
  return word;
}

namespace {

void storeWords(uint64_t* to, const uint64_t* from) {
  for (uint64_t w = 0; w < Board::kWords; ++w) {
    std::atomic_ref(to[w]).store(from[w], std::memory_order_release);
  }
}

}  // namespace

/// In the order in which its rank wrote it.
void Fabric::hear(int rank, const BoardNews& news) {
  Board& board = farRank(rank)->board.make();
  storeWords(board.gone, news.gone);
  storeWords(board.named, news.named);
  std::atomic_ref<uint64_t> step(board.step);
  if (step.load(std::memory_order_relaxed) != news.step) {
    std::memcpy(board.blobs[news.step & 1], news.blob, sizeof news.blob);
    step.store(news.step, std::memory_order_release);
  }
  std::atomic_ref(board.state).store(news.state, std::memory_order_release);
}

void Fabric::shareBoard() {
  if (!far_) return;
  Board& mine = board(rank_);
  BoardNews news;
  news.state = mine.state;
  std::copy_n(mine.gone, Board::kWords, news.gone);
  std::copy_n(mine.named, Board::kWords, news.named);
  news.step = mine.step;
  std::memcpy(news.blob, mine.blobs[mine.step & 1], sizeof news.blob);
  far_->share(news, FarTransport::kEverybody);
}

void Fabric::farNews(int rank, const FarNews& news) {
  std::visit([this, rank](const auto& each) { hear(rank, each); }, news);
}

std::vector<int> Fabric::farRanks() const {
  std::vector<int> out;
  for (int r = 0; r < ranks_; ++r) {
    if (!near(r)) out.push_back(r);
  }
  return out;
}

void Fabric::farCalled(int rank, const Call& call, PairCounts counts) {
  FarRank* const calls = farRank(rank);
  if (calls == nullptr) return;
  const uint64_t at = call.sequence % ShmLayout::kCallRecords;
  FarCallsTold& told = calls->calls.make();
  Call before;
  // A rank may tell again of a call that is long past.
  if (told.records[at].read(&before) && before.sequence > call.sequence) return;
  told.records[at].write(call, [&] { told.counts[at].store(counts); });
}

Board& Fabric::board(int rank) const {
  static Board nothing{};  // nobody writes it
  if (near(rank)) return shm_->board(place(rank));
  Board* const shared = farRank(rank)->board.get();
  return shared != nullptr ? *shared : nothing;
}

CallRecord& Fabric::record(int rank, uint64_t sequence) const {
  const int place = placeOf_[static_cast<size_t>(rank)];
  if (place >= 0) return shm_->record(place, sequence);
  static CallRecord nothing{};  // nobody writes it
  FarCallsTold* const told = farRank(rank)->calls.get();
  return told != nullptr ? told->records[sequence % ShmLayout::kCallRecords] : nothing;
}

PairCounts& Fabric::ownPairCounts(uint64_t sequence, int of) {
  if (near(of)) return shm_->pairCounts(place(rank_), sequence)[place(of)];
  const auto ranks = static_cast<size_t>(ranks_);
  auto& row = farCounts_[sequence % ShmLayout::kCallRecords].make(
      [ranks](std::vector<PairCounts>& fresh) { fresh.resize(ranks); });
  return row[static_cast<size_t>(of)];
}

bool Fabric::pairCounts(int rank, uint64_t sequence, int of, PairCounts* counts) const {
  const int place = placeOf_[static_cast<size_t>(rank)];
  const uint64_t at = sequence % ShmLayout::kCallRecords;
  if (place >= 0 && near(of)) {
    *counts = shm_->pairCounts(place, sequence)[placeOf_[static_cast<size_t>(of)]].load();
    return true;
  }
  // Who has nothing in between is told what concerns it, and of others knows nothing.
  if (rank == rank_) {
    std::vector<PairCounts>* const row = farCounts_[at].get();
    *counts = row != nullptr ? (*row)[static_cast<size_t>(of)].load() : PairCounts{};
    return true;
  }
  FarCallsTold* const told = of == rank_ ? farRank(rank)->calls.get() : nullptr;
  if (told == nullptr) return false;
  *counts = told->counts[at].load();
  return true;
}

void Fabric::tell(int rank, uint64_t first, uint64_t last) {
  std::array<ToldCall, ShmLayout::kCallRecords> calls;
  size_t count = 0;
  for (uint64_t s = first; s <= last; ++s) {
    ToldCall& next = calls[count];
    const bool whole =
        record(rank_, s).read(&next.call, [&] { pairCounts(rank_, s, rank, &next.counts); });
    if (whole && next.call.sequence == s && ++count == calls.size()) break;
  }
  if (far_ && count > 0) far_->tell(rank, std::span(calls).first(count));
}

}  // namespace rondo
