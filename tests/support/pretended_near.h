#pragma once
// The runner of one host's ranks without a GPU: each call is work on a PretendedStream that meets
// the same work of the host's other ranks, as a kernel does, and reads their memory.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/types.h"
#include "base/error.h"
#include "coll/reduce/reduce.h"
#include "support/pretended_device.h"

namespace rondo::testing {

/// What the ranks of a pretended host share; outlives their runners.
class PretendedHost {
 public:
  explicit PretendedHost(int ranks)
      : ranks_(static_cast<size_t>(ranks)), calls_(ranks_), aborted_(ranks_, false) {}

  int ranks() const { return static_cast<int>(ranks_); }
  /// Kernels so far that meet others, on all ranks together.
  int launches(Collective collective) const {
    return launches_[static_cast<size_t>(collective)].load();
  }
  /// What ranks predict.
  std::atomic<uint64_t> picosecondsPerKiB{1000};
  /// After a runner was aborted, before that returns. Set while there are no calls.
  std::function<void()> afterAbort;
  /// Whenever a runner is asked whether its kernels gave up, before that. Set as afterAbort.
  std::function<void()> atCheck;

  /// Shows the others this rank's call and waits for theirs; false: given up.
  bool meet(int rank, const DeviceCall& call) {
    calls_[static_cast<size_t>(rank)] = call;
    launches_[static_cast<size_t>(call.collective)].fetch_add(1);
    return wait(rank);
  }
  const DeviceCall& callOf(int rank) const { return calls_[static_cast<size_t>(rank)]; }
  /// Until all are here.
  bool wait(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t round = round_;
    if (aborted_[static_cast<size_t>(rank)]) return false;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return true;
    }
    changed_.wait(lock, [&] { return round_ != round || aborted_[static_cast<size_t>(rank)]; });
    return round_ != round;
  }
  void abort(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted_[static_cast<size_t>(rank)] = true;
    changed_.notify_all();
  }
  bool aborted(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return aborted_[static_cast<size_t>(rank)];
  }
  /// `part`: of a collective, which has a queue of its own.
  void put(bool part, int from, int to, const Transfer& transfer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!part) ++sends_;
    mail_[{part, from, to}].push_back(
        {transfer.data, {transfer.data, transfer.data + transfer.bytes}});
    changed_.notify_all();
  }
  bool take(bool part, int from, int to, const Transfer& transfer) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto& queue = mail_[{part, from, to}];
    const auto ended = [&] { return aborted_[static_cast<size_t>(to)]; };
    changed_.wait(lock, [&] { return !queue.empty() || ended(); });
    if (queue.empty()) return false;
    const Letter& letter = queue.front();
    if (letter.from != transfer.data) {  // what stays in its place others may read meanwhile
      std::memcpy(transfer.data, letter.data.data(),
                  std::min<size_t>(transfer.bytes, letter.data.size()));
    }
    queue.pop_front();
    changed_.notify_all();
    return true;
  }
  /// Until all that was put has been taken; false: given up.
  bool awaitTaken(bool part, int from, int to) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto& queue = mail_[{part, from, to}];
    changed_.wait(lock, [&] { return queue.empty() || aborted_[static_cast<size_t>(from)]; });
    return queue.empty();
  }
  /// Sends so far that are no part of a collective.
  int sends() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sends_;
  }

 private:
  const size_t ranks_;
  std::vector<DeviceCall> calls_;
  std::vector<bool> aborted_;
  std::array<std::atomic<int>, kCollectives> launches_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0;
  uint64_t round_ = 0;
  int sends_ = 0;
  struct Letter {
    const char* from;
    std::vector<char> data;
  };
  std::map<std::tuple<bool, int, int>, std::deque<Letter>> mail_;
};

/// One rank's. `broken`, if it is given: a kernel has given up a wait.
class PretendedNear final : public DeviceRunner {
 public:
  PretendedNear(PretendedHost& host, int rank, const std::atomic<bool>* broken = nullptr)
      : host_(host), rank_(rank), broken_(broken) {}

