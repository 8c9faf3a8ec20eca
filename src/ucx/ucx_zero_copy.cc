#include "ucx/ucx_zero_copy.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "ucx/ucx_transport.h"

namespace rondo {
namespace {

constexpr std::chrono::seconds kLastZeroCopy{10};

ucs_memory_type_t typeOf(MemoryKind kind) {
  return kind == MemoryKind::Cuda ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
}

ucp_request_param_t paramsOf(UcxZeroCopy& move) {
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.user_data = &move;
  param.memory_type = typeOf(move.kind);
  return param;
}

}  // namespace

bool UcxTransport::zeroCopies(MemoryKind kind, bool always) const {
  return worker_.zeroCopies(kind, always);
}

UcxZeroCopy& UcxTransport::newZeroCopy(UcxPeer& peer, bool receives, void* data, size_t bytes,
                                       MemoryKind kind) {
  if (idleZeroCopies_.empty()) {
    zeroCopies_.push_back(std::make_unique<UcxZeroCopy>());
    idleZeroCopies_.push_back(zeroCopies_.back().get());
  }
  UcxZeroCopy& move = *idleZeroCopies_.back();
  idleZeroCopies_.pop_back();
  move.owner = this;
  move.peer = &peer;
  move.receives = receives;
  move.data = data;
  move.bytes = bytes;
  move.kind = kind;
  move.begin();
  return move;
}

void UcxTransport::giveBack(ZeroCopy* move) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  idleZeroCopies_.push_back(static_cast<UcxZeroCopy*>(move));
}

ZeroCopy* UcxTransport::sendZeroCopy(int rank, const void* data, size_t bytes, MemoryKind kind) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  worker_.notePost();
  UcxPeer& peer = peerOf(rank);
  need(peer);
  UcxZeroCopy& move = newZeroCopy(peer, false, const_cast<void*>(data), bytes, kind);
  move.header = headerTo(peer, UcxKind::ZeroCopy);
  move.header.sequence = peer.zeroCopies.sent++;
  launch(move);
  return &move;
}

/// They take turns on the rails; their numbers tell who meets whom.
void UcxTransport::launch(UcxZeroCopy& move) {
  UcxPeer& peer = *move.peer;
  const size_t rail = move.header.sequence % peer.ways.size();
  UcxEndpoint* const endpoint = endpointOf(peer, rail);
  UcxWay& way = peer.ways[rail];
  if (way.asks && !peer.lost) return way.held.push_back({nullptr, nullptr, 0, &move});
  if (peer.lost || endpoint == nullptr || endpoint->failed) return;
  ucp_request_param_t param = paramsOf(move);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_RNDV;
  param.cb.send = [](void* request, ucs_status_t status, void* sent) {
    zeroCopyEnded(*static_cast<UcxZeroCopy*>(sent), request, status);
  };
  noteZeroCopy(move, ucp_am_send_nbx(endpoint->handle, kUcxMessageId, &move.header,
                                     sizeof move.header, move.data, move.bytes, &param));
}

ZeroCopy* UcxTransport::receiveZeroCopy(int rank, void* data, size_t bytes, MemoryKind kind) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  UcxPeer& peer = peerOf(rank);
  need(peer);
  endpointOf(peer, 0);  // by which this rank hears of the peer's end
  UcxZeroCopy& move = newZeroCopy(peer, true, data, bytes, kind);
  move.header.sequence = peer.zeroCopies.wanted++;
  auto& offers = peer.zeroCopies.offers;
  const auto offer = std::find_if(offers.begin(), offers.end(), [&](const auto& each) {
    return each.number == move.header.sequence;
  });
  if (offer == offers.end()) {
    peer.zeroCopies.waiting.push_back(&move);
  } else {
    const UcxZeroCopies::Offer taken = *offer;
    offers.erase(offer);
    if (!takeOffer(move, taken)) ucp_am_data_release(taken.by, taken.description);
  }
  return &move;
}

/// From the network: the peer has begun to send one. Whether its description is kept.
bool UcxTransport::onZeroCopy(UcxPeer& peer, const UcxZeroCopies::Offer& offer) {
  auto& waiting = peer.zeroCopies.waiting;
  const auto move = std::find_if(waiting.begin(), waiting.end(), [&](const auto* each) {
    return each->header.sequence == offer.number;
  });
  if (move != waiting.end()) {
    UcxZeroCopy& receives = **move;
    waiting.erase(move);
    return takeOffer(receives, offer);
  }
  // Who offers that many breaks what senders have agreed on: no rank of this communicator does.
  if (offer.number - peer.zeroCopies.wanted >= kUcxWindow) {
    lose(peer, FarLoss::Broken,
         format("it offered message %u, which is none of this communicator's", offer.number));
    return false;
  }
  peer.zeroCopies.offers.push_back(offer);
  return true;
}

/// Whether its description is UCX's from then on.
bool UcxTransport::takeOffer(UcxZeroCopy& move, const UcxZeroCopies::Offer& offer) {
  if (offer.bytes != move.bytes) {
    lose(*move.peer, FarLoss::Broken,
         format("it sends %zu bytes where both have agreed on %zu", offer.bytes, move.bytes));
    worker_.askAgain();
    return false;
  }
  ucp_request_param_t param = paramsOf(move);
  param.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* received) {
    zeroCopyEnded(*static_cast<UcxZeroCopy*>(received), request, status);
  };
  return noteZeroCopy(
      move, ucp_am_recv_data_nbx(offer.by, offer.description, move.data, move.bytes, &param));
}

/// What UCX answered to the beginning of one; false: it would not.
bool UcxTransport::noteZeroCopy(UcxZeroCopy& move, void* request) {
  if (UCS_PTR_IS_ERR(request)) {
    doubt(*move.peer, ucs_status_string(UCS_PTR_STATUS(request)));
    return false;
  }
  if (request == nullptr) {
    move.end();
  } else {
    ++inFlight_;
    zeroCopying_ += move.receives ? 1 : 0;
  }
  return true;
}

void UcxTransport::zeroCopyEnded(UcxZeroCopy& move, void* request, ucs_status_t status) {
  if (move.owner == nullptr) return ucp_request_free(request);
  --move.owner->inFlight_;
  move.owner->zeroCopying_ -= move.receives ? 1 : 0;
  if (status == UCS_OK) {
    move.end();
  } else {
    move.owner->doubt(*move.peer, ucs_status_string(status));
  }
  ucp_request_free(request);
}

void UcxTransport::settleZeroCopies() {
  const auto end = std::chrono::steady_clock::now() + kLastZeroCopy;
  while (std::chrono::steady_clock::now() < end) {
    {
      const std::lock_guard<std::mutex> lock(worker_.mutex());
      if (zeroCopying_ == 0) return;
      worker_.progressLocked();
    }
    sched_yield();
  }
}

/// Of a communicator that ends: what nobody has taken is refused.
void UcxTransport::refuseOffers() {
  for (UcxPeer* peer : all_) {
    for (const UcxZeroCopies::Offer& offer : peer->zeroCopies.offers) {
      ucp_am_data_release(offer.by, offer.description);
    }
    peer->zeroCopies.offers.clear();
  }
}

}  // namespace rondo
