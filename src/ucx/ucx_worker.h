#pragma once
// UCX as a process uses it: one context, one worker, an endpoint for each process of another host,
// shared by all communicators. Every call of UCX is made under one lock. What moves device memory
// by several threads has more of these, one for each lane.

#include <ucp/api/ucp.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "p2p/far_transport.h"
#include "ucx/host_watch.h"
#include "ucx/ucx_networks.h"
#include "ucx/ucx_sockets.h"
#include "ucx/ucx_wire.h"
#include "ucx/wakeable_sleep.h"

namespace rondo {

class UcxWorker;

/// The way to another process.
struct UcxEndpoint {
  ucp_ep_h handle = nullptr;
  UcxWorker* worker = nullptr;
  bool met = false;  ///< A communicator's ranks have met by it: the network allows it.
  bool old = false;  ///< Asked for again since it was made: it may have died in between.
  bool failed = false;
  std::string why;  ///< With failed.
};

/// Takes the messages that come for one rank of one communicator. Called with the lock held, from
/// whichever thread makes progress; must not send.
class UcxReceiver {
 public:
  virtual ~UcxReceiver() = default;
  /// `data` as UCX hands them out on worker `by`; the answer is the callback's.
  virtual ucs_status_t onMessage(ucp_worker_h by, const UcxHeader& header, void* data, size_t bytes,
                                 uint64_t attributes) = 0;
  virtual void onFailure(const UcxEndpoint& endpoint) = 0;
  /// A process that is watched has ended, or its host is silent.
  virtual void onHostEvent(const HostWatch::Event& event) = 0;
  /// After every progress that followed a failure or such an event; may send. True: again after the
  /// next one.
  virtual bool afterFailure() = 0;
};

class UcxWorker {
 public:
  using Settings = UcxSettings;

  /// The process's own, made at the first call from the environment (UCX_TLS, UCX_NET_DEVICES and
  /// so on), and never destroyed: the peers' last words may still come. Lane 0 is everybody's;
  /// there are kMostLanes at most. Throws Error.
  static UcxWorker& own(int lane = 0);
  static constexpr int kMostLanes = 4;
  /// For tests: with settings of its own, as names without "UCX_" and values.
  explicit UcxWorker(const Settings& settings) : UcxWorker(settings, nullptr) {}
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  /// Another way to the same processes, by another network card: a worker of its own, under this
  /// one's lock, whose messages this one's receivers get. Before anybody knows this worker.
  void addRail(const Settings& settings);
  static constexpr int kMostRails = 4;
  /// This one included.
  int rails() const { return 1 + static_cast<int>(further_.size()); }
  UcxWorker& rail(int k) { return k == 0 ? *this : *further_[static_cast<size_t>(k - 1)]; }

  /// No other process's worker has this number.
  uint64_t token() const { return token_; }
  /// Where other processes reach it, over networks only.
  const std::string& address() const { return address_; }

  /// Where other processes' watches find this one.
  const Endpoints& watchedAt() const { return watchedAt_; }

  /// The longest message that its TCP takes whole, as UCX's setting has it; empty: UCX's default.
  const std::string& tcpSegment() const { return tcpSegment_; }

  /// What its context may use to reach other hosts: at least one, or it would not be.
  const UcxNetworks& networks() const { return networks_; }

  /// See FarTransport. With `always` false: only if a card moves such memory by itself.
  bool zeroCopies(MemoryKind kind, bool always) const;

  /// Whether its short messages are better packed (ucx_packed.h).
  bool packsShort() const { return packsShort_; }

  /// The ports of its own TCP connections' listeners, if UCX uses TCP.
  const UcxPorts& ports() const { return ports_; }

  /// Moves what can be moved, by all rails, unless another thread is at it.
  void progress();

  std::mutex& mutex() { return mutex_; }

  // With the lock held; attach() and what follows are the first rail's:

