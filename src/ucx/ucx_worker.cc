#include "ucx/ucx_worker.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/own_thread.h"
#include "p2p/bootstrap.h"
#include "ucx/descriptors.h"
#include "ucx/ucx_devices.h"

namespace rondo {
namespace {

/// Progress ends when nothing is left to do, or after so many rounds, so that its caller can look
/// at what came.
constexpr int kMostRounds = 1;

/// How long nobody need make progress: at first, and when nothing has moved for long, if UCX can
/// not say itself that there is something to do. A look costs 17 us of cold caches.
constexpr std::chrono::milliseconds kLeastNap{1}, kMostNap{20};

/// If it can, hosts are still looked after so often.
constexpr std::chrono::milliseconds kArmedNap{50};

/// While ranks poll the network the thread leaves them the lock, and looks after hosts so often;
/// while they only send, which moves little of what was sent before, so often, and then it also
/// looks whether they still do: each time costs a rank whose core it shares some 10 us.
constexpr std::chrono::milliseconds kPolledNap{10}, kPostedNap{2};

/// The thread moves no more at a time: whoever wants to send waits for the lock meanwhile.
constexpr int kMostMoves = 16;

/// Connections are looked for so often while somebody waits, and what each look costs is 1 us a
/// descriptor.
constexpr std::chrono::seconds kBoundEvery{5};

/// Who waits for messages makes progress at least so often, on a crowded host too.
constexpr std::chrono::milliseconds kWaitGap{500};

/// A process that ends waits so long for its last words to arrive: a cable that was away for 3 s is
/// back by then.
constexpr std::chrono::seconds kLastWords{4};

/// What a worker opens: 11 descriptors over TCP on two devices, 15 with all that UCX has there
/// (1.13.1, 2026-11-25), and more with each device. A watch and connections come on top: with room
/// for 21 UCX ended the process at its first connections, and the first of these is too few.
constexpr size_t kTooFewDescriptors = 32, kWorkersDescriptors = 48;

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  throw Error(
      rondoSystemError,
      format("%s of UCX %s failed: %s (UCX_TLS and UCX_NET_DEVICES say which transports and "
             "network devices it may use)",
             what, ucp_get_version_string(), ucs_status_string(status)) +
          fewDescriptorsText(kWorkersDescriptors));
}

/// What Rondo would have otherwise than UCX does, unless the user says something. Without a card
/// that moves data by itself, a rendezvous is but a round trip more: credits keep room for what is
/// sent at once. All-reduce of 64 KiB between two hosts of a veth takes 27 us for 60, of 1 MiB 386
/// for 660 (2 cores, UCX 1.13.1 over TCP, medians, 2026-11-21). A peer that was killed is noticed
/// by looking after it: every 20 s in UCX. Over verbs it is for the peer's process to answer: one
/// that was stopped for 32 s was lost (1 s, Soft-RoCE, 2026-11-22). There HostWatch, and what
/// waiting ranks tell each other, find out.
struct Preference {
  const char* name;
  const char* value;
  bool onVerbs, elsewhere;  ///< Where the host has a verbs device, and where it has none.
};
constexpr Preference kPreferences[] = {{"RNDV_THRESH", "inf", false, true},
                                       {"KEEPALIVE_INTERVAL", "1s", false, true},
                                       {"KEEPALIVE_INTERVAL", "inf", true, false}};

/// UCX 1.13 and 1.16 take the names of TCP's settings without "TCP_"; later versions are left
/// alone, because a name that they do not know makes them warn.
bool takesTcpSettings() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major == 1 && minor <= 16;
}

/// A connection is made without waiting for it: UCX would stand still, with its lock, for the two
/// minutes that the kernel takes to give up where nobody answers, a peer after the other. (The
/// setting for less, SYN_CNT, makes 1.13.1 fail: "Invalid memory pool parameter(s)".)
void preferNotToWait(ucp_config_t* config) {
  if (std::getenv("UCX_TCP_CONN_NB") != nullptr || !takesTcpSettings()) return;
  ucp_config_modify(config, "CONN_NB", "y");
}

/// TCP takes Rondo's longest messages between hosts whole (256 KiB), instead of putting parts of 64
/// KiB together: all-reduce of 1 MiB between two processes on loopback takes 426 us for 785, of 256
/// KiB 117 for 140 (2 cores, medians, 2026-11-22). Returns what holds then; empty: what UCX does by
/// itself.
std::string preferWholeMessages(ucp_config_t* config) {
  if (const char* const wish = std::getenv("UCX_TCP_RX_SEG_SIZE")) return wish;
  if (!takesTcpSettings()) return "";
  const char* const whole = "300k";
  return ucp_config_modify(config, "RX_SEG_SIZE", whole) == UCS_OK ? whole : "";
}

