#include "ucx/ucx_worker.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
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
      used_.wait(lock, [this] { return !ending_ && (!receivers_.empty() || strangersMayCome_); });
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
    if (waited > kLastWords) break;
    if (!bound && waited > kWaitGap) {
      onRails([&](UcxWorker& rail) { boundRetransmission(rail.ports_, theirs); });
      bound = true;
    }
    progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // UCX's own memory goes next, and the thread would end the process there ("Fatal: failed to
  // modify 16 event handler"). Destructors that come after this move the network themselves.
  const std::lock_guard<std::mutex> lock(mutex_);
  ending_ = true;
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
