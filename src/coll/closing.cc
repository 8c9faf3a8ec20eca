#include "coll/closing.h"

namespace rondo {
namespace {

/// Two would do: the first one may have begun too early. The rest is for ports that show what is
/// there only at some looks.
constexpr uint64_t kLooksOfProof = 1000;

std::atomic_ref<uint64_t> at(uint64_t& word) { return std::atomic_ref(word); }

}  // namespace

void Closing::begin() {
  begun_.store(true, std::memory_order_relaxed);
  if (fabric_ != nullptr) at(fabric_->state(rank_).closing).fetch_or(RankState::kCloses);
}

void Closing::end() {
  if (fabric_ == nullptr) return;
  at(fabric_->state(rank_).closing).fetch_or(RankState::kCloses | RankState::kFinalized);
}

void Closing::note(bool moved) {
  if (fabric_ == nullptr) return;
  RankState& state = fabric_->state(rank_);
  if (moved) {
    at(state.closing).fetch_add(RankState::kOneMove);
  } else {
    at(state.looks).fetch_add(1);
  }
}

/// False while a rank may still issue something.
bool Closing::readWords(std::vector<uint64_t>* words) const {
  words->clear();
  for (int r = 0; r < ranks_; ++r) {
    words->push_back(fabric_->left(r) ? RankState::kFinalized
                                      : at(fabric_->state(r).closing).load());
    if (words->back() == 0) return false;
  }
  return true;
}

void Closing::readLooks(std::vector<uint64_t>* looks) const {
  looks->clear();
  for (int r = 0; r < ranks_; ++r) looks->push_back(at(fabric_->state(r).looks).load());
}

// Words before looks the first time, and after them the second: so no word counts a move in the
// time in which every look began and ended.
void Closing::look() {
  if (fabric_ == nullptr || fabric_->spansHosts() || standsStill()) return;
  std::vector<uint64_t> words, looks;
  readLooks(&looks);
  if (!readWords(&words)) return words_.clear();
  if (words != words_) {
    words_ = std::move(words);
    return readLooks(&looks_);
  }
  for (size_t r = 0; r < words.size(); ++r) {
    const bool ended = (words[r] & RankState::kFinalized) != 0;
    if (!ended && looks[r] < looks_[r] + kLooksOfProof) return;
  }
  standsStill_.store(true, std::memory_order_relaxed);
}

}  // namespace rondo
