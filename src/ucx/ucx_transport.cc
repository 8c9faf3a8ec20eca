#include "ucx/ucx_transport.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "ucx/ucx_ports.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// A peer gets its credit back when so many messages are released, or so many longest messages'
/// bytes: half of what it may have under way. So one that has to wait has two messages under way at
/// least.
constexpr uint32_t kCreditEvery = kUcxWindow / 2;
constexpr uint64_t kCreditChunks = kUcxWindowChunks / 2;

/// Shorter messages go by the first rail: another one would win nothing.
constexpr size_t kLeastStriped = 16384;

/// Of why a communicator ends; no more has room where it is read.
constexpr size_t kMostWhy = 1000;

/// Whether count `a`, which may have wrapped, is past `b`.
bool past(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

UcxTransport::UcxTransport(UcxWorker& worker, int rank, Wish wish)
    : worker_(worker), rank_(rank), wish_(std::move(wish)) {
  peers_.resize(wish_.hosts.size());
  for (const int r : wish_.far) {
    auto peer = std::make_unique<UcxPeer>(r, 2 * wish_.lanes, wish_.messagesBefore);
    if (!wish_.hostOf.empty()) peer->host = wish_.hostOf[static_cast<size_t>(r)];
    all_.push_back(peer.get());
    peers_[static_cast<size_t>(r)] = std::move(peer);
  }
}

UcxHeader UcxTransport::headerTo(const UcxPeer& peer, UcxKind kind) const {
  UcxHeader header{};
  header.group = group_;
  header.from = rank_;
  header.to = peer.rank;
  header.kind = kind;
  header.version = kUcxVersion;
  return header;
}

void UcxTransport::post(const std::vector<UcxPeer*>& peers, const UcxHeader& header,
                        const void* data, size_t bytes, UcxPending* pending) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  worker_.notePost();
  for (UcxPeer* peer : peers) {
    need(*peer);
    UcxChannel& channel = peer->channels[header.channel];
    UcxHeader mine = headerTo(*peer, UcxKind::Data);
    mine.channel = header.channel;
    mine.stamp = header.stamp;
    mine.sequence = header.sequence;
    mine.released = channel.told = channel.taken;
    channel.untoldBytes = 0;
    // Long ones take turns on the rails; who reads them knows their order.
    const size_t rail = bytes < kLeastStriped ? 0 : channel.striped++ % peer->ways.size();
    send(*peer, mine, data, bytes, pending, rail);
  }
}

UcxTransport::Outgoing* UcxTransport::newOutgoing(const UcxHeader& header, UcxPending* pending) {
  if (idle_.empty()) {
    outgoings_.push_back(std::make_unique<Outgoing>());
    idle_.push_back(outgoings_.back().get());
  }
  Outgoing* const out = idle_.back();
  idle_.pop_back();
  out->header = header;
  out->owner = this;
  out->pending = pending;
  ++inFlight_;
  return out;
}

void UcxTransport::send(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes,
                        UcxPending* pending, size_t rail) {
  launch(peer, newOutgoing(header, pending), data, bytes, rail);
}

void UcxTransport::sendCopy(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes,
                            size_t rail) {
  Outgoing* const out = newOutgoing(header, nullptr);
  const char* const from = static_cast<const char*>(data);
  out->copy.assign(from, from + bytes);
  launch(peer, out, out->copy.data(), bytes, rail);
}

