#include "coll/far_calls.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/ticks.h"
#include "coll/place_text.h"
#include "p2p/shm_layout.h"

namespace rondo {
namespace {

/// The newest that can be read; its sequence is 0 if there is none.
Call lastTold(const Fabric& fabric, int rank) {
  Call last;
  for (uint64_t slot = 0; slot < ShmLayout::kCallRecords; ++slot) {
    Call call;
    if (fabric.record(rank, slot).read(&call) && call.sequence > last.sequence) last = call;
  }
  return last;
}

FlightProcess& processOf(const MemberText& member, std::vector<FlightProcess>* all) {
  const auto found = std::find_if(all->begin(), all->end(), [&](const FlightProcess& each) {
    return each.host == member.host && each.pid == member.pid;
  });
  if (found != all->end()) return *found;
  FlightProcess process;
  process.host = member.host;
  process.pid = member.pid;
  all->push_back(std::move(process));
  return all->back();
}

/// Of one rank, as the status areas of this host have it. False: it is not seen there.
bool noteOf(const std::vector<FlightProcess>& near, uint64_t id, int rank, LateNote* note) {
  const auto now = static_cast<int64_t>(monotonicNs());
  for (const FlightProcess& process : near) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != id || comm.rank != rank) continue;
      *note = {};
      note->rank = rank;
      const std::string text = placeForFar(process, comm, now);
      std::memcpy(note->text, text.data(), std::min(text.size(), sizeof note->text - 1));
      return true;
    }
  }
  return false;
}

constexpr int64_t kBetweenAnswers = 50'000'000;

}  // namespace

FarCalls::FarCalls() {
  FarQuestions::answer = [] { one().answerAll(); };
}

void FarCalls::answerAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = static_cast<int64_t>(monotonicNs());
  if (now - answered_ < kBetweenAnswers) {  // what is asked meanwhile is answered together
    std::this_thread::sleep_for(std::chrono::nanoseconds(answered_ + kBetweenAnswers - now));
  }
  const std::vector<FlightProcess> near = readNearFlights();
  LateNote note;
  for (const Entry& entry : entries_) {
    for (int asker = 0; asker < entry.identity.size; ++asker) {
      const int late = entry.fabric->takeQuestion(asker);
      if (late < 0 || !noteOf(near, entry.identity.id, late, &note)) continue;
      entry.fabric->answer(asker, note);
    }
  }
  answered_ = static_cast<int64_t>(monotonicNs());
}

FarCalls& FarCalls::one() {
  static FarCalls* const calls = new FarCalls;  // the progress thread may outlive every static
  return *calls;
}

void FarCalls::add(Fabric* fabric, FlightComm identity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({fabric, std::move(identity)});
}

void FarCalls::remove(const Fabric* fabric) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [fabric](const Entry& each) { return each.fabric == fabric; });
}

std::vector<FlightProcess> FarCalls::read() const {
  std::vector<FlightProcess> all;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    const int known =
        std::min(entry.identity.size, static_cast<int>(entry.identity.members.size()));
    for (int rank = 0; rank < known; ++rank) {
      if (entry.fabric->near(rank)) continue;
      FlightComm comm = entry.identity;
      comm.rank = rank;
      const Call told = lastTold(*entry.fabric, rank);
      if (told.sequence != 0) {
        FlightOp op;
        op.facts =
            OpFacts::of({{told.words[0], told.words[1], told.words[2], told.sequence << 32}});
        comm.host.push_back(op);
      }
      processOf(comm.members[static_cast<size_t>(rank)], &all).comms.push_back(std::move(comm));
    }
  }
  return all;
}

}  // namespace rondo
