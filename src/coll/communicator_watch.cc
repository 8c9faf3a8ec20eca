// What becomes of a communicator's long waits: deaths are looked for, stalls reported, and where a
// timeout is set it ends them.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ticks.h"
#include "coll/communicator.h"
#include "coll/device_calls.h"
#include "coll/far_calls.h"
#include "coll/flight_trace.h"
#include "coll/place_text.h"
#include "coll/wait_cycle.h"
#include "p2p/peer_watch.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

/// Of a group that waits for long: by the clock, as on a crowded host a thousand polls are many
/// seconds.
constexpr std::chrono::milliseconds kLookEvery{10};

/// Reading what all ranks have called takes a millisecond.
constexpr std::chrono::milliseconds kBetweenLooks{200};

/// When other hosts are first told of a wait, then each time after twice as long, but at least so
/// often: what is sent finds out whether a way still leads there. And when there is something new
/// to tell, but not more often than that.
constexpr std::chrono::milliseconds kFirstTold{300}, kToldAgain{5000}, kBetweenNews{50};
/// Where ranks speak to few: by then it has gone round who has come (CallLog::kWaitsBeforeAll).
constexpr std::chrono::milliseconds kFirstToldByFew{1000};
/// So many waits of others are passed on.
constexpr int kMostTold = 32;

/// So long before a verdict other hosts are asked where late ranks are, and again after so long
/// while the wait goes on: nobody waits for an answer.
constexpr std::chrono::milliseconds kAskBefore{500}, kAskAgain{5000};
/// So many of them.
constexpr size_t kMostAsked = 16;

/// A reason that was told before an abort is there after so long, or was lost.
constexpr std::chrono::milliseconds kReasonComes{300};

/// Nothing where there is nothing.
std::string listed(const char* heading, const std::map<int, std::string>& texts) {
  std::string out;
  for (const auto& each : texts) {
    if (!each.second.empty()) out += (out.empty() ? heading : "; ") + each.second;
  }
  return out;
}

}  // namespace

/// Somebody waits for long: whatever waits for longest is looked at in its next poll.
void Communicator::noteLongWait() {
  longWaits_.fetch_add(1, std::memory_order_relaxed);
  PeerWatch::one().look();
}

/// Now and then in a long wait.
void Communicator::watch(std::chrono::steady_clock::duration waited) {
  noteLongWait();
  const int deserter = log_.deserter();
  if (deserter >= 0) parts_.fabric->abortDeserted(deserter);
  if (parts_.fabric->spansHosts()) {
    tellWait(waited);
    askLate(waited);
  }
  const double seconds = std::chrono::duration<double>(waited).count();
  if (parts_.timeoutMs != 0 && waited >= std::chrono::milliseconds(parts_.timeoutMs)) {
    return giveUp(log_.stallText(parts_.name, seconds) + waitsText(waited));
  }
  const std::chrono::seconds limit(parts_.stallSeconds);
  if (parts_.stallSeconds == 0 || waited < limit) return;
  if (!parts_.fabric->claimReport(limit, waited)) return;
  reportStall(log_.stallText(parts_.name, seconds) + waitsText(waited));
}

/// Those of other hosts whom this rank waits for learn of its call, and of whoever waits elsewhere,
/// as far as this host knows: so what all ranks of a circle of waits wait for comes round to each.
void Communicator::tellWait(std::chrono::steady_clock::duration waited) {
  if (waited < (parts_.fabric->speaksToFew() ? kFirstToldByFew : kFirstTold))
    return toldAfter_.store(0, std::memory_order_relaxed);
  WaitDesk& desk = Segment::own().waits();
  const auto told = std::chrono::steady_clock::duration(toldAfter_.load(std::memory_order_relaxed));
  const bool news = desk.news() != toldNews_.load(std::memory_order_relaxed);
  const auto again = told + std::min<std::chrono::steady_clock::duration>(told, kToldAgain);
  if (told <= waited && waited < again && !(news && waited - told >= kBetweenNews)) return;
  toldAfter_.store(waited.count(), std::memory_order_relaxed);
  toldNews_.store(desk.news(), std::memory_order_relaxed);
  const std::vector<WaitNote> links =
      waitLinks(readNearFlights(), FarCalls::one().read(), static_cast<int64_t>(monotonicNs()));
  const auto mine = std::find_if(links.begin(), links.end(), [this](const WaitNote& each) {
    return each.comm == parts_.id && each.rank == parts_.place.rank;
  });
  if (mine == links.end()) return;
  if (desk.put(*mine)) toldNews_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t number = OpFacts::of(mine->call).sequence;
  for (uint32_t i = 0; i < mine->awaited; ++i) {
    const int rank = mine->whom[i].rank;
    if (rank < 0 || rank >= parts_.place.size || parts_.fabric->near(rank)) continue;
    parts_.fabric->shareWait(rank, *mine);
    int others = 0;
    for (const WaitNote& each : links) {
      // The rest of its own call is known there.
      const bool same = each.comm == mine->comm && OpFacts::of(each.call).sequence == number;
      if (!same && ++others <= kMostTold) parts_.fabric->shareWait(rank, each);
    }
  }
}