void UcxTransport::launch(UcxPeer& peer, Outgoing* out, const void* data, size_t bytes,
                          size_t rail) {
  UcxEndpoint* const endpoint = endpointOf(peer, rail);
  UcxWay& way = peer.ways[rail];
  if (way.asks && !peer.lost && out->header.kind != UcxKind::Hello) [[unlikely]] {
    way.held.push_back({out, data, bytes});
    return ended() ? forgetData(way) : void();
  }
  if (peer.lost || endpoint == nullptr || endpoint->failed) return finish(out);
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = sent;
  param.user_data = out;
  const bool packs = bytes <= kMostPacked && endpoint->worker->packsShort();
  // Words are taken where they arrive, whatever length UCX_RNDV_THRESH says.
  const bool waits = out->header.kind == UcxKind::Data && !packs;
  param.flags = waits ? 0u : unsigned{UCP_AM_SEND_FLAG_EAGER};
  if (packs) {
    out->packed = {data, bytes};
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucxPackedType();
  }
  void* const request =
      ucp_am_send_nbx(endpoint->handle, kUcxMessageId, &out->header, sizeof out->header,
                      packs ? &out->packed : data, packs ? 1 : bytes, &param);
  if (UCS_PTR_IS_PTR(request)) return;
  finish(out);
  if (UCS_PTR_IS_ERR(request)) doubt(peer, ucs_status_string(UCS_PTR_STATUS(request)));
}

void UcxTransport::finish(Outgoing* out) {
  --inFlight_;
  if (out->pending != nullptr) out->pending->fetch_sub(1, std::memory_order_release);
  idle_.push_back(out);
}

/// A send that failed tells of it through its endpoint's error handler.
void UcxTransport::sent(void* request, ucs_status_t, void* outgoing) {
  auto* const out = static_cast<Outgoing*>(outgoing);
  if (out->owner != nullptr) out->owner->finish(out);
  ucp_request_free(request);
}