  ucp_worker_h handle() const { return worker_; }
  /// Another process's worker, which connect() may be asked for from then on.
  void know(uint64_t token, const std::string& address, const std::string& networks,
            const UcxPorts& ports);
  /// What a worker that is known may use, for people.
  const std::string& networksOf(uint64_t token) const { return known_.at(token).networks; }
  /// The endpoint for a worker that is known, made unless there is one that has not failed. Throws
  /// Error.
  UcxEndpoint& connect(uint64_t token);
  size_t endpoints() const { return endpoints_.size(); }
  /// From then on somebody makes progress now and then, also while no rank is in a call.
  void attach(uint64_t group, int rank, UcxReceiver* receiver);
  /// From now on also where no communicator is left: somebody may say hello to one that was.
  void expectStrangers() { strangersMayCome_ = true; }
  void detach(uint64_t group, int rank);
  /// A rank that said hello to one of a communicator that is gone is told so at the next progress.
  void noteStranger(const UcxHeader& hello, uint64_t token);
  /// The worker that lives as long as its process looks at it now and then.
  HostWatch& hosts() { return hosts_; }
  /// The next progress asks every receiver's afterFailure().
  void askAgain() { failed_ = true; }
  /// Says whether anything moved.
  bool progressLocked();
  /// A rank in a call has sent something, and looks after it.
  void notePost() { count(&posts_); }

 private:
  UcxWorker(const Settings& settings, UcxWorker* first);
  using Key = std::pair<uint64_t, int>;
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(key.first ^ (static_cast<uint64_t>(key.second) << 40));
    }
  };
  /// With the lock held; read without it.
  static void count(std::atomic<uint64_t>* what) {
    what->store(what->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static ucs_status_t onMessage(void* self, const void* header, size_t headerBytes, void* data,
                                size_t bytes, const ucp_am_recv_param_t* param);
  static void onError(void* endpoint, ucp_ep_h handle, ucs_status_t status);
  void open(const Settings& settings);
  void openContext(const Settings& settings, bool tcp);
  void close();
  void closeEndpoints();
  void keepMoving();
  std::chrono::milliseconds othersNap(uint64_t* turns, uint64_t* posts) const;
  bool moveUntilQuiet();
  bool armed();
  bool sleepUntilWoken();
  void awaitArrival();
  void lookAtHosts(bool othersWaited);
  void afterFailures();
  void answerStrangers();
  template <class Act>
  void onRails(const Act& act) {
    for (int k = 0; k < rails(); ++k) act(rail(k));
  }

  UcxWorker* const first_;  // itself, but for further rails
  std::mutex mutex_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  uint64_t token_ = 0;
  std::string address_;
  std::string tcpSegment_;
  UcxNetworks networks_;
  bool packsShort_ = false;
  bool movesCuda_ = false;
  int wakes_ = -1;  // readable when there may be something to move, once it is armed; -1: none
  std::unique_ptr<WakeableSleep> sleep_;  // of the process's thread, where it has one
  HostWatch hosts_;
  Endpoints watchedAt_{};
  const int process_ = getpid();
  UcxPorts ports_{};
  std::unordered_set<uint16_t> theirPorts_;
  std::chrono::steady_clock::time_point waitSince_{}, waitSeen_{}, boundAt_{};
  bool failed_ = false;                        // since the last progress, an endpoint or a host
  std::atomic<uint64_t> turns_{0}, posts_{0};  // looks at the network, messages of ranks in calls
  std::condition_variable used_;
  std::unordered_map<uint64_t, std::unique_ptr<UcxEndpoint>> endpoints_;
  std::vector<std::unique_ptr<UcxEndpoint>>
      givenUp_;  // failed, and replaced since, or to be closed
  std::unordered_map<Key, UcxReceiver*, Hash> receivers_;
  struct Known {
    std::string address, networks;
  };
  std::unordered_map<uint64_t, Known> known_;
  bool strangersMayCome_ = false;
  bool ending_ = false;  // the process is: the thread moves nothing any more
  std::vector<std::pair<UcxHeader, uint64_t>> strangers_;  // and the token of whose worker
  std::vector<std::unique_ptr<UcxWorker>> further_;  // the first to go: they use what is above
};

}  // namespace rondo