/// Whom of other hosts this rank's call waits for, the first of them; if all have come, one of
/// these may be stopped inside the call.
std::vector<int> Communicator::awaitedFar() const {
  const int ranks = parts_.place.size;
  std::vector<int> late, come;
  const auto add = [&](std::vector<int>& to, int rank) {
    if (rank < 0 || rank >= ranks || parts_.fabric->near(rank) || to.size() == kMostAsked) return;
    to.push_back(rank);
  };
  if (!log_.inExchange()) {
    for (int r = 0; r < ranks; ++r) add(log_.hasCome(r) ? come : late, r);
    return late.empty() ? come : late;
  }
  const auto now = static_cast<int64_t>(monotonicNs());
  for (const WaitNote& each : waitLinks(readNearFlights(), FarCalls::one().read(), now)) {
    if (each.comm != parts_.id || each.rank != parts_.place.rank) continue;
    for (uint32_t i = 0; i < each.awaited; ++i) add(late, each.whom[i].rank);
  }
  return late;
}

/// So that their hosts' answers are there when a verdict is due.
void Communicator::askLate(std::chrono::steady_clock::duration waited) {
  using Duration = std::chrono::steady_clock::duration;
  Duration due = Duration::max();
  if (parts_.stallSeconds != 0) due = std::chrono::seconds(parts_.stallSeconds);
  if (parts_.timeoutMs != 0)
    due = std::min<Duration>(due, std::chrono::milliseconds(parts_.timeoutMs));
  if (due == Duration::max() || waited < due - std::min<Duration>(kAskBefore, due / 2)) return;
  const Duration now = std::chrono::steady_clock::now().time_since_epoch();
  const Duration asked(askedAt_.load(std::memory_order_relaxed));
  const bool afresh = asked < now - waited;
  if (!afresh && now - asked < std::min<Duration>(kAskAgain, due)) return;
  askedAt_.store(now.count(), std::memory_order_relaxed);
  const std::vector<int> awaited = awaitedFar();
  const bool inside = !log_.inExchange() && !awaited.empty() && log_.hasCome(awaited.front());
  parts_.fabric->ask(awaited, inside, afresh);
}

/// A group that has not moved for a thousand polls, or some thousands, or while somebody of the
/// process waited for long, whoever polls it.
void Communicator::noteLongPoll() {
  const auto now = std::chrono::steady_clock::now();
  if (idleSince_ == std::chrono::steady_clock::time_point{}) {
    idleSince_ = now;
    idleLookAt_ = now + kLookEvery;
  }
  const bool due = parts_.fabric && now >= idleLookAt_;
  if (due || idlePolls_ % kPollsOfALongWait == 0) noteWait();
  if (!due) return;
  idleLookAt_ = now + kLookEvery;
  watch(now - idleSince_);
}

/// A rank of this host, if all its others have let go of the communicator, which their kernels have
/// ended before: nothing that a kernel waits for can come any more. -1: some are there, or none.
int Communicator::strandedBy() const {
  int first = -1;
  for (int r = 0; r < parts_.place.size; ++r) {
    if (r == parts_.place.rank || !parts_.fabric->near(r)) continue;
    if (!parts_.fabric->left(r)) return -1;
    if (first < 0) first = r;
  }
  return first;
}

/// On the progress thread, twenty times a second. Kernels see this process's word only, and nobody
/// may be waiting on the host: who aborted is passed on here, and a kernel that waits for long is
/// looked after as a call on host memory is by the thread that waits.
void Communicator::watchDevice() {
  DeviceRunner& device = *parts_.device;
  if (parts_.fabric->aborted() != 0) return device.abort();
  if (leaving_.load(std::memory_order_acquire) && device.gaveUpSoFar()) {
    return parts_.fabric->abort();
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < lookAgain_) return;
  const std::chrono::milliseconds waited = device.takeLongWait();
  if (waited.count() == 0) {
    stranded_ = false;
    return;
  }
  lookAgain_ = now + kBetweenLooks;
  // What was told of a wait may be older than its end, so it must be told twice.
  const int gone = strandedBy();
  const bool stranded = std::exchange(stranded_, gone >= 0) && gone >= 0;
  recorder_.noteKernelWait();
  const bool late =
      parts_.timeoutMs != 0 && waited.count() >= static_cast<int64_t>(parts_.timeoutMs);
  std::vector<bool> over;
  for (int r = 0; r < parts_.place.size; ++r) over.push_back(parts_.fabric->finished(r));
  const std::vector<DeviceCalls> calls = readDeviceCalls(parts_.id, over);
  const int me = parts_.place.rank, deserter = deviceDeserter(calls, me);
  if (deserter >= 0) {
    parts_.fabric->abortDeserted(deserter);
  } else if (stranded) {
    parts_.fabric->abortDeserted(gone);
  } else if (const std::string differ = deviceMismatch(calls, parts_.name); !differ.empty()) {
    parts_.fabric->abortDiffering(differ);
  } else {
    const std::chrono::seconds limit(parts_.stallSeconds);
    const bool stalls = limit.count() != 0 && waited >= limit;
    if (!late && !(stalls && parts_.fabric->claimReport(limit, waited))) return;
    const std::string text =
        deviceStall(calls, me, parts_.name, std::chrono::duration<double>(waited).count(),
                    static_cast<int64_t>(monotonicNs()));
    if (!late) return reportStall(text);
    giveUp(text);
  }
  device.abort();
}