bool hasVerbs() {
  std::error_code none;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", none);
  return !none && devices != std::filesystem::directory_iterator();
}

/// Whether it was built with CUDA and may use it (UCX_TLS).
bool knowsCuda(ucp_context_h context) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  return ucp_context_query(context, &attributes) == UCS_OK &&
         (attributes.memory_types >> UCS_MEMORY_TYPE_CUDA & 1) != 0;
}

/// Whether the kernel lets network cards read and write a GPU's memory. (Without, UCX copies by
/// way of the host's, and kernels do that better.)
bool cardsReachGpus() {
  std::error_code none;
  return std::filesystem::exists("/sys/module/nvidia_peermem", none) ||
         std::filesystem::exists("/sys/module/nv_peer_mem", none);
}

uint64_t randomNumber() {
  const Secret secret = makeSecret();
  uint64_t number = 0;
  std::memcpy(&number, secret.data(), sizeof number);
  return number;
}

}  // namespace

UcxWorker& UcxWorker::own(int lane) {
  static std::mutex making;
  static std::atomic<UcxWorker*> workers[kMostLanes] = {};
  const std::lock_guard<std::mutex> lock(making);
  if (UcxWorker* const known = workers[lane].load()) return *known;
  const std::vector<std::string> cards = ucxCards(kMostRails);
  allowDescriptors(kWorkersDescriptors * std::max<size_t>(1, cards.size()));
  const auto on = [&](size_t k) {
    return cards.size() > 1 ? Settings{{"NET_DEVICES", cards[k]}} : Settings{};
  };
  auto* const made = new UcxWorker(on(0));
  for (size_t k = 1; k < cards.size(); ++k) made->addRail(on(k));
  for (int k = 0; k < made->rails(); ++k) {
    UcxWorker& rail = made->rail(k);
    rail.watchedAt_ =
        rail.hosts_.open(cards.size() > 1 ? cards[static_cast<size_t>(k)] : ucxInterfaces());
  }
  made->sleep_ = std::make_unique<WakeableSleep>();
  ownThread("the thread that moves the network", [made] { made->keepMoving(); }).detach();
  workers[lane].store(made);
  static const int atExit = std::atexit([] {
    for (const std::atomic<UcxWorker*>& each : workers) {
      if (UcxWorker* const worker = each.load()) worker->awaitArrival();
    }
  });
  static_cast<void>(atExit);
  return *made;
}

UcxWorker::UcxWorker(const Settings& settings, UcxWorker* first)
    : first_(first == nullptr ? this : first), token_(randomNumber()), hosts_(token_) {
  try {
    open(settings);
  } catch (...) {
    close();
    throw;
  }
}

void UcxWorker::addRail(const Settings& settings) {
  further_.push_back(std::unique_ptr<UcxWorker>(new UcxWorker(settings, this)));
}

UcxWorker::~UcxWorker() {
  closeEndpoints();
  close();
}

