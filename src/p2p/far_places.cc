#include "p2p/far_places.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/ticks.h"
#include "p2p/host_circle.h"

namespace rondo {
namespace {

/// Beside the late rank itself.
constexpr size_t kWitnesses = 2;
/// Questions that wait here for their answers; whoever asks more is not answered.
constexpr size_t kMostAsked = 1024;

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

FarPlaces::FarPlaces(int rank, std::vector<int> hostOf, uint32_t numbers)
    : rank_(rank),
      hostOf_(std::move(hostOf)),
      few_(fewInTouch(static_cast<int>(hostOf_.size()))),
      numbers_(numbers) {}

/// Both are ranks, of one host.
bool FarPlaces::knows(int by, int rank) const {
  const auto ranks = static_cast<int>(hostOf_.size());
  return by >= 0 && rank >= 0 && by < ranks && rank < ranks &&
         hostOf_[static_cast<size_t>(by)] == hostOf_[static_cast<size_t>(rank)];
}

/// Any of its host can see what it is at; who is late itself may be stopped, and then there are
/// two.
std::vector<int> FarPlaces::oppositeWitnesses(int rank, const std::vector<int>& late) const {
  const std::vector<HostStanding> standings = hostStandings(hostOf_, rank_);
  int opposite = -1;
  std::vector<int> others, lateOnes;
  for (int r = 0; r < static_cast<int>(hostOf_.size()); ++r) {
    if (!knows(r, rank)) continue;
    if (opposite < 0 && standings[static_cast<size_t>(r)].opposite) {
      opposite = r;
    } else {
      (contains(late, r) ? lateOnes : others).push_back(r);
    }
  }
  std::vector<int> out{opposite < 0 ? rank : opposite};
  if (others.empty()) others = lateOnes;
  // Not all ask the same one.
  const auto mine = static_cast<size_t>(hostOf_[static_cast<size_t>(rank_)]);
  if (contains(late, out.front()) && !others.empty()) out.push_back(others[mine % others.size()]);
  return out;
}

/// The next ones after `rank`, so that not all ask the same.
std::vector<int> FarPlaces::witnesses(int rank, const std::vector<int>& late) const {
  if (few_) return oppositeWitnesses(rank, late);
  const auto ranks = static_cast<int>(hostOf_.size());
  std::vector<int> out{rank};
  for (const bool lateToo : {false, true}) {
    for (int step = 1; step < ranks && out.size() <= kWitnesses; ++step) {
      const int next = (rank + step) % ranks;
      if (knows(next, rank) && contains(late, next) == lateToo) out.push_back(next);
    }
  }
  return out;
}

std::vector<FarPlaces::Letter> FarPlaces::ask(const std::vector<int>& late, bool inside,
                                              bool afresh) {
  std::vector<Letter> letters;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (afresh) questions_.clear();
  for (const int rank : late) {
    if (knows(rank_, rank)) continue;
    const PlaceQuestion question{rank, ++numbers_, inside ? 1u : 0u};
    questions_[rank].number = question.number;
    for (const int to : witnesses(rank, late)) letters.push_back({to, question});
  }
  return letters;
}

bool FarPlaces::answered(int by, const PlaceAnswer& answer) {
  std::string text;
  if (knows(by, rank_) || !knows(by, answer.rank) || !answer.text.read(&text)) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = questions_.find(answer.rank);
  if (found == questions_.end() || found->second.number != answer.number) return false;
  found->second.answered = true;
  found->second.at = static_cast<int64_t>(monotonicNs());
  found->second.text = printable(text);
  found->second.raw = answer;
  return true;
}

bool FarPlaces::answerOf(int rank, PlaceAnswer* answer) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = questions_.find(rank);
  if (found == questions_.end() || found->second.raw.number != found->second.number) return false;
  *answer = found->second.raw;
  return true;
}

std::string FarPlaces::text(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = questions_.find(rank);
  if (found == questions_.end()) return "";
  const Question& question = found->second;
  if (!question.answered) return format("where rank %d is, its host has not answered", rank);
  if (question.text.empty()) return "";
  const auto age = static_cast<double>(static_cast<int64_t>(monotonicNs()) - question.at) * 1e-9;
  return question.text + format(" (as its host said %.2g s ago)", age);
}

bool FarPlaces::asked(int by, const PlaceQuestion& question) {
  if (!knows(by, by) || knows(by, rank_) || !knows(rank_, question.rank)) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asked_.size() >= kMostAsked) return false;
  asked_.push_back({by, question});
  return true;
}

std::vector<FarPlaces::Asked> FarPlaces::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(asked_, {});
}

}  // namespace rondo
