#include "p2p/trace_ports.h"

namespace rondo {
namespace {

class TraceSendPort final : public SendPort {
 public:
  TraceSendPort(const PortId& id, std::unique_ptr<SendPort> port, std::shared_ptr<MessageLog> log)
      : id_(id), port_(std::move(port)), log_(std::move(log)) {}

  void* tryAcquire(size_t bytes) override {
    void* const space = port_->tryAcquire(bytes);
    way_ = port_->way();
    return space;
  }
  void post(size_t bytes, void* landing) override {
    log_->enter({id_, bytes, false, landing != nullptr}, [&] {
      port_->post(bytes, landing);
      return true;
    });
  }
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override {
    return log_->enter(
        {id_, bytes, bytes > 0, landing != nullptr},
        [&] { return port_->tryPostInPlace(data, bytes, landing, run); }, run.blocks);
  }
  bool reaches(const void* data, size_t bytes) const override {
    return port_->reaches(data, bytes);
  }
  bool drained() override { return port_->drained(); }
  uint64_t released() const override { return port_->released(); }

 private:
  PortId id_;
  std::unique_ptr<SendPort> port_;
  std::shared_ptr<MessageLog> log_;
};

class TraceRecvPort final : public RecvPort {
 public:
  TraceRecvPort(const PortId& id, std::unique_ptr<RecvPort> port, std::shared_ptr<MessageLog> log)
      : id_(id), port_(std::move(port)), log_(std::move(log)) {}

  bool tryPeek(Message* message) override {
    if (!port_->tryPeek(message)) return false;
    seen_ = *message;
    return true;
  }
  void release() override {
    log_->enter({id_, seen_.bytes, false, seen_.landing != nullptr}, [&] {
      port_->release();
      return true;
    });
  }

 private:
  PortId id_;
  std::unique_ptr<RecvPort> port_;
  std::shared_ptr<MessageLog> log_;
  Message seen_{};
};

/// Wraps either kind of port.
struct Tracer {
  const std::shared_ptr<MessageLog>& log;

  std::unique_ptr<SendPort> operator()(const PortId& id, std::unique_ptr<SendPort> port) const {
    return std::make_unique<TraceSendPort>(id, std::move(port), log);
  }
  std::unique_ptr<RecvPort> operator()(const PortId& id, std::unique_ptr<RecvPort> port) const {
    return std::make_unique<TraceRecvPort>(id, std::move(port), log);
  }
};

}  // namespace

std::vector<TracedMessage> MessageLog::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(messages_, {});
}

void tracePorts(Channels& channels, int rank, const std::shared_ptr<MessageLog>& log) {
  decoratePorts(channels, rank, Tracer{log});
}

}  // namespace rondo
