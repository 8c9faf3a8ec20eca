#include "coll/flight_view.h"

#include <algorithm>

#include "api/rondo.h"
#include "base/error.h"
#include "base/printable.h"
#include "coll/call_log.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

/// The entries that are whole, the oldest first.
std::vector<FlightOp> readRing(const OpRing& ring, const TickScale& scale) {
  std::vector<FlightOp> out;
  const uint64_t last = ring.last();
  const uint64_t first = last < OpRing::kEntries ? 1 : last + 1 - OpRing::kEntries;
  for (uint64_t number = first; number <= last; ++number) {
    OpEntry entry;
    if (!ring.read(number, &entry)) continue;
    FlightOp op;
    op.facts = OpFacts::of(entry.words);
    op.enqueued = scale.ns(entry.enqueued);
    op.started = scale.ns(entry.started);
    if (entry.ended != 0) op.ended = std::max(op.started, scale.ns(entry.ended));
    out.push_back(op);
  }
  return out;
}

constexpr int kMostRanks = 1 << 20;

std::vector<MemberText> readMembers(const CommStatus& status, int size) {
  std::vector<MemberText> out;
  const int known = std::min(size, static_cast<int>(CommStatus::kMostMembers));
  for (int r = 0; r < known; ++r) {
    const MemberNote& note = status.members[r];
    out.push_back(
        {note.host < CommStatus::kMostHosts ? printable(status.hosts[note.host].read()) : "?",
         note.pid});
  }
  return out;
}

/// False: it belongs to another communicator by now, or to none.
bool readComm(CommStatus& status, const TickScale& scale, FlightComm* out) {
  std::atomic_ref<uint32_t> state(status.state);
  const uint32_t before = state.load(std::memory_order_acquire);
  if (before == CommStatus::kFree || status.id == 0) return false;
  const uint64_t born = status.born;
  out->id = status.id;
  out->name = printable(status.name.read());
  out->rank = status.rank;
  out->size = status.size;
  out->localSize = status.localSize;
  out->born = scale.ns(born);
  out->stallSeconds = status.stallSeconds;
  // Another process may write what it likes there.
  if (out->size < 1 || out->size > kMostRanks || out->rank < 0 || out->rank >= out->size) {
    return false;
  }
  out->members = readMembers(status, out->size);
  out->broken = printable(status.broken.read());
  out->waits = printable(status.waits.read());
  const uint64_t seen = std::atomic_ref(status.waitsSeen).load(std::memory_order_acquire);
  if (seen != 0) out->waitsSeen = scale.ns(seen);
  const uint64_t kernel = std::atomic_ref(status.kernelWaits).load(std::memory_order_acquire);
  if (kernel != 0) out->kernelWaits = scale.ns(kernel);
  out->host = readRing(status.host, scale);
  out->device = readRing(status.device, scale);
  const uint32_t after = state.load(std::memory_order_acquire);
  out->alive = after == CommStatus::kAlive;
  return after != CommStatus::kFree && status.born == born;
}

}  // namespace

std::string flightText(const OpFacts& facts) {
  if (!facts.isTransfers()) {
    const OpWords words = facts.words();
    Call call;
    for (int i = 0; i < 3; ++i) call.words[i] = words.at[i];
    return callText(call);
  }
  const auto bytes = static_cast<unsigned long long>(facts.count);
  const char* const to = facts.sends ? "to" : "from";
  if (facts.transfers > 1) {
    return format("%d sends and receives of %llu bytes, the first %s rank %d",
                  static_cast<int>(facts.transfers), bytes, to, facts.root);
  }
  return format("a %s of %llu bytes %s rank %d", facts.name().c_str(), bytes, to, facts.root);
}

const FlightOp* FlightComm::lastCollective() const {
  const auto found = std::find_if(host.rbegin(), host.rend(),
                                  [](const FlightOp& op) { return !op.facts.isTransfers(); });
  return found == host.rend() ? nullptr : &*found;
}

bool canReadFlights(char* base, std::string* why) {
  StatusHead& head = StatusArea::head(base);
  if (std::atomic_ref(head.magic).load(std::memory_order_acquire) != StatusHead::kMagic) {
    *why = "it has no status area";
    return false;
  }
  if (head.version != StatusHead::kVersion || head.library != RONDO_VERSION_CODE) {
    *why = format("it runs Rondo %d (status area %u), this is Rondo %d (%u)", head.library,
                  head.version, RONDO_VERSION_CODE, StatusHead::kVersion);
    return false;
  }
  return true;
}

FlightProcess readFlights(char* base) {
  StatusHead& head = StatusArea::head(base);
  FlightProcess out;
  out.host = printable(head.host.read());
  out.program = printable(head.program.read());
  out.pid = head.pid;
  out.library = head.library;
  out.token = head.token;
  const TickScale scale(head.clock, TickPair::now());
  const uint64_t used =
      std::min(StatusArea::kMost, std::atomic_ref(head.statuses).load(std::memory_order_acquire));
  for (uint64_t i = 0; i < used; ++i) {
    FlightComm comm;
    if (readComm(StatusArea::status(base, i), scale, &comm)) out.comms.push_back(std::move(comm));
  }
  out.notes = StatusArea::waits(base).read();
  return out;
}

std::vector<FlightProcess> readNearFlights() {
  std::vector<FlightProcess> all;
  Segment& own = Segment::own();
  {
    const std::lock_guard<std::mutex> lock(own.statuses().mutex());
    all.push_back(readFlights(own.base()));
  }
  std::string why;
  for (const auto& peer : PeerSegment::mapped()) {
    if (canReadFlights(peer->base(), &why)) all.push_back(readFlights(peer->base()));
  }
  return all;
}

}  // namespace rondo
