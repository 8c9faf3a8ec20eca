#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "coll/device_error.h"
#include "coll/far_device.h"

#include "base/error.h"

#ifdef HAVE_CUDA

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "coll/device_budget.h"
#include "coll/device_scaled.h"
#include "coll/stream_pool.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"
#include "kernels/scale.h"
#include "p2p/cuda_device.h"
#include "p2p/cuda_memory.h"

namespace rondo {
namespace {

template <class Body, class Join>
void joined(const Body& body, const Join& join) {
  try {
    body();
  } catch (...) {
    try {
      join();
    } catch (const Error&) {  // the first cause counts
    }
    throw;
  }
  join();
}

class CudaFarDevice : public FarDevice {
 public:
  explicit CudaFarDevice(const DeviceConfig& config)
      : device_(CudaDevice::open(config.device, config.localRank)) {
    const CapturesAlone alone;
    const ContextScope scope(device_.context());
    int blocksAtOnce = 0, processors = 1;
    throwCuda("loading the kernels", loadFar(&blocksAtOnce, &processors));
    throwCuda("loading the kernels", loadScale());
    throwCuda("making an event", makeEvent(&event_));
    pool_.make();
    if (config.inLevels) makeSide();
    wanted_ = config.smBudget * (blocksAtOnce / processors);
    most_ = config.smMost * (blocksAtOnce / processors);
    room_ = DeviceBudget::room(device_.ordinal(), blocksAtOnce);
  }
  ~CudaFarDevice() override {
    endsAlone_.emplace();
    try {
      device_.synchronize();
    } catch (const Error&) {
      return;  // the context is gone, and all that is in it
    }
    const ContextScope scope(device_.context());
    freeEvent(event_);
    freeStream(side_);
    pool_.free();
  }

  int ordinal() const override { return device_.ordinal(); }
  DeviceTenant tenant() const override {
    return {device_.uuid(), processTag(), device_.runsProcessesTogether() ? 1 : 0};
  }
  void claim(const DeviceSharers& sharers) override {
    DeviceBudget::sharedBy(device_.ordinal(), sharers.processes);
    const int share = room_.share(sharers);
    const int all = DeviceBudget::carrying(share, wanted_, most_);
    if (all > share || !budget_.take(device_.ordinal(), room_.total, all)) {
      throw Error(rondoUnhandledCudaError,
                  format("the device %s, and this communicator wants %d; allowed: fewer ranks on "
                         "the device, communicators alive or a smaller config.smBudget "
                         "(RONDO_SM_BUDGET)",
                         room_.text(sharers).c_str(), all));
    }
    blocks_ = all / 2;
  }
  int blocks() const override { return blocks_; }

  Memory pinned(uint64_t bytes) override {
    const CapturesAlone alone;
    pinned_.push_back(std::make_shared<PinnedMemory>(device_, bytes));
    return {static_cast<unsigned char*>(pinned_.back()->host()),
            static_cast<unsigned char*>(pinned_.back()->device()), pinned_.back()};
  }
  uint32_t* counters(uint64_t words) override {
    const CapturesAlone alone;
    counters_.push_back(
        allocateDevice(device_, words * sizeof(uint32_t), DeviceMemory::Sharing::kLegacyIpc));
    return reinterpret_cast<uint32_t*>(counters_.back()->data());
  }
  void setCounters(uint32_t* at, uint32_t value, uint64_t words) override {
    fillDevice(device_, at, value, words);
  }