void Communicator::reportStall(const std::string& what) {
  const std::string text = what + format(". More: rondo-status %d", static_cast<int>(getpid()));
  std::fprintf(stderr, "rondo: stall: %s\n", text.c_str());
  logLine(LogPart::Watch, LogLevel::Warn, parts_.place.rank, [&] { return "stall: " + text; });
  dumpFlights(parts_.recordFile, "stall: " + text);
}

/// Ends the communicator on all ranks. The verdict is where near ranks read it before the abort
/// word says that it is.
void Communicator::giveUp(const std::string& why) {
  const std::lock_guard<std::mutex> lock(verdictMutex_);
  if (!verdict_.empty() || parts_.fabric->aborted() != 0) return;
  verdict_ = format("config.timeout of %llu ms (or RONDO_TIMEOUT_MS) has passed: ",
                    static_cast<unsigned long long>(parts_.timeoutMs)) +
             why;
  recorder_.noteBroken(verdict_);
  parts_.fabric->abortTimedOut(verdict_);
}

std::string Communicator::differText() const {
  return parts_.fabric ? parts_.fabric->differText(parts_.name) : "calls differ";
}

void Communicator::abortDiffering(const std::string& why) {
  if (parts_.fabric) parts_.fabric->abortDiffering(why);
  if (parts_.device) parts_.device->abort();
}

/// What `rank` gave as its reason when it ended the communicator. From another host it may come a
/// little after the abort word, which a near rank may have got first.
std::string Communicator::reasonOf(int rank) const {
  Fabric& fabric = *parts_.fabric;
  std::string why = fabric.toldWhy(rank);
  const auto end = std::chrono::steady_clock::now() + kReasonComes;
  while (why.empty() && !fabric.near(rank) && std::chrono::steady_clock::now() < end) {
    fabric.progress();
    why = fabric.toldWhy(rank);
  }
  return why;
}

/// The verdict of `rank`, which gave up; if it is not to be had, what this rank knows itself.
std::string Communicator::timeoutText(int rank) const {
  if (rank == parts_.place.rank) {
    const std::lock_guard<std::mutex> lock(verdictMutex_);
    return verdict_;
  }
  const std::string why = reasonOf(rank);
  if (!why.empty()) return why;
  return parts_.fabric->abortText(parts_.name) + ": it is " + log_.absentText(rank);
}

/// Of a rank's death this communicator itself tells best: what carries its device memory may have
/// fewer ranks, with other numbers.
std::string Communicator::abortText() const {
  const int culprit = parts_.fabric->culprit();
  if (culprit >= 0) return parts_.fabric->abortText(parts_.name) + log_.lastCallText(culprit);
  if (const End device = deviceFailure(); !device.why.empty()) return device.why;
  const int late = parts_.fabric->timedOut();
  return late >= 0 ? timeoutText(late) : parts_.fabric->abortText(parts_.name);
}

/// Which steps the ranks of this host wait in, and where those are that do not, and what other
/// hosts answered; in rank order.
std::string Communicator::waitsText(std::chrono::steady_clock::duration waited) const {
  const auto now = static_cast<int64_t>(monotonicNs());
  std::map<int, std::string> steps, places;
  const std::vector<FlightProcess> processes = readNearFlights();
  for (const FlightProcess& process : processes) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != parts_.id || !comm.alive) continue;
      places[comm.rank] = placeText(process, comm, now);
      const FlightOp* const last = comm.last();
      const bool waits = last != nullptr && last->running() && !comm.waits.empty() &&
                         comm.waitsSeen >= last->started;
      if (waits) steps[comm.rank] = format("rank %d: %s", comm.rank, comm.waits.c_str());
    }
  }
  const auto began = (std::chrono::steady_clock::now() - waited).time_since_epoch().count();
  if (parts_.fabric->spansHosts() && askedAt_.load(std::memory_order_relaxed) >= began) {
    for (int r = 0; r < parts_.place.size; ++r) {
      if (!parts_.fabric->near(r)) places[r] = parts_.fabric->placeText(r);
    }
  }
  const std::string cycle =
      waitCycleText(processes, FarCalls::one().read(), parts_.id, parts_.place.rank);
  return (cycle.empty() ? "" : ". A cycle of waits: " + cycle) + listed(". Where: ", places) +
         listed(". Steps: ", steps);
}

}  // namespace rondo
