#include "p2p/far_relay.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/ticks.h"

namespace rondo {
namespace {

/// Calls of which it is known who has made them: where ranks wait, these are the last few. A
/// thousand ranks each.
constexpr size_t kMostCalls = 8;
/// What is to be passed on is gone at once, or the thread that does so is not there.
constexpr size_t kMostLetters = 1024;

bool sameCall(const ComeNews& a, const ComeNews& b) {
  return a.first == b.first && a.call.sequence == b.call.sequence && a.call.sameWords(b.call);
}

}  // namespace

FarRelay::FarRelay(int rank, const std::vector<int>& hostOf)
    : rank_(rank), hostOf_(hostOf), few_(fewInTouch(static_cast<int>(hostOf.size()))) {
  if (!few_) return;
  standings_ = hostStandings(hostOf_, rank_);
  for (int r = 0; r < static_cast<int>(hostOf_.size()); ++r) {
    const auto host = static_cast<size_t>(hostOf_[static_cast<size_t>(r)]);
    if (ranksOf_.size() <= host) ranksOf_.resize(host + 1);
    ranksOf_[host].push_back(r);
    const HostStanding& standing = standings_[static_cast<size_t>(r)];
    if (standing.next && standing.opposite) nextOnes_.push_back(r);
  }
}

int FarRelay::opposite(int rank, const Gone& gone) const {
  int other = rank;
  for (const int each : ranksOf_[static_cast<size_t>(hostOf(rank))]) {
    if (gone(each)) continue;
    if (standings_[static_cast<size_t>(each)].opposite) return each;
    if (gone(other)) other = each;
  }
  return other;
}

/// The longest way round that does not pass it.
int FarRelay::towards(int to, const Gone& gone) const {
  const auto hosts = static_cast<unsigned>(ranksOf_.size());
  const auto mine = static_cast<unsigned>(hostOf(rank_));
  const unsigned on = (static_cast<unsigned>(hostOf(to)) + hosts - mine) % hosts;
  const bool back = on > hosts / 2;
  for (unsigned jump = std::bit_floor(back ? hosts - on : on); jump != 0; jump /= 2) {
    const unsigned host = (mine + (back ? hosts - jump : jump)) % hosts;
    if (static_cast<int>(host) == hostOf(to)) return to;
    for (const int each : ranksOf_[host]) {
      if (standings_[static_cast<size_t>(each)].opposite && !gone(each)) return each;
    }
  }
  return to;
}

std::vector<int> FarRelay::onePerHost(const Gone& gone) const {
  std::vector<int> out;
  for (const std::vector<int>& ranks : ranksOf_) {
    if (!ranks.empty() && hostOf(ranks.front()) != hostOf(rank_)) {
      out.push_back(opposite(ranks.front(), gone));
    }
  }
  return out;
}

/// Where it stands, or else in the place of the oldest call; nullptr: it is older than all.
FarRelay::Known* FarRelay::placeFor(const ComeNews& news) {
  for (Known& each : known_) {
    if (sameCall(each.news, news)) return &each;
  }
  const size_t most = kMostCalls * (hostOf_.size() / ComeNews::kRanks + 1);
  Known fresh{{news.call, news.first, {}}, false};
  if (known_.size() < most) return &known_.emplace_back(fresh);
  const auto oldest = std::min_element(
      known_.begin(), known_.end(),
      [](const Known& a, const Known& b) { return a.news.call.sequence < b.news.call.sequence; });
  if (oldest->news.call.sequence >= news.call.sequence) return nullptr;
  *oldest = fresh;
  return &*oldest;
}

std::vector<int> FarRelay::note(const ComeNews& news) {
  std::vector<int> out;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (news.first % ComeNews::kRanks != 0 || news.first >= hostOf_.size()) return out;
  Known* const known = placeFor(news);
  if (known == nullptr) return out;
  for (size_t bit = 0; bit < ComeNews::kRanks && news.first + bit < hostOf_.size(); ++bit) {
    uint64_t& word = known->news.ranks[bit / 64];
    const uint64_t mask = uint64_t{1} << (bit % 64);
    if ((news.ranks[bit / 64] & mask) == 0 || (word & mask) != 0) continue;
    word |= mask;
    known->fresh = true;
    out.push_back(static_cast<int>(news.first + bit));
  }
  return out;
}

void FarRelay::note(int rank, const Call& call) {
  const auto at = static_cast<uint32_t>(rank);
  ComeNews news{call, at / ComeNews::kRanks * ComeNews::kRanks, {}};
  const uint32_t bit = at - news.first;
  news.ranks[bit / 64] = uint64_t{1} << (bit % 64);
  note(news);
}

std::vector<ComeNews> FarRelay::takeNews() {
  std::vector<ComeNews> out;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Known& each : known_) {
    if (std::exchange(each.fresh, false)) out.push_back(each.news);
  }
  return out;
}

void FarRelay::keep(const RelayedNews& letter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (letters_.size() < kMostLetters) letters_.emplace_back(monotonicNs(), letter);
}

std::vector<RelayedNews> FarRelay::takeLetters() {
  std::vector<RelayedNews> out;
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t now = monotonicNs();
  for (const auto& [since, letter] : std::exchange(letters_, {})) {
    out.push_back(letter);
    out.back().ageMs += static_cast<uint32_t>((now - since) / 1'000'000);
  }
  return out;
}

}  // namespace rondo