ucs_status_t UcxTransport::onMessage(ucp_worker_h by, const UcxHeader& header, void* data,
                                     size_t bytes, uint64_t attributes) {
  const auto from = static_cast<size_t>(header.from);
  if (from >= peers_.size() || peers_[from] == nullptr) return UCS_OK;
  UcxPeer& peer = *peers_[from];
  if (header.kind == UcxKind::ZeroCopy) {
    const bool lies = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return lies && onZeroCopy(peer, {header.sequence, by, data, bytes}) ? UCS_INPROGRESS : UCS_OK;
  }
  if (header.kind != UcxKind::Data && header.kind != UcxKind::Credit) {
    if ((attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) onWord(peer, header, data, bytes);
    return UCS_OK;
  }
  if (header.channel >= peer.channels.size()) return UCS_OK;
  std::atomic<uint32_t>& released = peer.channels[header.channel].released;
  if (past(header.released, released.load(std::memory_order_relaxed))) {
    released.store(header.released, std::memory_order_release);
  }
  if (header.kind != UcxKind::Data) return UCS_OK;
  // Credits keep the place of a message free, and longer ones than agreed are not sent: what breaks
  // that is no rank of this communicator.
  UcxChannel& channel = peer.channels[header.channel];
  if (header.sequence - channel.taken >= kUcxWindow || bytes > wish_.chunkBytes) {
    lose(peer, FarLoss::Broken,
         format("it sent message %u of %zu bytes, which is none of this communicator's",
                header.sequence, bytes));
    return UCS_OK;
  }
  UcxArrival& arrival = placeFor(channel, header.sequence);
  ++channel.arrived;
  arrival.by = by;
  arrival.bytes = bytes;
  return take(peer, arrival, header, data, attributes);
}

namespace {

/// As one of FarNews if `kind` is that one's and the bytes are as many.
template <size_t At>
bool readOne(size_t kind, const void* data, size_t bytes, FarNews* news) {
  using One = std::variant_alternative_t<At, FarNews>;
  static_assert(std::is_trivially_copyable_v<One>);
  if (kind != At || bytes != sizeof(One)) return false;
  std::memcpy(&news->emplace<At>(), data, bytes);
  return true;
}

template <size_t... At>
bool readAny(std::index_sequence<At...>, size_t kind, const void* data, size_t bytes,
             FarNews* news) {
  return (readOne<At>(kind, data, bytes, news) || ...);
}

}  // namespace

/// In the order in which they were made.
void UcxTransport::noteCalls(int rank, const char* data, size_t bytes) {
  for (const char* const end = data + bytes; data != end; data += sizeof(UcxRecord)) {
    UcxRecord record;
    std::memcpy(&record, data, sizeof record);
    wish_.events->farCalled(rank,
                            {record.sequence, {record.words[0], record.words[1], record.words[2]}},
                            {record.sent, record.taken});
  }
}

/// What is no message of a channel.
void UcxTransport::onWord(UcxPeer& peer, const UcxHeader& header, const void* data, size_t bytes) {
  FarNews news;
  switch (header.kind) {
    case UcxKind::Hello:
      if (header.channel >= peer.ways.size()) break;
      peer.ways[header.channel].heard = true;
      peer.ways[header.channel].heardMe |= (header.sequence & 1) != 0;
      peer.ways[header.channel].owes |= (header.sequence & 2) != 0;
      if (peer.ways[header.channel].asks || peer.ways[header.channel].owes) worker_.askAgain();
      if (!told_.empty()) worker_.askAgain();  // it may have come after the end
      break;
    case UcxKind::Bye:
      // Behind the last messages of its way. Where one has come of itself, others may follow.
      if (header.sequence == 0 ? peer.byes != 0 : ++peer.byes < header.sequence) break;
      peer.bye = true;
      wish_.events->farLeft(peer.rank);
      if (!told_.empty() || fewMeet_) worker_.askAgain();
      break;
    case UcxKind::Abort:
      onAbort(peer, {header.stamp, header.sequence,
                     std::string(static_cast<const char*>(data), std::min(bytes, kMostWhy))});
      break;
    case UcxKind::Record:
      if (bytes % sizeof(UcxRecord) == 0)
        noteCalls(peer.rank, static_cast<const char*>(data), bytes);
      break;
    default:
      if (header.kind < UcxKind::News) break;
      if (readAny(std::make_index_sequence<std::variant_size_v<FarNews>>(),
                  static_cast<size_t>(header.kind) - static_cast<size_t>(UcxKind::News), data,
                  bytes, &news)) {
        wish_.events->farNews(peer.rank, news);
      }
      break;
  }
}

UcxArrival& UcxTransport::placeFor(UcxChannel& channel, uint32_t sequence) {
  auto& there = channel.arrivals.make([this](UcxChannel::Arrivals& fresh) {
    for (UcxArrival& arrival : fresh.at) {
      arrival.owner = this;
      arrival.ready.store(wish_.messagesBefore, std::memory_order_relaxed);
    }
  });
  return there.at[sequence % kUcxWindow];
}

/// act(arrival) for every place that a message may have.
template <class Act>
void UcxTransport::onArrivals(const Act& act) {
  for (UcxPeer* peer : all_) {
    for (UcxChannel& channel : peer->channels) {
      UcxChannel::Arrivals* const there = channel.arrivals.get();
      if (there == nullptr) continue;
      for (UcxArrival& arrival : there->at) act(arrival);
    }
  }
}

std::unique_ptr<char[]> UcxTransport::takeBuffer() {
  if (buffers_.empty()) return std::unique_ptr<char[]>(new char[wish_.chunkBytes]);
  std::unique_ptr<char[]> buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

ucs_status_t UcxTransport::take(UcxPeer& peer, UcxArrival& arrival, const UcxHeader& header,
                                void* data, uint64_t attributes) {
  const size_t bytes = arrival.bytes;
  arrival.sequence = header.sequence;
  arrival.stamp = header.stamp;
  arrival.peer = &peer;
  arrival.ofUcx = false;
  ucs_status_t answer = UCS_OK;
  if ((attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    arrival.buffer = takeBuffer();
    arrival.data = arrival.buffer.get();
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = received;
    param.user_data = &arrival;
    void* const request = ucp_am_recv_data_nbx(arrival.by, data, arrival.data, bytes, &param);
    if (UCS_PTR_IS_ERR(request)) {
      doubt(peer, ucs_status_string(UCS_PTR_STATUS(request)));
      return UCS_OK;
    }
    if (request != nullptr) {
      ++inFlight_;
      return UCS_INPROGRESS;
    }
    answer = UCS_INPROGRESS;
  } else if ((attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && bytes > UcxArrival::kSmall) {
    arrival.ofUcx = true;
    arrival.data = data;
    answer = UCS_INPROGRESS;
  } else {
    if (bytes > UcxArrival::kSmall) arrival.buffer = takeBuffer();
    arrival.data = bytes > UcxArrival::kSmall ? arrival.buffer.get() : arrival.small;
    if (bytes > 0) std::memcpy(arrival.data, data, bytes);
  }
  arrival.ready.store(arrival.sequence + 1, std::memory_order_release);
  return answer;
}

void UcxTransport::received(void* request, ucs_status_t status, size_t, void* arrival) {
  auto& message = *static_cast<UcxArrival*>(arrival);
  if (message.owner == nullptr) return ucp_request_free(request);
  --message.owner->inFlight_;
  if (status == UCS_OK) {
    message.ready.store(message.sequence + 1, std::memory_order_release);
  } else {
    message.owner->doubt(*message.peer, ucs_status_string(status));
  }
  ucp_request_free(request);
}

void UcxTransport::release(UcxPeer& peer, uint8_t channelNumber, UcxArrival& arrival) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  UcxChannel& channel = peer.channels[channelNumber];
  if (arrival.ofUcx) ucp_am_data_release(arrival.by, arrival.data);
  if (arrival.buffer) buffers_.push_back(std::move(arrival.buffer));
  arrival.ofUcx = false;
  ++channel.taken;
  channel.untoldBytes += arrival.bytes;
  const uint64_t creditBytes = kCreditChunks * wish_.chunkBytes;
  if (channel.taken - channel.told < kCreditEvery && channel.untoldBytes < creditBytes) return;
  need(peer);
  UcxHeader header = headerTo(peer, UcxKind::Credit);
  header.channel = channelNumber;
  header.released = channel.told = channel.taken;
  channel.untoldBytes = 0;
  send(peer, header, nullptr, 0, nullptr);
}

std::optional<uint64_t> UcxTransport::untaken(int rank) {
  progress();
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  for (const UcxChannel& channel : peerOf(rank).channels) {
    const UcxArrival* const oldest = channel.arrival(channel.taken);
    if (oldest != nullptr && oldest->ready.load(std::memory_order_acquire) == channel.taken + 1) {
      return oldest->bytes;
    }
  }
  return {};
}

void UcxTransport::abort(uint32_t word, uint32_t detail, std::string_view why) {
  {
    const std::lock_guard<std::mutex> lock(worker_.mutex());
    spread({word, detail, std::string(why.substr(0, kMostWhy))});
    worker_.askAgain();  // what is held back
    settleMs_ = std::min(settleMs_, 200);
  }
  if (!hurries_) settle();
}

void UcxTransport::tell(int rank, std::span<const ToldCall> calls) {
  std::vector<UcxRecord> records;
  for (const auto& [call, counts] : calls) {
    records.push_back(
        {call.sequence, {call.words[0], call.words[1], call.words[2]}, counts.sent, counts.taken});
  }
  UcxPeer& peer = peerOf(rank);
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  sendCopy(peer, headerTo(peer, UcxKind::Record), records.data(),
           records.size() * sizeof records[0]);
}

namespace {

/// Survivors wait for each other's, but for those whom they leave out.
bool awaitsAnswer(const FarNews& news, int rank) {
  const auto* const board = std::get_if<BoardNews>(&news);
  return board != nullptr && (board->named[rank / 64] >> (rank % 64) & 1) == 0;
}

}  // namespace

void UcxTransport::share(const FarNews& news, int to) {
  const auto kind = static_cast<UcxKind>(static_cast<size_t>(UcxKind::News) + news.index());
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  for (UcxPeer* peer : all_) {
    if (peer->bye || (to != kEverybody && to != peer->rank)) continue;
    if (awaitsAnswer(news, peer->rank)) need(*peer);
    std::visit(
        [&](const auto& each) { sendCopy(*peer, headerTo(*peer, kind), &each, sizeof each); },
        news);
  }
}

std::string UcxTransport::linkText(int rank) const {
  const Endpoints &mine = worker_.watchedAt(), &theirs = peerOf(rank).ways[0].watchedAt;
  for (const Endpoint& there : theirs) {
    for (const Endpoint& here : mine) {
      if (there.port == 0 || here.port == 0 || isIpv4(there.address) != isIpv4(here.address)) {
        continue;
      }
      return addressText(here.address) + " to " + addressText(there.address);
    }
  }
  return "";
}

void UcxTransport::settle() {
  const auto start = Clock::now();
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(worker_.mutex());
      worker_.progressLocked();
      const auto spent =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
      if (inFlight_ == 0) return;
      if (spent.count() >= settleMs_) {
        settleMs_ = 0;
        return;
      }
    }
    sched_yield();  // to whoever shall take it
  }
}

void UcxTransport::keep(std::shared_ptr<void> memory) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  kept_.push_back(std::move(memory));
}

