#include "coll/flight_recorder.h"

#include <algorithm>

#include "api/types.h"
#include "coll/registry.h"
#include "p2p/segment.h"

namespace rondo {

const char* opOriginName(OpOrigin origin) {
  static constexpr const char* kNames[] = {"call", "group", "async", "device"};
  return kNames[static_cast<int>(origin) & 3];
}

uint32_t choiceOf(const Algorithm* algorithm, int lanes) {
  const auto at = static_cast<uint32_t>(algorithm - registry().data());
  return std::min(at, 0x3ffu) | static_cast<uint32_t>(std::clamp(lanes, 0, 255)) << 10;
}

OpFacts OpFacts::of(const OpWords& words) {
  OpFacts out;
  const uint64_t w1 = words.at[1], w2 = words.at[2], w3 = words.at[3];
  out.count = words.at[0];
  out.collective = static_cast<uint8_t>(w1);
  out.uneven = (w1 >> 8 & 1) != 0;
  out.sends = (w1 >> 9 & 1) != 0;
  out.captured = (w1 >> 10 & 1) != 0;
  out.way = static_cast<DeviceWay>((w1 >> 11 & 7) | (w1 >> 26 & 1) << 3);
  out.pass = static_cast<uint8_t>(w1 >> 16);
  out.origin = static_cast<OpOrigin>(w1 >> 24 & 3);
  uint64_t upper = w3 >> 16 & 0xffff;
  if (out.isTransfers()) {
    out.transfers = static_cast<uint16_t>(upper);
    upper = w1 >> 32 & 0xffff;
    out.collectives = (w2 & 0xffffffff) | w1 >> 48 << 32;
  } else {
    out.type = static_cast<int32_t>(w1 >> 32);
    out.op = static_cast<int32_t>(w2);
  }
  out.root = static_cast<int32_t>(w2 >> 32);
  out.choice = static_cast<uint32_t>((w3 & 0xffff) | (w1 >> 14 & 3) << 16);
  out.sequence = w3 >> 32 | upper << 32;
  return out;
}

uint64_t OpFacts::bytes() const {
  return isTransfers() ? count : count * typeSize(static_cast<rondoDataType_t>(type));
}

std::string OpFacts::name() const {
  if (isTransfers()) return transfers > 1 ? "sends and receives" : sends ? "send" : "receive";
  if (collective >= kCollectives) return "?";
  return std::string(collectiveName(static_cast<Collective>(collective))) + (uneven ? "v" : "");
}

std::string OpFacts::numberText() const {
  return (isTransfers() ? "exchange " : "collective ") + std::to_string(sequence);
}

std::string OpFacts::algorithm() const {
  const size_t at = choice & 0x3ff;
  return choice == kNoAlgorithm || at >= registry().size() ? "" : registry()[at].name;
}

int OpFacts::lanes() const {
  return choice == kNoAlgorithm ? 0 : static_cast<int>(choice >> 10 & 255);
}

std::string OpFacts::wayText() const {
  switch (way) {
    case DeviceWay::kLL:
      return "LL";
    case DeviceWay::kLL128:
      return "LL128";
    case DeviceWay::kSimple:
      return "Simple";
    case DeviceWay::kCopyEngines:
      return "copy engines";
    case DeviceWay::kOneCopy:
      return "one copy";
    case DeviceWay::kHost:
      return "calls on host memory";
    case DeviceWay::kLevels:
      return "kernels in hosts, calls on host memory between";
    case DeviceWay::kTransfers:
      return "sends and receives";
    case DeviceWay::kStores:
      return "stores into windows";
    case DeviceWay::kNone:
      break;
  }
  return "";
}

std::string OpFacts::served() const {
  const std::string first = algorithm(), second = wayText();
  return first + (first.empty() || second.empty() ? "" : ", ") + second;
}

namespace {

void writeIdentity(const FlightRecorder::Identity& identity, CommStatus* status) {
  status->rank = identity.place.rank;
  status->size = identity.place.size;
  status->localSize = identity.place.localSize;
  status->id = identity.id;
  status->born = ticks();
  status->stallSeconds = identity.stallSeconds;
  status->name.write(identity.name);
  std::vector<std::string> hosts;
  const size_t members = std::min<size_t>(identity.members.size(), CommStatus::kMostMembers);
  for (size_t r = 0; r < members; ++r) {
    const MemberText& member = identity.members[r];
    auto at =
        static_cast<size_t>(std::find(hosts.begin(), hosts.end(), member.host) - hosts.begin());
    if (at == hosts.size() && at < CommStatus::kMostHosts) {
      status->hosts[at].write(member.host);
      hosts.push_back(member.host);
    }
    status->members[r] = {member.pid, static_cast<uint32_t>(at)};
  }
  std::atomic_ref(status->state).store(CommStatus::kAlive, std::memory_order_release);
}

}  // namespace

FlightRecorder::FlightRecorder(const Identity& identity)
    : id_(identity.id), status_(Segment::own().statuses().take()) {
  if (status_ == nullptr) {
    ownHost_ = std::make_unique<OpRing>();
    ownDevice_ = std::make_unique<OpRing>();
    host_ = ownHost_.get();
    device_ = ownDevice_.get();
    return;
  }
  host_ = &status_->host;
  device_ = &status_->device;
  // Else the first thousand calls meet a new page each 64 of them, 0.15 us a call (8 B of
  // all-reduce took 0.36 us of 0.21; EPYC of family 25, 2026-11-28).
  populate(reinterpret_cast<char*>(host_), sizeof *host_);
  const std::lock_guard<std::mutex> lock(Segment::own().statuses().mutex());
  writeIdentity(identity, status_);
}

FlightRecorder::~FlightRecorder() {
  if (status_ != nullptr) Segment::own().statuses().giveBack(status_);
}

void FlightRecorder::noteWait(std::string_view text) {
  if (status_ == nullptr) return;
  status_->waits.write(text);
  std::atomic_ref(status_->waitsSeen).store(ticks(), std::memory_order_release);
}

void FlightRecorder::noteKernelWait() {
  if (status_ == nullptr) return;
  std::atomic_ref(status_->kernelWaits).store(ticks(), std::memory_order_release);
}

void FlightRecorder::noteBroken(const std::string& why) {
  const std::lock_guard<std::mutex> lock(brokenMutex_);
  if (status_ != nullptr) status_->broken.write(why);
}

}  // namespace rondo
