// What a fabric tells and hears beside messages and ends: who waits for whom, where late ranks are,
// who has made which call.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/ticks.h"
#include "p2p/fabric.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

/// Between two hosts' reports of the same stall: long enough for news of the first.
constexpr std::chrono::milliseconds kHostsApart{200}, kHostsApartAtMost{2000};

/// fn(One), if `letter` carries that.
template <size_t At = 0, class Fn>
void openLetter(const RelayedNews& letter, const Fn& fn) {
  if constexpr (At < std::variant_size_v<FarNews>) {
    using One = std::variant_alternative_t<At, FarNews>;
    if constexpr (RelayedNews::carries<One>()) {
      if (letter.kind == At) {
        One one;
        std::memcpy(&one, letter.data, sizeof one);
        if constexpr (std::is_same_v<One, WaitNote>) {
          one.started += letter.ageMs * int64_t{1'000'000};
          one.seen += letter.ageMs * int64_t{1'000'000};
        }
        return fn(one);
      }
    }
    openLetter<At + 1>(letter, fn);
  }
}

}  // namespace

/// From rank `from` to a far one, by way of whoever this rank speaks to.
template <class One>
void Fabric::carry(const One& news, int from, int to) {
  static_assert(RelayedNews::carries<One>());
  const auto gone = [this](int r) { return goneOrLeft(r); };
  const int next = relay_.few() ? relay_.towards(to, gone) : to;
  if (next == to && from == rank_) return far_->share(news, to);
  RelayedNews letter{from, to, static_cast<uint32_t>(FarNews(news).index()), 0, {}};
  std::memcpy(letter.data, &news, sizeof news);
  far_->share(letter, next);
}

bool Fabric::claimReport(std::chrono::seconds again, std::chrono::steady_clock::duration waited) {
  const int host = members_[static_cast<size_t>(rank_)].hostOf;
  if (waited < again + std::min(host * kHostsApart, kHostsApartAtMost)) return false;
  if (!shm_->claimReport(again)) return false;
  if (!far_) return true;
  if (!relay_.few()) {
    far_->share(ReportNote{}, FarTransport::kEverybody);
  } else {
    const auto gone = [this](int r) { return goneOrLeft(r); };
    for (const int r : relay_.onePerHost(gone)) carry(ReportNote{}, rank_, r);
  }
  return true;
}

void Fabric::hear(int, const RelayedNews& letter) {
  if (letter.to < 0 || letter.to >= ranks_ || letter.from < 0 || letter.from >= ranks_) return;
  if (letter.from == rank_ || (letter.to != rank_ && near(letter.to))) return;
  if (letter.to == rank_) {
    if (near(letter.from)) return;
    return openLetter(letter, [&](const auto& news) { hear(letter.from, news); });
  }
  relay_.keep(letter);
  ringBack();
}

/// What others have called is as good as if they had told it, but for what they mean to move.
void Fabric::hear(int, const ComeNews& news) {
  const std::vector<int> fresh = relay_.note(news);
  if (fresh.empty()) return;
  for (const int rank : fresh) {
    if (FarRank* const far = farRank(rank)) {
      FarCallsTold& told = far->calls.make();
      const uint64_t at = news.call.sequence % ShmLayout::kCallRecords;
      Call before;
      if (told.records[at].read(&before) && before.sequence >= news.call.sequence) continue;
      told.records[at].write(news.call, [&] { told.counts[at].store({UINT64_MAX, UINT64_MAX}); });
    }
  }
  ringBack();
}

bool Fabric::passOn() {
  if (!speaksToFew()) return false;
  const std::vector<ComeNews> come = relay_.takeNews();
  for (const int rank : relay_.nextOnes()) {
    if (goneOrLeft(rank)) continue;
    for (const ComeNews& news : come) far_->share(news, rank);
  }
  const std::vector<RelayedNews> letters = relay_.takeLetters();
  const auto gone = [this](int r) { return goneOrLeft(r); };
  for (const RelayedNews& letter : letters) far_->share(letter, relay_.towards(letter.to, gone));
  return !come.empty() || !letters.empty();
}

void Fabric::shareWait(int rank, const WaitNote& note) {
  if (!far_ || near(rank)) return;
  const auto now = static_cast<int64_t>(monotonicNs());
  WaitNote told = note;
  told.started = now - note.started;
  told.seen = now - note.seen;
  if (!relay_.few()) return far_->share(told, rank);
  carry(told, rank_, relay_.opposite(rank, [this](int r) { return goneOrLeft(r); }));
}

/// Hosts' clocks differ, ages do not. On its way a message gets older by less than a circle of
/// waits that shall be told from a passing one.
void Fabric::hear(int, const WaitNote& note) {
  const auto now = static_cast<int64_t>(monotonicNs());
  if (note.awaited > WaitNote::kMostAwaited || note.started < note.seen || note.seen < 0) return;
  WaitNote heard = note;
  heard.started = now - note.started;
  heard.seen = now - note.seen;
  Segment::own().waits().put(heard);
}

void Fabric::ask(const std::vector<int>& late, bool inside, bool afresh) {
  if (!far_) return;
  for (const FarPlaces::Letter& letter : places_.ask(late, inside, afresh)) {
    carry(letter.question, rank_, letter.to);
  }
}

void Fabric::hear(int rank, const PlaceQuestion& question) {
  if (!places_.asked(rank, question)) return;
  ringBack();
}

void Fabric::hear(int rank, const PlaceAnswer& answer) {
  if (places_.answered(rank, answer) || !survey_.answered(rank, answer)) return;
  ringBack();
}

void Fabric::answer(const FarPlaces::Asked& asked, const PlaceAnswer& said) {
  PlaceAnswer answer = said;
  answer.rank = asked.question.rank;
  answer.number = asked.question.number;
  carry(answer, rank_, asked.by);
}

void Fabric::survey(const std::vector<int>& ranks) {
  if (!far_) return;
  for (const FarPlaces::Letter& letter : survey_.ask(ranks, false, true)) {
    carry(letter.question, rank_, letter.to);
  }
}

}  // namespace rondo
