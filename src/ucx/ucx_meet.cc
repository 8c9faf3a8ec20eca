// How the ranks of a communicator that spans hosts find each other: addresses through the
// bootstrap, then a first message each way.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "ucx/ucx_transport.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// With more far ranks than this ways are tried when they are first used: most never are.
constexpr size_t kMostGreeted = 256;

/// What a rank tells the others of its worker.
struct WorkerInfo {
  uint64_t token;
  uint64_t group;  // of rank 0: the communicator's number
  uint64_t addressBytes;
};

uint64_t freshGroup() {
  const Secret secret = makeSecret();
  uint64_t number = 0;
  std::memcpy(&number, secret.data(), sizeof number);
  return number;
}

}  // namespace

std::unique_ptr<UcxTransport> UcxTransport::create(Bootstrap& boot, UcxWorker& worker, Wish wish) {
  std::unique_ptr<UcxTransport> self(new UcxTransport(worker, boot.rank(), std::move(wish)));
  self->meet(boot);
  return self;
}

void UcxTransport::meet(Bootstrap& boot) {
  const auto n = static_cast<size_t>(boot.size());
  const WorkerInfo mine{worker_.token(), rank_ == 0 ? freshGroup() : 0, worker_.address().size()};
  std::vector<WorkerInfo> infos(n);
  boot.allGather(&mine, sizeof mine, infos.data());
  group_ = infos[0].group;

  uint64_t longest = 1;
  for (const WorkerInfo& info : infos) longest = std::max(longest, info.addressBytes);
  std::string padded = worker_.address();
  padded.resize(longest);
  std::string all(longest * n, '\0');
  boot.allGather(padded.data(), longest, all.data());
  std::vector<uint64_t> tokens;
  std::vector<std::string> addresses;
  for (size_t r = 0; r < n; ++r) {
    tokens.push_back(infos[r].token);
    addresses.push_back(all.substr(r * longest, infos[r].addressBytes));
  }

  int code = rondoSuccess;
  std::string sentence;
  try {
    connectAll(tokens, addresses);
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  }
  boot.agree(code, sentence);  // from here on every rank takes messages
  if (all_.size() <= kMostGreeted) greet(boot);
}

void UcxTransport::connectAll(const std::vector<uint64_t>& tokens,
                              const std::vector<std::string>& addresses) {
  const std::lock_guard<std::mutex> lock(worker_.mutex());
  worker_.attach(group_, rank_, this);
  attached_ = true;
  for (UcxPeer* peer : all_) {
    const auto r = static_cast<size_t>(peer->rank);
    try {
      peer->endpoint = &worker_.connect(tokens[r], addresses[r]);
    } catch (const Error& error) {
      peer->lost = true;
      throw Error(error.code(), format("no way to rank %d on host \"%s\": %s", peer->rank,
                                       wish_.hosts[r].c_str(), error.what()));
    }
  }
}

/// The first peer that has not said hello, as a sentence; empty: there is none.
std::string UcxTransport::silentPeer() const {
  for (const UcxPeer* peer : all_) {
    const char* const host = wish_.hosts[static_cast<size_t>(peer->rank)].c_str();
    if (peer->lost) {
      return format("the way to rank %d on host \"%s\" does not work: %s", peer->rank, host,
                    peer->endpoint->why.c_str());
    }
    if (!peer->hello) {
      return format("nothing came from rank %d on host \"%s\" in %d s", peer->rank, host,
                    wish_.limitMs / 1000);
    }
  }
  return "";
}

void UcxTransport::greet(Bootstrap& boot) {
  const auto until = Clock::now() + std::chrono::milliseconds(wish_.limitMs);
  std::string problem;
  {
    const std::lock_guard<std::mutex> lock(worker_.mutex());
    sendToLiving(UcxKind::Hello, 0);
  }
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(worker_.mutex());
      worker_.progressLocked();
      const bool lost =
          std::any_of(all_.begin(), all_.end(), [](const UcxPeer* peer) { return peer->lost; });
      problem = silentPeer();
      // Its own hellos, too, must have left: after this it may do something else for long.
      if (problem.empty() && inFlight_ == 0) break;
      if (lost || Clock::now() > until) break;
    }
    boot.idle();
    sched_yield();
  }
  if (!problem.empty()) {
    problem += "; UCX_NET_DEVICES and UCX_TLS say which network devices and transports it may use";
  }
  boot.agree(problem.empty() ? rondoSuccess : rondoRemoteError, problem);
}

}  // namespace rondo
