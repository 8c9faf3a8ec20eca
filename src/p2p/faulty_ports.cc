#include "p2p/faulty_ports.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/hash.h"

namespace rondo {
namespace {

/// One port's delays: how often the message at hand is still to be refused.
class Delay {
 public:
  Delay(const Faults& faults, const PortId& id)
      : least_(faults.leastDelay), span_(uint64_t{faults.mostDelay} - faults.leastDelay + 1) {
    state_ = mixBits(faults.seed + 1);
    for (const int part : {id.rank, id.lane, id.peer, id.sends ? 1 : 0, id.everyone ? 1 : 0}) {
      state_ = mixBits(state_ * 31 + static_cast<uint64_t>(part + 2));
    }
    next();
  }
  /// One poll: true while it is to fail.
  bool holds() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  /// Draws for the next message.
  void next() {
    state_ += 0x9e3779b97f4a7c15;
    left_ = least_ + mixBits(state_) % span_;
  }

 private:
  uint64_t least_, span_, state_, left_ = 0;
};

class FaultySendPort final : public SendPort {
 public:
  FaultySendPort(const PortId& id, std::unique_ptr<SendPort> port, Faults faults)
      : port_(std::move(port)), faults_(std::move(faults)), delay_(faults_, id) {
    if (faults_.swap != Faults::kNever || faults_.corrupt != Faults::kNever) {
      throw std::invalid_argument("injectFaults: only reading ends swap and corrupt messages");
    }
  }

  void* tryAcquire(size_t bytes) override { return refuses() ? nullptr : port_->tryAcquire(bytes); }
  void post(size_t bytes, void* landing) override {
    // Died since it acquired the space, perhaps.
    if (!dead() && number_ != faults_.drop) port_->post(bytes, landing);
    sent();
  }
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override {
    if (refuses()) return false;
    if (number_ != faults_.drop && !port_->tryPostInPlace(data, bytes, landing, run)) return false;
    sent();
    return true;
  }
  bool reaches(const void* data, size_t bytes) const override {
    return port_->reaches(data, bytes);
  }
  bool drained() override { return port_->drained(); }
  uint64_t released() const override { return port_->released(); }

 private:
  bool dead() const { return faults_.life != nullptr && faults_.life->over(); }
  bool refuses() { return dead() || delay_.holds(); }
  void sent() {
    ++number_;
    delay_.next();
    if (faults_.life != nullptr) faults_.life->spend();
  }

  std::unique_ptr<SendPort> port_;
  Faults faults_;
  Delay delay_;
  uint64_t number_ = 0;
};

class FaultyRecvPort final : public RecvPort {
 public:
  FaultyRecvPort(const PortId& id, std::unique_ptr<RecvPort> port, Faults faults, size_t longest)
      : port_(std::move(port)),
        faults_(std::move(faults)),
        delay_(faults_, id),
        longest_(longest) {}

  bool tryPeek(Message* message) override {
    if (faults_.life != nullptr && faults_.life->over()) return false;
    if (!there_ && !(there_ = fetch())) return false;
    if (delay_.holds()) return false;
    *message = current_;
    return true;
  }
  void release() override {
    if (!ownTurn_) {
      port_->release();
      ++number_;
    }
    // The one that was swapped away comes next.
    ownTurn_ = std::exchange(keptWaits_, false);
    there_ = false;
    delay_.next();
    if (faults_.life != nullptr) faults_.life->spend();
  }

 private:
  /// Makes the next message to be shown the current one.
  bool fetch() {
    if (ownTurn_) {
      current_ = kept_;
      return true;
    }
    if (!port_->tryPeek(&current_)) return false;
    if (number_ == faults_.drop) return skip();
    if (number_ == faults_.swap) {
      kept_ = copyOf(current_, swapSpace_);
      keptWaits_ = true;
      return skip();
    }
    if (number_ >= faults_.corrupt && current_.bytes > 0) {
      faults_.corrupt = Faults::kNever;
      current_ = copyOf(current_, corruptSpace_);
      corruptSpace_[current_.bytes / 2] ^= 0x10;
    }
    return true;
  }
  bool skip() {
    port_->release();
    ++number_;
    return false;
  }
  /// A reader may take a message out of place for a longer one: the space is always the longest.
  Message copyOf(const Message& message, std::vector<unsigned char>& space) const {
    space.assign(std::max(longest_, message.bytes), 0);
    if (message.bytes > 0) std::memcpy(space.data(), message.data, message.bytes);
    return {space.data(), message.bytes, message.stamp, message.landing, message.left};
  }

  std::unique_ptr<RecvPort> port_;
  Faults faults_;
  Delay delay_;
  size_t longest_;
  uint64_t number_ = 0;     // of the port's message at hand
  bool there_ = false;      // current_ is what to show, or is late
  bool ownTurn_ = false;    // kept_ is what to show, and the port knows nothing of it
  bool keptWaits_ = false;  // kept_ comes after the message at hand
  Message current_{};
  Message kept_{};
  std::vector<unsigned char> swapSpace_;
  std::vector<unsigned char> corruptSpace_;
};

/// Wraps either kind of port.
struct Injector {
  const std::function<Faults(const PortId&)>& faults;
  size_t longest;

  std::unique_ptr<SendPort> operator()(const PortId& id, std::unique_ptr<SendPort> port) const {
    return std::make_unique<FaultySendPort>(id, std::move(port), faults(id));
  }
  std::unique_ptr<RecvPort> operator()(const PortId& id, std::unique_ptr<RecvPort> port) const {
    return std::make_unique<FaultyRecvPort>(id, std::move(port), faults(id), longest);
  }
};

}  // namespace

void injectFaults(Channels& channels, int rank,
                  const std::function<Faults(const PortId&)>& faults) {
  decoratePorts(channels, rank, Injector{faults, static_cast<size_t>(channels.chunkBytes)});
}

}  // namespace rondo
