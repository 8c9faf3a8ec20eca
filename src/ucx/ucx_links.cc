// Ways of communicators with many ranks, which are made when they are first used: of a ring's two
// are, of a tree's a few. Who uses one says hello first, so that its peer knows that somebody may
// wait for it, and says goodbye to it. Who has destroyed its communicator answers a hello with a
// goodbye.

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ucx/ucx_transport.h"

namespace rondo {

/// The same ones at both ends. Where not all meet, those who stand opposite on the next hosts do: a
/// host that cannot be reached shows all the same.
void UcxTransport::chooseWhoMeets() {
  std::vector<int> hostOf = wish_.hostOf;
  if (hostOf.empty()) {
    hostOf.resize(peers_.size());
    std::iota(hostOf.begin(), hostOf.end(), 0);
  }
  const std::vector<HostStanding> standings = hostStandings(hostOf, rank_);
  const char* const few = std::getenv("RONDO_TEST_FEW_MET");  // 0: nobody
  fewMeet_ = fewInTouch(static_cast<int>(peers_.size()));
  const bool none = few != nullptr && few[0] == '0';
  for (UcxPeer* peer : all_) {
    peer->standing = standings[static_cast<size_t>(peer->rank)];
    const bool meets = peer->standing.next && peer->standing.opposite && !none;
    if (fewMeet_ && !meets) continue;
    peer->needed = true;
    meets_.push_back(peer);
  }
}

/// From now on the end of `peer` is the communicator's. Before, it may have gone without a word,
/// done with all it had to do: a way that failed then is tried again.
void UcxTransport::need(UcxPeer& peer) {
  if (std::exchange(peer.needed, true) || peer.told) return;
  if (!peer.lost && peer.doubted == std::chrono::steady_clock::time_point{}) return;
  peer.lost = false;
  peer.doubted = {};
  for (UcxWay& way : peer.ways) {
    if (!way.failed()) continue;
    way.endpoint = nullptr;
    way.asks = false;
  }
  worker_.askAgain();
}

UcxEndpoint* UcxTransport::endpointOf(UcxPeer& peer, size_t rail) {
  if (peer.ways[rail].endpoint == nullptr && fewMeet_ && !peer.lost) [[unlikely]]
    openWay(peer, rail);
  return peer.ways[rail].endpoint;
}

/// Until its hello is answered nothing else goes out. Where an earlier communicator has used the
/// connection, it may be dead without anybody knowing, though the peer lives. And a call whose
/// message has left shall not go on while the way is still being made: its rank may tell others by
/// ways that there are, who then look for that message.
void UcxTransport::openWay(UcxPeer& peer, size_t rail) {
  UcxWay& way = peer.ways[rail];
  try {
    way.endpoint = &worker_.rail(static_cast<int>(rail)).connect(way.token);
  } catch (const Error& error) {
    return lose(peer, FarLoss::Broken, noWay(peer, rail, error.what()));
  }
  way.asks = true;
  way.heardMe = false;
  way.old = way.endpoint->old;
  UcxHeader hello = headerTo(peer, UcxKind::Hello);
  hello.channel = static_cast<uint8_t>(rail);
  hello.sequence = way.heard ? 3 : 2;
  way.owes = false;
  const uint64_t token = worker_.token();
  sendCopy(peer, hello, &token, sizeof token, rail);
}

/// What was held back until now goes out, or is given up with its peer.
void UcxTransport::letGo(UcxPeer& peer, size_t rail) {
  UcxWay& way = peer.ways[rail];
  way.asks = false;
  if (ended()) forgetData(way);
  for (const UcxWay::Held& each : std::exchange(way.held, {})) {
    if (each.move != nullptr) {
      launch(*each.move);
    } else {
      launch(peer, each.out, each.data, each.bytes, rail);
    }
  }
}

/// Nobody takes messages of a communicator that has ended, and their callers' memory may be gone
/// soon.
void UcxTransport::forgetData(UcxWay& way) {
  const auto isData = [](const UcxWay::Held& each) {
    return each.move != nullptr || each.out->header.kind == UcxKind::Data;
  };
  for (const UcxWay::Held& each : way.held) {
    if (isData(each) && each.out != nullptr) finish(each.out);
  }
  std::erase_if(way.held, isData);
}

/// Ways that wait for an answer, or owe one.
void UcxTransport::goOn(UcxPeer& peer) {
  const bool retries = peer.retries();
  if (retries) peer.doubted = {};
  for (size_t rail = 0; rail < peer.ways.size(); ++rail) {
    UcxWay& way = peer.ways[rail];
    if (way.owes) need(peer);
    const bool open = way.endpoint != nullptr;  // else it is opened with the answer
    if (std::exchange(way.owes, false) && endpointOf(peer, rail) != nullptr && open) {
      UcxHeader hello = headerTo(peer, UcxKind::Hello);
      hello.channel = static_cast<uint8_t>(rail);
      hello.sequence = 1;
      send(peer, hello, nullptr, 0, nullptr, rail);
    }
    if (!way.asks && way.held.empty()) continue;
    if (ended()) forgetData(way);
    if (retries && way.failed() && !peer.lost) {
      way.asks = false;
      way.endpoint = nullptr;
      endpointOf(peer, rail);
    }
    if (!way.asks || way.heardMe || peer.bye || peer.lost) letGo(peer, rail);
  }
}

void UcxTransport::awaits(UcxPeer& peer) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  need(peer);
  endpointOf(peer, 0);
}

