#include "p2p/mixed_ports.h"

#include <cstring>
#include <utility>

namespace rondo {
namespace {

/// Calls the network now and then.
class Helper {
 public:
  explicit Helper(FarTransport& far) : far_(far) {}
  void waited() {
    if (++looks_ % kLooksBeforeProgress == 0) far_.progress();
  }

 private:
  FarTransport& far_;
  uint32_t looks_ = 0;
};

class HelpingSendPort final : public SendPort {
 public:
  HelpingSendPort(std::unique_ptr<SendPort> port, FarTransport& far)
      : port_(std::move(port)), helper_(far) {}

  void* tryAcquire(size_t bytes) override {
    void* space = port_->tryAcquire(bytes);
    if (space == nullptr) helper_.waited();
    way_ = port_->way();
    return space;
  }
  void post(size_t bytes, void* landing) override { port_->post(bytes, landing); }
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override {
    return helped(port_->tryPostInPlace(data, bytes, landing, run));
  }
  bool reaches(const void* data, size_t bytes) const override {
    return port_->reaches(data, bytes);
  }
  bool drained() override { return helped(port_->drained()); }
  uint64_t released() const override { return port_->released(); }

 private:
  bool helped(bool done) {
    if (!done) helper_.waited();
    return done;
  }

  std::unique_ptr<SendPort> port_;
  Helper helper_;
};

class HelpingRecvPort final : public RecvPort {
 public:
  HelpingRecvPort(std::unique_ptr<RecvPort> port, FarTransport& far)
      : port_(std::move(port)), helper_(far) {}

  bool tryPeek(Message* message) override {
    if (port_->tryPeek(message)) return true;
    helper_.waited();
    return false;
  }
  void release() override { port_->release(); }

 private:
  std::unique_ptr<RecvPort> port_;
  Helper helper_;
};

/// Space is the near port's; what was written there is copied for the far ranks, over whose network
/// it takes many times as long.
class MixedSendPort final : public SendPort {
 public:
  MixedSendPort(std::unique_ptr<SendPort> near, std::unique_ptr<SendPort> far)
      : near_(std::move(near)), far_(std::move(far)) {}

  void* tryAcquire(size_t bytes) override {
    farSpace_ = far_->tryAcquire(bytes);
    if (farSpace_ == nullptr) return nullptr;
    return nearSpace_ = near_->tryAcquire(bytes);
  }
  void post(size_t bytes, void* landing) override {
    if (bytes > 0) std::memcpy(farSpace_, nearSpace_, bytes);
    near_->post(bytes, landing);
    far_->post(bytes, nullptr);
  }
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override {
    // The far port has to have room before the near one posts, which cannot be taken back.
    if (far_->tryAcquire(0) == nullptr) return false;
    if (!near_->tryPostInPlace(data, bytes, landing, run)) return false;
    return far_->tryPostInPlace(data, bytes, nullptr, run);
  }
  bool reaches(const void* data, size_t bytes) const override {
    return near_->reaches(data, bytes) && far_->reaches(data, bytes);
  }
  bool drained() override {
    // Both, so that both move.
    const bool far = far_->drained();
    return near_->drained() && far;
  }

 private:
  std::unique_ptr<SendPort> near_, far_;
  void* nearSpace_ = nullptr;
  void* farSpace_ = nullptr;
};

}  // namespace

std::unique_ptr<SendPort> mixedSendPort(std::unique_ptr<SendPort> near,
                                        std::unique_ptr<SendPort> far) {
  return std::make_unique<MixedSendPort>(std::move(near), std::move(far));
}

std::unique_ptr<SendPort> helpingSendPort(std::unique_ptr<SendPort> near, FarTransport& far) {
  return std::make_unique<HelpingSendPort>(std::move(near), far);
}

std::unique_ptr<RecvPort> helpingRecvPort(std::unique_ptr<RecvPort> near, FarTransport& far) {
  return std::make_unique<HelpingRecvPort>(std::move(near), far);
}

}  // namespace rondo
