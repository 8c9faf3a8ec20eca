#pragma once
// Hosts without hosts: every rank is a UCX worker of this process, and TCP over a local device is
// between them.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/thread_bootstrap.h"
#include "ucx/ucx_transport.h"

namespace rondo::testing {

inline constexpr uint64_t kChunk = 64u << 10;

/// What a rank's network told it.
struct Told : FarEvents {
  void farAborted(uint32_t word, uint32_t how, std::string_view why) override {
    detail = how;
    reason = why;
    aborted = word;
    ++ends;
  }
  uint32_t farLost(int rank, FarLoss, const std::string& why) override {
    lost = rank;
    whyLost = why;
    return 77;
  }
  void farCalled(int rank, const Call& call, PairCounts pair) override {
    ++calls;
    caller = rank;
    called = call;
    counts = pair;
  }
  void farLeft(int rank) override { left = rank; }
  void farNews(int rank, const FarNews& what) override {
    newsOf = rank;
    news = what;
  }
  std::atomic<uint32_t> aborted{0};
  uint32_t detail = 0;
  std::string reason;
  int ends = 0;
  int left = -1, newsOf = -1;
  FarNews news;
  int lost = -1, caller = -1, calls = 0;
  std::string whyLost;
  Call called;
  PairCounts counts;
};

/// Ranks that are all far from each other.
class Hosts {
 public:
  /// `first`: the number of each channel's first message.
  explicit Hosts(int n, int rails = 1, const UcxWorker::Settings& further = {}, uint32_t first = 0)
      : first_(first), told_(static_cast<size_t>(n)), stamps_(static_cast<size_t>(n), 1) {
    settings_.insert(settings_.end(), further.begin(), further.end());
    workers_.resize(static_cast<size_t>(n));
    transports_.resize(static_cast<size_t>(n));
    meet(rails);
  }
  /// By the workers that there are, if there are any, instead of what met before.
  void meet(int rails = 1) {
    const auto n = static_cast<int>(workers_.size());
    ThreadGroup group(n);
    std::vector<std::thread> threads;
    for (int r = 0; r < n; ++r) {
      threads.emplace_back([&, r] {
        const auto at = static_cast<size_t>(r);
        ThreadBootstrap boot(group, r);
        if (!workers_[at]) {
          workers_[at] = std::make_unique<UcxWorker>(settings_);
          for (int k = 1; k < rails; ++k) workers_[at]->addRail(settings_);
        }
        UcxTransport::Wish wish{
            {}, std::vector<std::string>(told_.size(), "here"), 2, kChunk, &told_[at]};
        for (int far = 0; far < n; ++far) {
          if (far != r) wish.far.push_back(far);
        }
        wish.messagesBefore = first_;
        try {
          transports_[at] = UcxTransport::create(boot, *workers_[at], wish);
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  UcxTransport& operator[](int rank) { return *transports_[static_cast<size_t>(rank)]; }
  Told& told(int rank) { return told_[static_cast<size_t>(rank)]; }
  uint32_t& stamp(int rank) { return stamps_[static_cast<size_t>(rank)]; }
  std::unique_ptr<SendPort> sender(int from, int to) {
    return (*this)[from].sendTo(0, to, &stamp(from));
  }
  /// Of all its rails.
  size_t endpointsOf(int rank) {
    UcxWorker& worker = *workers_[static_cast<size_t>(rank)];
    const std::lock_guard<std::mutex> lock(worker.mutex());
    size_t count = 0;
    for (int k = 0; k < worker.rails(); ++k) count += worker.rail(k).endpoints();
    return count;
  }
  UcxWorker& worker(int rank) { return *workers_[static_cast<size_t>(rank)]; }
  void destroy(int rank) { transports_[static_cast<size_t>(rank)].reset(); }
  /// As the end of a process does, whatever its communicators were at.
  void kill(int rank) {
    workers_[static_cast<size_t>(rank)].reset();
    static auto* const graves = new std::vector<std::unique_ptr<UcxTransport>>;
    graves->push_back(std::move(transports_[static_cast<size_t>(rank)]));
  }
  /// Ends the connections at whose other end a worker listens; returns how many. Both ends see it.
  int breakConnections() {
    std::set<uint16_t> ports;
    for (const auto& worker : workers_) {
      for (int k = 0; k < worker->rails(); ++k) {
        const UcxPorts& each = worker->rail(k).ports();
        ports.insert(each.begin(), each.end());
      }
    }
    ports.erase(0);
    int broken = 0;
    for (int fd = 0; fd < 1024; ++fd) {
      sockaddr_in peer{};
      socklen_t length = sizeof peer;
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
      if (peer.sin_family != AF_INET || ports.count(ntohs(peer.sin_port)) == 0) continue;
      if (shutdown(fd, SHUT_RDWR) == 0) ++broken;
    }
    return broken;
  }
  /// Lets all workers move, or those of `ranks`, until `done`, for at most so long.
  bool until(const std::function<bool()>& done, const std::set<int>& ranks = {},
             std::chrono::milliseconds most = std::chrono::seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (std::chrono::steady_clock::now() < end) {
      for (size_t rank = 0; rank < workers_.size(); ++rank) {
        const bool moves = ranks.empty() || ranks.count(static_cast<int>(rank)) != 0;
        if (moves && workers_[rank]) workers_[rank]->progress();
      }
      if (done()) return true;
    }
    return false;
  }

 private:
  const uint32_t first_;
  UcxWorker::Settings settings_{{"TLS", "tcp"}};
  std::vector<Told> told_;
  std::vector<uint32_t> stamps_;
  std::vector<std::unique_ptr<UcxWorker>> workers_;
  std::vector<std::unique_ptr<UcxTransport>> transports_;
};

/// A message of that many bytes, all alike; false: there is no room for it now.
inline bool send(SendPort& port, char mark, size_t bytes) {
  void* const space = port.tryAcquire(bytes);
  if (space == nullptr) return false;
  std::memset(space, mark, bytes);
  port.post(bytes, nullptr);
  return true;
}

/// Whether the next message is such a one; takes it.
inline bool comes(Hosts& hosts, RecvPort& port, char mark, size_t bytes) {
  Message message{};
  if (!hosts.until([&] { return port.tryPeek(&message); })) return false;
  const std::vector<char> wanted(bytes, mark);
  const bool right = message.bytes == bytes && std::memcmp(message.data, wanted.data(), bytes) == 0;
  port.release();
  return right;
}

}  // namespace rondo::testing
