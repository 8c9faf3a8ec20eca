#include "p2p/wait_notes.h"

#include <cstring>

namespace rondo {

void WaitSlot::write(const WaitNote& note) {
  uint64_t from[kWords];
  std::memcpy(from, &note, sizeof note);
  std::atomic_ref<uint64_t> at(version);
  const uint64_t before = at.load(std::memory_order_relaxed);
  at.store(before + 1, std::memory_order_relaxed);
  for (int w = 0; w < kWords; ++w) {
    std::atomic_ref(words[w]).store(from[w], std::memory_order_release);
  }
  at.store(before + 2, std::memory_order_release);
}

bool WaitSlot::read(WaitNote* note) const {
  auto& self = const_cast<WaitSlot&>(*this);
  uint64_t to[kWords];
  std::atomic_ref<uint64_t> at(self.version);
  const uint64_t before = at.load(std::memory_order_acquire);
  for (int w = 0; w < kWords; ++w) {
    to[w] = std::atomic_ref(self.words[w]).load(std::memory_order_acquire);
  }
  if (before == 0 || before % 2 != 0 || at.load(std::memory_order_relaxed) != before) return false;
  std::memcpy(note, to, sizeof *note);
  // Another process may write what it likes there.
  note->name[sizeof note->name - 1] = note->host[sizeof note->host - 1] = '\0';
  return note->awaited <= WaitNote::kMostAwaited;
}

std::vector<WaitNote> WaitSlots::read() const {
  std::vector<WaitNote> all;
  WaitNote note;
  for (const WaitSlot& slot : slots) {
    if (slot.read(&note)) all.push_back(note);
  }
  return all;
}

bool WaitDesk::put(const WaitNote& note) {
  const std::lock_guard<std::mutex> lock(mutex_);
  WaitSlot* place = nullptr;
  int64_t oldest = INT64_MAX;
  WaitNote there;
  for (WaitSlot& slot : slots_->slots) {
    if (!slot.read(&there)) {
      if (oldest != INT64_MIN) place = &slot;
      oldest = INT64_MIN;
    } else if (there.process == note.process && there.comm == note.comm &&
               there.rank == note.rank) {
      if (there.seen > note.seen) return false;
      const bool same = there.sameCall(note);
      slot.write(note);
      if (!same) news_.fetch_add(1, std::memory_order_release);
      return !same;
    } else if (there.seen < oldest) {
      oldest = there.seen;
      place = &slot;
    }
  }
  place->write(note);
  news_.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace rondo