  void launch(const FarCall& call, int blocks, rondoStream_t stream) override {
    const ContextScope scope(device_.context());
    checkStream(device_, call.name, stream);
    throwCuda(call.name, "launching the kernel", launchFar(call, blocks, stream));
  }
  void launch(const char* name, const FarExchangeCall& call, int blocks,
              rondoStream_t stream) override {
    const ContextScope scope(device_.context());
    checkStream(device_, name, stream);
    throwCuda(name, "launching sends and receives", launchFarExchange(call, blocks, stream));
  }
  void copy(const char* name, void* to, const void* from, uint64_t bytes,
            rondoStream_t stream) override {
    const ContextScope scope(device_.context());
    throwCuda(name, "copying within the device", copyOnStream(to, from, bytes, stream));
  }
  void multiply(const DeviceCall& call, void* into, uint64_t count) override {
    const ContextScope scope(device_.context());
    throwCuda(call.name, "launching the kernel that multiplies",
              multiplyOnDevice(call, into, count));
  }
  void* allocate(const DeviceCall& call, uint64_t bytes) override {
    const ContextScope scope(device_.context());
    void* memory = nullptr;
    checkStream(device_, call.name, call.stream);
    if (const int error = pool_.allocate(&memory, bytes, call.stream); error != 0) {
      rondo::throwCuda(device_,
                       format("%s: %llu bytes of memory for the time of the call", call.name,
                              static_cast<unsigned long long>(bytes)),
                       error);
    }
    return memory;
  }
  void release(const DeviceCall& call, void* memory) override {
    const ContextScope scope(device_.context());
    throwCuda(call.name, "freeing its memory", freeOnStream(memory, call.stream));
  }
  void order(const char* name, rondoStream_t first, rondoStream_t later) override {
    const ContextScope scope(device_.context());
    throwCuda(name, "ordering two streams", orderStreams(first, later, event_));
  }
  void beside(const char* name, rondoStream_t stream,
              const std::function<void(rondoStream_t)>& branch,
              const std::function<void()>& main) override {
    checkStream(device_, name, stream);
    if (captures(stream)) return besideInGraph(name, stream, branch, main);
    order(name, stream, side_);
    joined(
        [&] {
          branch(side_);
          main();
        },
        [&] { order(name, side_, stream); });
  }
  bool captures(rondoStream_t stream) override {
    const ContextScope scope(device_.context());
    return streamCaptures(stream);
  }
  void synchronize() override { device_.synchronize(); }

  MemoryKind memoryKind() const override { return MemoryKind::Cuda; }
  bool seesCardWrites() const override { return cardWrites_ != CudaDevice::CardWrites::Unseen; }
  void settleCardWrites() override {
    if (cardWrites_ == CudaDevice::CardWrites::Flushed) device_.flushCardWrites();
  }

 private:
  /// Its first launch may wait for kernels that run: that is now.
  void makeSide() {
    throwCuda("making a stream", makeStream(&side_));
    throwCuda("launching a kernel", copyByKernel(nullptr, nullptr, 0, side_));
  }
  /// Without the stream, which could be in one capture at a time, and in no launch meanwhile.
  void besideInGraph(const char* name, rondoStream_t stream,
                     const std::function<void(rondoStream_t)>& branch,
                     const std::function<void()>& main) {
    CaptureTips before, branched;
    tipsOf(name, stream, &before);
    branch(stream);
    tipsOf(name, stream, &branched);
    setTips(name, stream, before);
    joined(main, [&] {
      CaptureTips both;
      tipsOf(name, stream, &both);
      for (CUgraphNode_st* tip : branched) {
        if (std::find(both.begin(), both.end(), tip) == both.end()) both.push_back(tip);
      }
      setTips(name, stream, both);
    });
  }
  void tipsOf(const char* name, rondoStream_t stream, CaptureTips* tips) const {
    const ContextScope scope(device_.context());
    throwCuda(name, "looking at the capture", captureTips(stream, tips));
  }
  void setTips(const char* name, rondoStream_t stream, const CaptureTips& tips) const {
    const ContextScope scope(device_.context());
    throwCuda(name, "branching the capture", setCaptureTips(stream, tips));
  }
  void throwCuda(const std::string& what, int error) const {
    rondo::throwCuda(device_, what, error);
  }
  void throwCuda(const char* name, const char* what, int error) const {
    if (error != 0) rondo::throwCuda(device_, format("%s: %s", name, what), error);
  }

  std::optional<CapturesAlone> endsAlone_;  // of the destructor; the first here, so the last to go
  CudaDevice device_;
  const CudaDevice::CardWrites cardWrites_ = device_.cardWrites();
  int wanted_ = 0;     ///< config.smBudget, as blocks.
  int most_ = 0;       ///< DeviceConfig::smMost, as blocks.
  DeviceRoom room_{};  ///< When it was opened.
  DeviceBudget budget_;
  int blocks_ = 1;
  CUevent_st* event_ = nullptr;
  StreamPool pool_;
  CUstream_st* side_ = nullptr;  ///< Of levels: what runs beside their caller's stream.
  std::vector<std::shared_ptr<PinnedMemory>> pinned_;
  std::vector<std::shared_ptr<DeviceMemory>> counters_;
};

}  // namespace

std::unique_ptr<FarDevice> openFarDevice(const DeviceConfig& config) {
  return std::make_unique<CudaFarDevice>(config);
}

}  // namespace rondo

#else

namespace rondo {

std::unique_ptr<FarDevice> openFarDevice(const DeviceConfig&) {
  throw Error(rondoUnsupported, "this build of Rondo has no CUDA kernels");
}

}  // namespace rondo

#endif  // HAVE_CUDA