/// `tcp`: with what Rondo prefers of TCP, of which UCX would warn where it opens none.
void UcxWorker::openContext(const Settings& settings, bool tcp) {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> owner(config, ucp_config_release);
  const bool verbs = hasVerbs();
  for (const Preference& preference : kPreferences) {
    if (!(verbs ? preference.onVerbs : preference.elsewhere)) continue;
    // A version without TCP, or with another name for it, does as it likes.
    if (std::getenv((std::string("UCX_") + preference.name).c_str()) == nullptr) {
      ucp_config_modify(config, preference.name, preference.value);
    }
  }
  if (tcp) {
    tcpSegment_ = preferWholeMessages(config);
    preferNotToWait(config);
  }
  for (const auto& [name, value] : settings) {
    check(ucp_config_modify(config, name.c_str(), value.c_str()), "ucp_config_modify");
    if (name == "RX_SEG_SIZE") tcpSegment_ = value;
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  const ucs_status_t status = ucp_init(&params, config, &context_);
  if (status == UCS_ERR_NO_DEVICE) throw noNetwork(settings, ucs_status_string(status));
  check(status, "ucp_init");
  networks_ = UcxNetworks::of(context_);
  packsShort_ = networks_.only("tcp");
  movesCuda_ = knowsCuda(context_);
  if (networks_.none()) throw noNetwork(settings, "what is left reaches this host alone");
}

bool UcxWorker::zeroCopies(MemoryKind kind, bool always) const {
  if (kind == MemoryKind::Cuda && !movesCuda_) return false;
  return always || (networks_.haveRdma() && (kind == MemoryKind::Host || cardsReachGpus()));
}

void UcxWorker::open(const Settings& settings) {
  if (const std::string few = fewDescriptorsText(kTooFewDescriptors); !few.empty()) {
    throw Error(rondoSystemError, "no worker of UCX can be made" + few);
  }
  openContext(settings, true);
  if (!networks_.mayHave("tcp")) {
    ucp_cleanup(std::exchange(context_, nullptr));
    openContext(settings, false);
  }
  const std::vector<int> listening = listeningSockets();
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(ucp_worker_create(context_, &wanted, &worker_), "ucp_worker_create");
  ports_ = portsSince(listening);
  // Not every transport can wake a sleeper: then the thread looks by the clock.
  if (ucp_worker_get_efd(worker_, &wakes_) != UCS_OK) wakes_ = -1;

  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kUcxMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = onMessage;
  handler.arg = this;
  check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");

  // Shared memory would let two "hosts" of one machine take a way that real ones have not.
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  check(ucp_worker_query(worker_, &attributes), "ucp_worker_query");
  address_.assign(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
}

void UcxWorker::close() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

void UcxWorker::closeEndpoints() {
  for (auto& [token, endpoint] : endpoints_) givenUp_.push_back(std::move(endpoint));
  endpoints_.clear();
  for (const auto& endpoint : givenUp_) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const request = ucp_ep_close_nbx(endpoint->handle, &param);
    if (!UCS_PTR_IS_PTR(request)) continue;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
  }
  givenUp_.clear();
}

void UcxWorker::know(uint64_t token, const std::string& address, const std::string& networks,
                     const UcxPorts& ports) {
  known_.try_emplace(token, Known{address, networks});
  first_->theirPorts_.insert(ports.begin(), ports.end());
}

UcxEndpoint& UcxWorker::connect(uint64_t token) {
  const std::string& address = known_.at(token).address;
  std::unique_ptr<UcxEndpoint>& known = endpoints_[token];
  if (known != nullptr && !known->failed) return *known;
  // Communicators that were lost with it still ask it.
  if (known != nullptr) givenUp_.push_back(std::move(known));
  auto made = std::make_unique<UcxEndpoint>();
  made->worker = this;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {onError, made.get()};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &made->handle);
  if (status != UCS_OK) endpoints_.erase(token);
  check(status, "ucp_ep_create");
  known = std::move(made);
  return *known;
}

void UcxWorker::attach(uint64_t group, int rank, UcxReceiver* receiver) {
  receivers_[{group, rank}] = receiver;
  used_.notify_one();
}

void UcxWorker::detach(uint64_t group, int rank) { receivers_.erase({group, rank}); }

/// Messages for a communicator that is gone, late credits most likely, are dropped; but who says
/// hello to it may wait for an answer.
ucs_status_t UcxWorker::onMessage(void* self, const void* header, size_t headerBytes, void* data,
                                  size_t bytes, const ucp_am_recv_param_t* param) {
  auto& by = *static_cast<UcxWorker*>(self);
  const auto& receivers = by.first_->receivers_;
  UcxHeader head;
  if (headerBytes != sizeof head) return UCS_OK;
  std::memcpy(&head, header, sizeof head);
  const auto found = receivers.find({head.group, head.to});
  if (head.version != kUcxVersion) return UCS_OK;
  if (found == receivers.end()) [[unlikely]] {
    uint64_t token = 0;
    if (head.kind == UcxKind::Hello && bytes == sizeof token) {
      std::memcpy(&token, data, sizeof token);
      by.first_->noteStranger(head, token);
    }
    return UCS_OK;
  }
  return found->second->onMessage(by.worker_, head, data, bytes, param->recv_attr);
}

void UcxWorker::onError(void* endpoint, ucp_ep_h, ucs_status_t status) {
  auto& failed = *static_cast<UcxEndpoint*>(endpoint);
  if (failed.failed) return;
  failed.failed = true;
  failed.why = ucs_status_string(status);
  UcxWorker& first = *failed.worker->first_;
  first.failed_ = true;
  for (const auto& [key, receiver] : first.receivers_) receiver->onFailure(failed);
}

/// Whether anything moved.
bool UcxWorker::moveUntilQuiet() {
  int moves = 0;
  while (moves < kMostMoves && progressLocked()) ++moves;
  return moves > 0;
}

/// Whether UCX will say when there is something to move; if not now, then most likely because there
/// is.
bool UcxWorker::armed() {
  bool all = true;
  onRails([&](UcxWorker& rail) {
    all = all && rail.wakes_ >= 0 && ucp_worker_arm(rail.worker_) == UCS_OK;
  });
  return all;
}

/// Whether a rank ended it, which polls from then on.
bool UcxWorker::sleepUntilWoken() {
  std::array<pollfd, kMostRails + 1> events{};
  size_t count = 0;
  onRails([&](UcxWorker& rail) { events[count++] = {rail.wakes_, POLLIN, 0}; });
  return sleep_->until({events.data(), count + 1}, kArmedNap);
}

