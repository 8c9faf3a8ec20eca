#include "coll/far_calls.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "p2p/shm_layout.h"

namespace rondo {
namespace {

/// The newest that can be read; its sequence is 0 if there is none.
Call lastTold(const Fabric& fabric, int rank) {
  Call last;
  if (!fabric.hasTold(rank)) return last;
  for (uint64_t slot = 0; slot < ShmLayout::kCallRecords; ++slot) {
    Call call;
    if (fabric.record(rank, slot).read(&call) && call.sequence > last.sequence) last = call;
  }
  return last;
}

/// Each once, whatever the number of its communicators.
class Processes {
 public:
  FlightProcess& of(const MemberText& member) {
    const uint64_t key = WaitNote::keyOf(member.host, member.pid);
    const auto [at, isNew] = places_.try_emplace(key, all_.size());
    if (isNew) {
      all_.emplace_back();
      all_.back().host = member.host;
      all_.back().pid = member.pid;
    }
    return all_[at->second];
  }
  std::vector<FlightProcess> take() { return std::move(all_); }

 private:
  std::vector<FlightProcess> all_;
  std::unordered_map<uint64_t, size_t> places_;
};

}  // namespace

FarCalls& FarCalls::one() {
  static FarCalls* const calls = new FarCalls;  // the progress thread may outlive every static
  return *calls;
}

void FarCalls::add(const Fabric* fabric, FlightComm identity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({fabric, std::move(identity)});
}

void FarCalls::remove(const Fabric* fabric) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [fabric](const Entry& each) { return each.fabric == fabric; });
}

std::vector<FlightProcess> FarCalls::read() const {
  Processes all;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    const int known =
        std::min(entry.identity.size, static_cast<int>(entry.identity.members.size()));
    for (int rank = 0; rank < known; ++rank) {
      if (entry.fabric->near(rank)) continue;
      FlightComm comm;
      comm.id = entry.identity.id;
      comm.name = entry.identity.name;
      comm.size = entry.identity.size;
      comm.rank = rank;
      const Call told = lastTold(*entry.fabric, rank);
      if (told.sequence != 0) {
        FlightOp op;
        op.facts = OpFacts::of({{told.words[0], told.words[1], told.words[2], 0}});
        op.facts.sequence = told.sequence;
        comm.host.push_back(op);
      }
      all.of(entry.identity.members[static_cast<size_t>(rank)]).comms.push_back(std::move(comm));
    }
  }
  return all.take();
}

}  // namespace rondo
