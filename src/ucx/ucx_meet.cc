// How the ranks of a communicator that spans hosts find each other: addresses through the
// bootstrap, then a first message each way.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "ucx/descriptors.h"
#include "ucx/ucx_devices.h"
#include "ucx/ucx_transport.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// What a rank tells the others of one of its rails.
struct RailInfo {
  uint64_t token;
  uint64_t group;  // of rank 0: the communicator's number
  uint64_t addressBytes;
  uint64_t rails;
  Endpoints watchedAt;
  UcxPorts ports;
  char tcpSegment[32];
  char networks[160];  // for people
};

uint64_t freshGroup() {
  const Secret secret = makeSecret();
  uint64_t number = 0;
  std::memcpy(&number, secret.data(), sizeof number);
  return number;
}

/// UCX's TCP takes a peer's messages to be no longer than its own may be: with another limit there,
/// it ends the process. All ranks throw the same.
void checkSegments(const std::vector<RailInfo>& all) {
  const auto shown = [](const RailInfo& info) {
    return info.tcpSegment[0] == '\0' ? std::string("UCX's default")
                                      : format("\"%s\"", info.tcpSegment);
  };
  for (size_t r = 1; r < all.size(); ++r) {
    if (std::strcmp(all[r].tcpSegment, all[0].tcpSegment) == 0) continue;
    throw Error(rondoInvalidUsage,
                format("the longest TCP message of UCX is %s on rank 0 and %s on rank %zu; "
                       "allowed: the same on all ranks, by one version of UCX (until 1.16 Rondo "
                       "makes it 300k) or the same UCX_TCP_RX_SEG_SIZE",
                       shown(all[0]).c_str(), shown(all[r]).c_str(), r));
  }
}

}  // namespace

std::unique_ptr<UcxTransport> UcxTransport::create(Bootstrap& boot, UcxWorker& worker, Wish wish) {
  std::unique_ptr<UcxTransport> self(new UcxTransport(worker, boot.rank(), std::move(wish)));
  self->meet(boot);
  return self;
}

/// Returns how many rails every rank has.
size_t UcxTransport::meetRail(Bootstrap& boot, size_t rail) {
  const auto n = static_cast<size_t>(boot.size());
  UcxWorker& worker = worker_.rail(static_cast<int>(rail));
  RailInfo mine{};
  mine.token = worker.token();
  mine.group = rank_ == 0 ? freshGroup() : 0;
  mine.addressBytes = worker.address().size();
  mine.rails = static_cast<uint64_t>(worker_.rails());
  mine.watchedAt = worker.watchedAt();
  mine.ports = worker.ports();
  worker.tcpSegment().copy(mine.tcpSegment, sizeof mine.tcpSegment - 1);
  worker.networks().text(sizeof mine.networks - 1).copy(mine.networks, sizeof mine.networks - 1);
  std::vector<RailInfo> infos(n);
  boot.allGather(&mine, sizeof mine, infos.data());
  checkSegments(infos);
  if (rail == 0) group_ = infos[0].group;

  uint64_t longest = 1, rails = mine.rails;
  for (const RailInfo& info : infos) {
    longest = std::max(longest, info.addressBytes);
    rails = std::min(rails, info.rails);
  }
  std::string padded = worker.address();
  padded.resize(longest);
  std::string all(longest * n, '\0');
  boot.allGather(padded.data(), longest, all.data());
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  for (size_t r = 0; r < n; ++r) {
    if (peers_[r] == nullptr) continue;
    worker.know(infos[r].token, all.substr(r * longest, infos[r].addressBytes), infos[r].networks,
                infos[r].ports);
    peers_[r]->ways.push_back({infos[r].token, infos[r].watchedAt});
  }
  return rails;
}

void UcxTransport::meet(Bootstrap& boot) {
  const size_t rails = meetRail(boot, 0);
  for (size_t rail = 1; rail < rails; ++rail) meetRail(boot, rail);
  chooseWhoMeets();
  allowDescriptors(all_.size() * rails);
  int code = rondoSuccess;
  std::string sentence;
  try {
    attach();
    connect();
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  }
  boot.agree(code, sentence);  // from here on every rank takes messages
  greet(boot);
}

/// What UCX may use at both ends.
std::string UcxTransport::networksTo(const UcxPeer& peer, size_t rail) const {
  UcxWorker& worker = worker_.rail(static_cast<int>(rail));
  return format("%s here, %s there", worker.networks().text().c_str(),
                worker.networksOf(peer.ways[rail].token).c_str());
}

std::string UcxTransport::noWay(const UcxPeer& peer, size_t rail, const char* why) const {
  return format("no way from host \"%s\" to rank %d on host \"%s\" (%s): %s",
                wish_.hosts[static_cast<size_t>(rank_)].c_str(), peer.rank,
                wish_.hosts[static_cast<size_t>(peer.rank)].c_str(), networksTo(peer, rail).c_str(),
                why);
}

