#include "coll/wait_text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace rondo {
namespace {

/// So many are named.
constexpr size_t kMostNamed = 8;

/// Whose messages `port` brings; -1: it is none of these.
int senderOf(const RecvPort* port, const Channels& channels) {
  for (int lane = 0; lane < channels.lanes; ++lane) {
    for (int rank = 0; rank < channels.ranks; ++rank) {
      const size_t at = channels.index(lane, rank);
      if (channels.pairRecvs[at].get() == port || channels.allRecvs[at].get() == port) return rank;
    }
  }
  return -1;
}

}  // namespace

void WaitText::add(const char* text, ...) {
  va_list values;
  va_start(values, text);
  const int wrote = std::vsnprintf(text_ + used_, sizeof text_ - used_, text, values);
  va_end(values);
  if (wrote > 0) used_ = std::min(used_ + static_cast<size_t>(wrote), sizeof text_ - 1);
}

void WaitText::addLane(const Runner::Position& lane, const Channels& channels) {
  add("%slane %d: period %llu of %llu, ", used_ == 0 ? "" : "; ", lane.lane,
      static_cast<unsigned long long>(lane.period + 1),
      static_cast<unsigned long long>(lane.periods));
  if (lane.at == nullptr) return add("its last messages have not been read");
  add("step %zu of %zu (%s) ", lane.step + 1, lane.steps, stepKindName(lane.at->kind));
  if (lane.missing == nullptr) return add("has no room for its message: a reader is behind");
  const int sender = senderOf(lane.missing, channels);
  sender < 0 ? add("has no message yet") : add("has no message of rank %d", sender);
}

WaitText::WaitText(const Runner& runner, const Channels& channels) {
  Runner::Position lanes[kMostNamed];
  const size_t there = runner.positions(lanes);
  if (there == 0) add("all steps are done; its last messages have not been read");
  for (size_t i = 0; i < there; ++i) addLane(lanes[i], channels);
}

WaitText::WaitText(const Exchange& exchange) {
  Exchange::Pending transfers[kMostNamed];
  const size_t all = exchange.pending(transfers);
  for (size_t i = 0; i < std::min(all, kMostNamed); ++i) {
    const Exchange::Pending& t = transfers[i];
    add("%srank %d has not %s %llu of %llu bytes", i == 0 ? "" : "; ", t.peer,
        t.sends ? "taken" : "sent", static_cast<unsigned long long>(t.bytes - t.done),
        static_cast<unsigned long long>(t.bytes));
  }
  if (all > kMostNamed) add("; and %zu more", all - kMostNamed);
}

}  // namespace rondo
