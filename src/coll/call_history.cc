// What a rank was last at, as its peers can read it: for the sentence after a death, and for the
// report of a stall.

#include <algorithm>

#include "api/types.h"
#include "base/error.h"
#include "coll/call_log.h"
#include "coll/flight_view.h"

namespace rondo {
namespace {

uint64_t load(uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
void store(uint64_t& word, uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

constexpr const char* kBeforeAll = "before its first call";

/// What a near rank last launched on device memory, by its flight record, which outlives it: "its
/// launch of collective 12, allreduce with ..."; empty: nothing, or nobody can see it.
std::string launchText(uint64_t id, int rank) {
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != id || comm.rank != rank || comm.device.empty()) continue;
      const OpFacts& facts = comm.device.back().facts;
      const std::string call = flightText(facts);
      if (facts.isTransfers()) return "its launch of " + call + " on device memory";
      return "its launch of " + facts.numberText() + " on device memory, " + call;
    }
  }
  return "";
}

std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

/// Ranks of other hosts that wait say for what; those that compute, or have gone on, say nothing.
/// `last`: the last collective that it told of.
std::string farText(const std::string& who, bool exchange, const Call& last) {
  const std::string there = who + " is on another host";
  if (exchange) return there;
  if (last.sequence == 0) return there + " and has told of no call";
  return there + format(" and last told of collective %llu, %s",
                        static_cast<unsigned long long>(last.sequence), callText(last).c_str());
}

}  // namespace

void CallLog::beginExchange(std::span<const Transfer> transfers, OpOrigin origin,
                            uint64_t enqueued) {
  OpFacts facts;
  facts.collective = OpFacts::kTransfers;
  facts.origin = origin;
  facts.sequence = ++exchanges_;
  facts.collectives = sequence_;
  facts.transfers = static_cast<uint16_t>(std::min<size_t>(transfers.size(), 0xffff));
  for (const Transfer& each : transfers) facts.count += each.bytes;
  if (!transfers.empty()) {
    facts.root = transfers.front().peer;
    facts.sends = transfers.front().sends;
  }
  recorder_.begin(facts, enqueued);
  if (state_ == nullptr) return;
  RankState& state = *state_;
  if (!transfers.empty()) {
    const Transfer& first = transfers.front();
    store(state.peer, static_cast<uint64_t>(first.peer) * 2 + (first.sends ? 1 : 0));
    store(state.bytes, first.bytes);
  }
  store(state.transfers, transfers.size());
  store(state.exchanges, state.exchanges + 1);
}

void CallLog::finishExchange() {
  if (state_ != nullptr) store(state_->exchanged, state_->exchanges);
  recorder_.finish();
}

/// The newest collective that can be read; its sequence is 0 if there is none.
Call CallLog::lastCall(int rank) const {
  Call last;
  if (!fabric_->near(rank) && !fabric_->hasTold(rank)) return last;
  for (uint64_t slot = 0; slot < ShmLayout::kCallRecords; ++slot) {
    Call call;
    if (fabric_->record(rank, slot).read(&call) && call.sequence > last.sequence) last = call;
  }
  return last;
}

std::string CallLog::positionText(int rank) const {
  RankState& state = fabric_->state(rank);
  const uint64_t begun = load(state.exchanges);
  if (begun > load(state.exchanged)) {
    const uint64_t peer = load(state.peer), transfers = load(state.transfers);
    const std::string first =
        format("%s %llu bytes %s rank %d", peer % 2 != 0 ? "a send of" : "a receive of",
               static_cast<unsigned long long>(load(state.bytes)), peer % 2 != 0 ? "to" : "from",
               static_cast<int>(peer / 2));
    if (transfers <= 1) return "in " + first;
    return format("in %llu sends and receives, the first ",
                  static_cast<unsigned long long>(transfers)) +
           first;
  }
  const Call last = lastCall(rank);
  if (last.sequence == 0) return begun != 0 ? "after sends and receives" : kBeforeAll;
  const char* const when = load(state.completed) >= last.sequence ? "after" : "in";
  return format("%s collective %llu, %s", when, static_cast<unsigned long long>(last.sequence),
                callText(last).c_str());
}

std::string CallLog::lastCallText(int rank) const {
  if (fabric_ == nullptr || !fabric_->near(rank)) return "";
  const std::string onHost = positionText(rank), onDevice = launchText(recorder_.id(), rank);
  if (onDevice.empty()) return "; it was " + onHost;
  if (onHost == kBeforeAll) return "; it was after " + onDevice;
  return "; it was " + onHost + ", and after " + onDevice;
}

/// The first near rank for which among(rank) is true that has not made this rank's collective.
template <class Among>
int CallLog::firstAbsent(const Among& among) const {
  if (fabric_ == nullptr || waitsInExchange(place_.rank)) return -1;
  for (int r = 0; r < place_.size; ++r) {
    if (r == place_.rank || !fabric_->near(r) || !among(r)) continue;
    // This rank's own record, not its own variables: another thread may be beginning a call.
    const Call own = lastCall(place_.rank);
    if (load(state_->completed) >= own.sequence) return -1;
    if (lastCall(r).sequence + callPass(own) <= own.sequence) return r;
  }
  return -1;
}

int CallLog::deserter() const {
  return firstAbsent([this](int r) { return fabric_->finished(r); });
}

int CallLog::absentee() const {
  return firstAbsent([](int) { return true; });
}

bool CallLog::waitsInExchange(int rank) const {
  RankState& state = fabric_->state(rank);
  return load(state.exchanges) > load(state.exchanged);
}

std::string CallLog::absentText(int waiter) const {
  const bool near = fabric_->near(waiter), exchange = near && waitsInExchange(waiter);
  const Call own = lastCall(waiter);
  std::string text =
      near ? positionText(waiter)
           : format("in collective %llu, %s", static_cast<unsigned long long>(own.sequence),
                    own.sequence == 0 ? "?" : callText(own).c_str());
  std::vector<std::string> missing, others;
  for (int r = 0; r < place_.size; ++r) {
    if (r == waiter) continue;
    if (!fabric_->near(r)) {
      const Call last = lastCall(r);
      (exchange || last.sequence >= own.sequence ? others : missing)
          .push_back(farText(fabric_->rankText(r), exchange, last));
      continue;
    }
    const std::string is = fabric_->rankText(r) + (fabric_->left(r) ? " has left, " : " is ");
    const bool absent = !exchange && lastCall(r).sequence < own.sequence;
    (absent ? missing : others).push_back(is + positionText(r));
  }
  if (!missing.empty()) text += ". Not in that call yet: " + listed(missing);
  if (!others.empty()) text += ". Others: " + listed(others);
  return text;
}

std::string CallLog::stallText(const std::string& name, double seconds) const {
  if (fabric_ == nullptr) return "";
  return format("communicator \"%s\": %s has waited %.3g s ", name.c_str(),
                fabric_->rankText(place_.rank).c_str(), seconds) +
         absentText(place_.rank);
}

}  // namespace rondo