/// For how long ranks in calls will do, by what has happened since these counts.
std::chrono::milliseconds UcxWorker::othersNap(uint64_t* turns, uint64_t* posts) const {
  const uint64_t turnsBefore = std::exchange(*turns, turns_.load(std::memory_order_relaxed));
  const uint64_t postsBefore = std::exchange(*posts, posts_.load(std::memory_order_relaxed));
  if (*turns != turnsBefore) return kPolledNap;
  return *posts != postsBefore ? kPostedNap : std::chrono::milliseconds(0);
}

/// The end of a message that UCX counts as sent may still lie in its own memory, because the socket
/// was full, when its rank goes elsewhere: into MPI, say, to wait there for the message's reader.
/// And a rank that computes for long should hear of an abort. So where nobody else made progress
/// for a while, this thread does, as long as there are communicators that span hosts: it sleeps
/// until UCX's descriptor says that something can move. While others poll, that would wake it for
/// each of their messages. Nor does it ask for the lock then, but seldom: who polls has it nearly
/// always, and would have to wake this thread, on the same core as a rule, with a call of the
/// system.
void UcxWorker::keepMoving() {
  pthread_setname_np(pthread_self(), "rondo-ucx");
  runNearNetwork();
  uint64_t seen = 0, turns = 0, posts = 0;
  std::chrono::steady_clock::time_point lookedAt{};
  auto nap = kLeastNap;
  for (;;) {
    if (std::chrono::steady_clock::now() - lookedAt < othersNap(&turns, &posts)) {
      nap = kLeastNap;
      std::this_thread::sleep_for(kPostedNap);
      continue;
    }
    bool wakes = false, moves = false;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      used_.wait(lock, [this] { return !receivers_.empty() || strangersMayCome_; });
      const bool othersWaited = turns_ != seen;
      moves = !othersWaited && moveUntilQuiet();
      lookAtHosts(othersWaited);
      wakes = !othersWaited && armed();
      if (wakes) sleep_->begin();
      nap = othersWaited || moves ? kLeastNap : std::min(2 * nap, kMostNap);
      seen = turns = turns_;
    }
    lookedAt = std::chrono::steady_clock::now();
    if (wakes) {
      if (sleepUntilWoken()) lookedAt = std::chrono::steady_clock::now();
    } else if (moves && wakes_ >= 0) {
      sched_yield();  // there is more, and who waits for the lock comes first
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
}

/// The process ends. What it sent last may wait to be sent again, for a cable was away for a
/// moment; the kernel would forget it where something is left unread, as a late credit is.
void UcxWorker::awaitArrival() {
  if (getpid() != process_) return;  // a fork's end
  const auto start = std::chrono::steady_clock::now();
  bool bound = false;
  const auto theirs = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return theirPorts_;
  }();
  const auto arrived = [&] {
    bool all = true;
    onRails([&](UcxWorker& rail) { all = all && allHasArrived(rail.ports_, theirs); });
    return all;
  };
  while (!arrived()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kLastWords) return;
    if (!bound && waited > kWaitGap) {
      onRails([&](UcxWorker& rail) { boundRetransmission(rail.ports_, theirs); });
      bound = true;
    }
    progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void UcxWorker::lookAtHosts(bool othersWaited) {
  const auto now = std::chrono::steady_clock::now();
  if (othersWaited) {
    if (now - waitSeen_ > kWaitGap) waitSince_ = now;
    waitSeen_ = now;
  }
  const bool waits = now - waitSeen_ <= kWaitGap;
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - waitSince_);
  if (waits && waited >= 2 * kWaitGap && now - boundAt_ >= kBoundEvery) {
    boundAt_ = now;
    onRails([&](UcxWorker& rail) { boundRetransmission(rail.ports_, theirPorts_); });
  }
  onRails([&](UcxWorker& rail) {
    for (const HostWatch::Event& event : rail.hosts_.look(waits ? waited : decltype(waited){0})) {
      for (const auto& [key, receiver] : receivers_) receiver->onHostEvent(event);
      failed_ = true;
    }
  });
}

void UcxWorker::afterFailures() {
  failed_ = false;
  bool again = false;
  for (const auto& [key, receiver] : receivers_) again |= receiver->afterFailure();
  failed_ |= again;
}

bool UcxWorker::progressLocked() {
  count(&turns_);
  int round = 0;
  while (round < kMostRounds && ucp_worker_progress(worker_) != 0) ++round;
  for (const auto& rail : further_) round += ucp_worker_progress(rail->worker_) != 0 ? 1 : 0;
  if (failed_) [[unlikely]]
    afterFailures();
  if (!strangers_.empty()) [[unlikely]]
    answerStrangers();
  return round > 0;
}

void UcxWorker::progress() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  progressLocked();
  if (sleep_) sleep_->wake();
}

}  // namespace rondo
