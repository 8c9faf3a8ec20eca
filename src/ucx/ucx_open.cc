// How a worker is opened: its context, as Rondo would have it, and endpoints.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "ucx/descriptors.h"
#include "ucx/ucx_devices.h"
#include "ucx/ucx_worker.h"

namespace rondo {
namespace {

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

}  // namespace

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
  if (known != nullptr && !known->failed) {
    known->old = true;
    return *known;
  }
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

}  // namespace rondo
