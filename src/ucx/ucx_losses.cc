// How a communicator loses a far rank: the network's word, its host's, or that of nobody.

#include <algorithm>
#include <chrono>

#include "ucx/ucx_transport.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// How long UCX's word that a way is gone waits for a better one: who ended, and how.
constexpr std::chrono::milliseconds kDoubt{500};
/// What a process that has ended sent before is waited for so long, where the network does not say
/// that nothing comes any more.
constexpr std::chrono::milliseconds kLastWords{2000};

/// Whether count `a`, which may have wrapped, is past `b`.
bool past(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

void UcxTransport::missed(UcxPeer& peer, uint8_t channel, uint32_t next) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  if (peer.told || past(peer.channels[channel].arrived, next)) return;
  peer.bye = false;  // it should have stayed
  need(peer);
  lose(peer, FarLoss::Left, "it destroyed its communicator while this rank waits for it");
  afterFailure();
}

void UcxTransport::untaken(UcxPeer& peer) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  if (peer.told) return;
  peer.bye = false;  // it should have stayed
  lose(peer, FarLoss::Left, "it destroyed its communicator while this rank had more for it");
  afterFailure();
}

void UcxTransport::lose(UcxPeer& peer, FarLoss how, const std::string& why) {
  if (!peer.lost) peer.why = why;
  peer.lost = true;
  worker_.askAgain();  // what is held back for it
  if (peer.told || peer.bye || closing_) return;
  // Of one with which this rank had nothing to do, nobody knows here whether it was done; who has
  // met it does.
  if (!peer.needed && !peer.heard()) return;
  peer.told = true;
  const uint32_t word = wish_.events->farLost(peer.rank, how, why);
  if (untold_.empty()) untold_.push_back({word, 0, {}});
}

/// Whether a better word than UCX's may come: from the peer's host, or from ranks beside it.
bool UcxTransport::othersKnowBetter(const UcxPeer& peer) const {
  if (wish_.hostOf.empty()) return false;
  const uint64_t token = peer.ways[0].token;
  return worker_.hosts().watches(token) ||
         std::any_of(all_.begin(), all_.end(), [&](const UcxPeer* other) {
           return other->host == peer.host && !other->has(token) && !other->lost &&
                  !other->cutOff();
         });
}

/// UCX has lost it, which may be heard from a call before it is from the endpoint's error handler.
void UcxTransport::doubt(UcxPeer& peer, const std::string& status) {
  const auto renewable = [](const UcxWay& way) { return way.renewable(); };
  if (greeting_ && std::any_of(peer.ways.begin(), peer.ways.end(), renewable)) return;
  if (peer.retries()) return worker_.askAgain();
  const bool never = fewMeet_ && !peer.heard();
  const std::string why =
      never
          ? noWay(peer, 0, status.c_str()) +
                "; UCX_NET_DEVICES and UCX_TLS say which network devices and transports it may use"
          : status;
  if (!othersKnowBetter(peer)) return lose(peer, FarLoss::Broken, why);
  if (peer.lost || peer.doubted != Clock::time_point{}) return;
  peer.doubted = Clock::now();
  peer.why = why;
  worker_.askAgain();
}

void UcxTransport::onFailure(const UcxEndpoint& endpoint) {
  for (UcxPeer* peer : all_) {
    if (peer->has(endpoint)) doubt(*peer, endpoint.why);
  }
}

void UcxTransport::onHostEvent(const HostWatch::Event& event) {
  const auto known = std::find_if(all_.begin(), all_.end(),
                                  [&](const UcxPeer* peer) { return peer->has(event.token); });
  if (known == all_.end()) return;
  const bool silent = event.what == HostWatch::What::Silent;
  for (UcxPeer* peer : all_) {
    if (silent && peer->host == (*known)->host) {
      lose(*peer, FarLoss::Silent, "nothing comes from its host");
    } else if (peer->has(event.token) && peer->ended == Clock::time_point{}) {
      peer->ended = Clock::now();  // the worker asks afterFailure() next
    }
  }
}

bool UcxTransport::afterFailure() {
  bool again = false;
  for (UcxPeer* peer : all_) {
    if (fewMeet_) goOn(*peer);
    if (peer->lost) continue;
    if (peer->ended != Clock::time_point{}) {
      // What it sent last, a goodbye perhaps, comes by another way and may take longer; behind it
      // comes the end of that way.
      if (peer->cutOff() || Clock::now() - peer->ended > kLastWords) {
        lose(*peer, FarLoss::Ended, "its process has ended");
      } else {
        again = true;
      }
      continue;
    }
    if (peer->doubted == Clock::time_point{}) continue;
    if (Clock::now() - peer->doubted < kDoubt) {
      again = true;
    } else {
      lose(*peer, FarLoss::Broken, peer->why);
    }
  }
  if (untold_.empty() && !told_.empty() && fewMeet_) spread(UcxEnd(told_.back()), Whom::Untold);
  for (const UcxEnd& end : std::exchange(untold_, {})) spread(end);
  return again;
}

}  // namespace rondo