void UcxTransport::attach() {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  worker_.attach(group_, rank_, this);
  attached_ = true;
  if (fewMeet_) worker_.expectStrangers();
  watchHosts();
}

void UcxTransport::connect() {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  greeting_ = true;
  for (UcxPeer* peer : meets_) {
    size_t rail = 0;
    try {
      for (; rail < peer->ways.size(); ++rail) {
        UcxWay& way = peer->ways[rail];
        UcxWorker& worker = worker_.rail(static_cast<int>(rail));
        way.endpoint = &worker.connect(way.token);
      }
    } catch (const Error& error) {
      peer->lost = true;
      throw Error(error.code(), noWay(*peer, rail, error.what()));
    }
  }
}

void UcxTransport::watchHosts() {
  if (wish_.hostOf.empty()) return;
  for (const UcxPeer* peer : all_) {
    if (!peer->standing.opposite) continue;
    for (size_t rail = 0; rail < peer->ways.size(); ++rail) {
      const UcxWay& way = peer->ways[rail];
      worker_.rail(static_cast<int>(rail)).hosts().watch(way.token, way.watchedAt);
    }
  }
}

/// A connection that worked for an earlier communicator was lost since, and perhaps only this end
/// knows it: it is made anew. The other end will find out in the same way, and do the same.
void UcxTransport::renew(UcxPeer& peer, size_t rail) {
  UcxWay& way = peer.ways[rail];
  try {
    way.endpoint = &worker_.rail(static_cast<int>(rail)).connect(way.token);
  } catch (const Error& error) {
    peer.lost = true;
    peer.why = error.what();
  }
  way.said = way.answered = false;
}

/// Says hello on every way, and again when the peer's has come, so that each side knows that it was
/// heard: who is done here may do something else for long.
void UcxTransport::sayHello() {
  for (UcxPeer* peer : meets_) {
    for (size_t rail = 0; rail < peer->ways.size() && !peer->lost; ++rail) {
      UcxWay& way = peer->ways[rail];
      if (way.renewable()) renew(*peer, rail);
      if (way.answered || (way.said && !way.heard)) continue;
      UcxHeader header = headerTo(*peer, UcxKind::Hello);
      header.channel = static_cast<uint8_t>(rail);
      header.sequence = way.heard ? 1 : 0;
      way.said = true;
      way.answered = way.heard;
      send(*peer, header, nullptr, 0, nullptr, rail);
    }
  }
}

void UcxTransport::endGreeting() {
  greeting_ = false;
  for (UcxPeer* peer : meets_) {
    for (UcxWay& way : peer->ways) {
      if (way.met()) way.endpoint->met = true;
    }
  }
}

/// The first peer that this rank has not met, as a sentence; empty: there is none.
std::string UcxTransport::silentPeer() const {
  for (const UcxPeer* peer : meets_) {
    const char* const host = wish_.hosts[static_cast<size_t>(peer->rank)].c_str();
    if (peer->lost) {
      return format("the way to rank %d on host \"%s\" (%s) does not work: %s", peer->rank, host,
                    networksTo(*peer, peer->silentRail()).c_str(), peer->why.c_str());
    }
    if (!peer->met()) {
      const auto& ways = peer->ways;
      const size_t rail = peer->silentRail();
      const bool some = std::any_of(ways.begin(), ways.end(), [](auto& way) { return way.heard; });
      return format("%s %d on host \"%s\" in %d ms%s (%s)",
                    ways[rail].heard ? "nothing reached rank" : "nothing came from rank",
                    peer->rank, host, wish_.limitMs,
                    some && ways.size() > 1 ? " on one of its network cards" : "",
                    networksTo(*peer, rail).c_str());
    }
  }
  return "";
}

void UcxTransport::greet(Bootstrap& boot) {
  const auto until = Clock::now() + std::chrono::milliseconds(wish_.limitMs);
  std::string problem;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(worker_.mutex());
      sayHello();
      worker_.progressLocked();
      const bool lost =
          std::any_of(meets_.begin(), meets_.end(), [](const UcxPeer* peer) { return peer->lost; });
      problem = silentPeer();
      const bool done = problem.empty() && inFlight_ == 0;  // its own have left, too
      if (done || lost || Clock::now() > until) {
        endGreeting();
        break;
      }
    }
    boot.idle();
    sched_yield();
  }
  if (!problem.empty()) {
    problem += "; UCX_NET_DEVICES and UCX_TLS say which network devices and transports it may use";
  }
  boot.agree(problem.empty() ? rondoSuccess : rondoRemoteError, problem);
}

std::string UcxTransport::networkText() const {
  const std::string watched = endpointText(worker_.watchedAt());
  const size_t rails = all_.empty() ? 1 : all_.front()->ways.size();
  return ucxSettingsText() + format(", %zu rail%s", rails, rails == 1 ? "" : "s") +
         (watched.empty() ? "; hosts are not watched" : "; watched at " + watched);
}

}  // namespace rondo