UcxTransport::~UcxTransport() {
  if (!attached_) return;
  for (bool said = true; said;) {  // to who says hello meanwhile, too
    {
      const std::lock_guard<std::mutex> lock(worker_.mutex());
      closing_ = true;
      said = sayBye();
    }
    settle();
  }
  settleZeroCopies();
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  do {
    for (UcxPeer* peer : all_) {  // no answer has come: UCX may still bring it there
      for (size_t rail = 0; rail < peer->ways.size(); ++rail) letGo(*peer, rail);
    }
    worker_.progressLocked();
  } while (sayBye());
  worker_.detach(group_, rank_);
  refuseOffers();
  onArrivals([](UcxArrival& arrival) {
    if (arrival.ofUcx) ucp_am_data_release(arrival.by, arrival.data);
  });
  if (inFlight_ == 0) return;
  // UCX still reads or writes what belongs to messages that no living peer took: it stays, but
  // whoever ends one of them finds nobody to tell.
  onArrivals([](UcxArrival& arrival) { arrival.owner = nullptr; });
  for (auto& out : outgoings_) out->owner = nullptr;
  for (auto& move : zeroCopies_) move->owner = nullptr;
  struct Kept {
    std::vector<std::unique_ptr<UcxPeer>> peers;
    std::vector<std::unique_ptr<Outgoing>> outgoings;
    std::vector<std::unique_ptr<UcxZeroCopy>> zeroCopies;
    std::vector<std::shared_ptr<void>> ofPorts;
  };
  static std::mutex keeping;
  static auto* const kept = new std::vector<Kept>;
  const std::lock_guard<std::mutex> keeps(keeping);
  kept->push_back(
      {std::move(peers_), std::move(outgoings_), std::move(zeroCopies_), std::move(kept_)});
}

std::unique_ptr<SendPort> UcxTransport::sendTo(int lane, int rank, const uint32_t* stamp) {
  return std::make_unique<UcxSendPort>(*this, 2 * lane, std::vector<UcxPeer*>{&peerOf(rank)},
                                       stamp);
}

std::unique_ptr<SendPort> UcxTransport::sendToAll(int lane, const uint32_t* stamp) {
  return std::make_unique<UcxSendPort>(*this, 2 * lane + 1, all_, stamp);
}

std::unique_ptr<RecvPort> UcxTransport::recvFrom(int lane, int rank, bool everyone) {
  return std::make_unique<UcxRecvPort>(*this, peerOf(rank), 2 * lane + (everyone ? 1 : 0));
}

}  // namespace rondo