bool UcxTransport::inTouch(int rank) const {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  const UcxPeer& peer = peerOf(rank);
  return peer.waysUsed() != 0 || peer.heard();
}

/// To whoever may wait for this rank and has not been told. False: there is none.
bool UcxTransport::sayBye() {
  bool said = false;
  for (UcxPeer* peer : all_) {
    if (peer->saidBye || peer->lost || peer->bye) continue;
    if (peer->waysUsed() == 0 && (!peer->heard() || endpointOf(*peer, 0) == nullptr)) continue;
    peer->saidBye = said = true;
    UcxHeader header = headerTo(*peer, UcxKind::Bye);
    header.sequence = static_cast<uint32_t>(peer->waysUsed());
    for (size_t rail = 0; rail < peer->ways.size(); ++rail) {
      if (peer->ways[rail].endpoint == nullptr) continue;
      header.channel = static_cast<uint8_t>(rail);
      send(*peer, header, nullptr, 0, nullptr, rail);
    }
  }
  return said;
}

void UcxTransport::tellEnd(UcxPeer& peer, const UcxEnd& end) {
  UcxHeader header = headerTo(peer, UcxKind::Abort);
  peer.end = end;
  header.stamp = end.word;
  header.sequence = end.detail;
  sendCopy(peer, header, end.why.data(), end.why.size());
}

/// Tells the living that the communicator has ended. Where not all have met, those that this rank
/// is in touch with, and one of each next host; another one if that one turns out to be gone. By
/// then only who was told nothing, or two ranks would tell each other for ever which of two ends
/// was the last.
void UcxTransport::spread(const UcxEnd& end, Whom whom) {
  const auto covers = [&](const UcxEnd& each) { return each.covers(end); };
  if (std::none_of(told_.begin(), told_.end(), covers)) told_.push_back(end);
  std::vector<bool> reached(peers_.size());
  const auto pass = [&](const auto& wants) {
    for (UcxPeer* peer : all_) {
      if (peer->lost || peer->bye || !wants(*peer)) continue;
      const bool knows = whom == Whom::Untold ? peer->end.word != 0 : peer->end.covers(end);
      if (!fewMeet_ || !knows) tellEnd(*peer, end);
      if (peer->host >= 0) reached[static_cast<size_t>(peer->host)] = true;
    }
  };
  pass([&](const UcxPeer& peer) {
    return !fewMeet_ || peer.waysUsed() != 0 || peer.heard() ||
           (peer.standing.next && peer.standing.opposite);
  });
  pass([&](const UcxPeer& peer) {
    return peer.standing.next && peer.host >= 0 && !reached[static_cast<size_t>(peer.host)];
  });
}

/// Where not all have met what is new is passed on.
void UcxTransport::onAbort(UcxPeer& peer, UcxEnd end) {
  wish_.events->farAborted(end.word, end.detail, end.why);
  peer.end = std::move(end);
  const auto covers = [&](const UcxEnd& each) { return each.covers(peer.end); };
  if (!fewMeet_ || std::any_of(told_.begin(), told_.end(), covers)) return;
  untold_.push_back(peer.end);
  worker_.askAgain();
}

void UcxWorker::noteStranger(const UcxHeader& hello, uint64_t token) {
  strangers_.emplace_back(hello, token);
}

/// The sender may have gone since: nobody waits for these.
void UcxWorker::answerStrangers() {
  for (const auto& [hello, token] : std::exchange(strangers_, {})) {
    if (known_.count(token) == 0) continue;
    auto bye = std::make_unique<UcxHeader>(hello);
    bye->kind = UcxKind::Bye;
    std::swap(bye->from, bye->to);
    bye->channel = 0;
    bye->sequence = 0;
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.user_data = bye.get();
    param.cb.send = [](void* request, ucs_status_t, void* sent) {
      delete static_cast<UcxHeader*>(sent);
      ucp_request_free(request);
    };
    try {
      void* const request = ucp_am_send_nbx(connect(token).handle, kUcxMessageId, bye.get(),
                                            sizeof *bye, nullptr, 0, &param);
      if (UCS_PTR_IS_PTR(request)) static_cast<void>(bye.release());
    } catch (const Error&) {  // then it hears of that end of the way instead
    }
  }
}

}  // namespace rondo