  int device() const override { return 0; }
  DeviceServed run(const DeviceCall& call) override {
    check();
    DeviceCall kept = call;
    const auto scaled = std::make_shared<ScaledOp>();  // a group's is used again
    if (call.scaled != nullptr) {
      call.scaled->copyTo(scaled.get());
      kept.scaled = scaled.get();
    }
    PretendedStream::of(call.stream).enqueue([this, call = kept, scaled] {
      if (call.collective == Collective::ReduceScatter) {
        reduceScatter(call);
      } else if (call.collective == Collective::AllGather) {
        allGather(call);
      } else {
        std::abort();
      }
    });
    return {DeviceWay::kLL};
  }
  void exchange(const char*, std::span<const Transfer> transfers,
                std::span<const rondoStream_t> streams) override {
    PretendedStream& first = PretendedStream::of(streams[0]);
    for (const rondoStream_t other : streams.subspan(1)) {
      if (!captures(streams[0]) || captures(other))
        orderPretended(PretendedStream::of(other), first);
    }
    move(false, transfers, streams[0]);
    for (const rondoStream_t other : streams.subspan(1)) {
      orderPretended(first, PretendedStream::of(other));
    }
  }
  void exchangeInPlace(const char*, std::span<const Transfer>, rondoStream_t) override {
    std::abort();  // levels have memory of their own for that
  }
  void passOn(const char*, std::span<const Transfer> transfers, rondoStream_t stream) override {
    move(true, transfers, stream);
  }
  bool captures(rondoStream_t stream) const override {
    return PretendedStream::of(stream).captures();
  }
  void order(rondoStream_t, rondoStream_t) override { std::abort(); }
  uint64_t serial() const override { return 0; }
  void check() const override {
    if (host_.atCheck) host_.atCheck();
    if (broken_ != nullptr && broken_->load()) {
      throw Error(rondoRemoteError, "a pretended kernel gave up");
    }
    if (host_.aborted(rank_)) throw Error(rondoRemoteError, "aborted");
  }
  void abort() noexcept override {
    host_.abort(rank_);
    if (host_.afterAbort) host_.afterAbort();
  }
  DeviceChoice choose(const DeviceRequest& request) const override {
    DeviceChoice choice{};
    choice.algorithm = "direct";
    choice.picoseconds =
        request.count * request.elementBytes * host_.picosecondsPerKiB.load() / 1024;
    return choice;
  }
  void startEpochsAt(uint32_t) override {}

 private:
  /// A kernel: sends end when they are received, as a long one's do.
  void move(bool part, std::span<const Transfer> transfers, rondoStream_t stream) {
    const std::vector<Transfer> all(transfers.begin(), transfers.end());
    PretendedStream::of(stream).enqueue([this, part, all] {
      for (const Transfer& each : all) {
        if (each.sends && each.bytes > 0) host_.put(part, rank_, each.peer, each);
      }
      for (const Transfer& each : all) {
        if (each.sends || each.bytes == 0) continue;
        if (!host_.take(part, each.peer, rank_, each)) return;
      }
      for (const Transfer& each : all) {
        if (each.sends && each.bytes > 0 && !host_.awaitTaken(part, rank_, each.peer)) return;
      }
    });
  }
  void reduceScatter(const DeviceCall& call) {
    if (!host_.meet(rank_, call)) return;
    const size_t element = typeSize(call.type), bytes = call.count * element;
    std::vector<std::vector<char>> scaled;
    std::vector<const void*> in;
    for (int r = 0; r < host_.ranks(); ++r) {
      const DeviceCall& theirs = host_.callOf(r);
      const char* from = static_cast<const char*>(theirs.send) + static_cast<size_t>(rank_) * bytes;
      if (theirs.scaled != nullptr) {
        scaled.emplace_back(bytes);
        findScale(call.type, CpuLevel::kPlain)(scaled.back().data(), from, theirs.scaled->scalar,
                                               call.count);
        from = scaled.back().data();
      }
      in.push_back(from);
    }
    std::vector<char> out(bytes);
    const rondoRedOp_t op = call.scaled != nullptr ? static_cast<rondoRedOp_t>(rondoSum) : call.op;
    const uint32_t divisor = op == rondoAvg ? static_cast<uint32_t>(host_.ranks()) : 0;
    findReduce(call.type, op, CpuLevel::kPlain)(
        {out.data(), nullptr, in.data(), host_.ranks(), call.count, divisor, false});
    if (host_.wait(rank_)) std::memcpy(call.recv, out.data(), bytes);
  }
  void allGather(const DeviceCall& call) {
    if (!host_.meet(rank_, call)) return;
    const size_t bytes = call.count * typeSize(call.type);
    for (int r = 0; r < host_.ranks(); ++r) {
      char* const to = static_cast<char*>(call.recv) + static_cast<size_t>(r) * bytes;
      const void* const from = host_.callOf(r).send;
      if (to != from) std::memcpy(to, from, bytes);
    }
    host_.wait(rank_);
  }

  PretendedHost& host_;
  const int rank_;
  const std::atomic<bool>* const broken_;
};

}  // namespace rondo::testing
