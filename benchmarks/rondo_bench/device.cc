#include "device.h"

#include "errors.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

CuPointer address(const void* pointer) { return reinterpret_cast<CuPointer>(pointer); }

}  // namespace

Device::Device(const Session& session) {
  int ordinal = RONDO_DEVICE_NONE;
  checkRondo(rondoCommCuDevice(session.rondo(), &ordinal), "rondoCommCuDevice", session.rondo());
  if (ordinal < 0) {
    throw UsageError("--memory device: rank " + std::to_string(session.rank()) +
                     "'s communicator has no CUDA device; allowed here are host and rondo");
  }
  cuda_.check(cuda_.deviceGet(&device_, ordinal), "cuDeviceGet");
  char name[256] = {};
  cuda_.check(cuda_.deviceGetName(name, sizeof name, device_), "cuDeviceGetName");
  name_ = name;
  CuContext context = nullptr;
  cuda_.check(cuda_.primaryContextRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  cuda_.check(cuda_.contextSetCurrent(context), "cuCtxSetCurrent");
  constexpr unsigned kNonBlocking = 1;
  cuda_.check(cuda_.streamCreate(&stream_, kNonBlocking), "cuStreamCreate");
}

Device::~Device() {
  cuda_.streamDestroy(stream_);
  cuda_.primaryContextRelease(device_);
}

void Device::synchronize() const {
  cuda_.check(cuda_.streamSynchronize(stream_), "cuStreamSynchronize");
}

// Whole pages, as the allocators of frameworks have them: of an allocation that is not a multiple
// of 64 KiB long peers map small pages, and their copy engines reach three quarters of the
// bandwidth. They begin at such pages, too, but only of 512 bytes it is promised; shifted ones
// would not lie alike on all ranks, which windows need.
void* DeviceMemory::allocate(size_t bytes, size_t align) {
  constexpr size_t kPage = size_t{2} << 20, kPromised = 512;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  const CuPointer place = take(bytes);
  void* const memory = reinterpret_cast<void*>(place);
  if (align > kPromised && place % align != 0) {
    give(place);
    throw RunError("--align " + formatSize(align) + ": the device's memory begins elsewhere; " +
                   "allowed here is at most " + formatSize(kPromised));
  }
  if (comm_ != nullptr) {
    rondoRegistration_t number = 0;
    checkRondo(rondoCommRegister(comm_, memory, bytes, flags_, &number), "rondoCommRegister",
               comm_);
    registered_[memory] = number;
  }
  return memory;
}

void DeviceMemory::release(void* block) {
  const auto found = registered_.find(block);
  if (found != registered_.end()) {
    rondoCommDeregister(comm_, found->second);
    registered_.erase(found);
  }
  give(address(block));
}

// Windows cannot be shared by the handles of cuMemAlloc's memory.
CuPointer DeviceMemory::take(size_t bytes) {
  CuPointer block = 0;
  if (flags_ == RONDO_REGISTER_WINDOW) {
    void* memory = nullptr;
    checkRondo(rondoMemAllocDevice(&memory, bytes, RONDO_DEVICE_AUTO), "rondoMemAllocDevice",
               comm_);
    return address(memory);
  }
  device_.cuda().check(device_.cuda().memAlloc(&block, bytes), "cuMemAlloc");
  return block;
}

void DeviceMemory::give(CuPointer block) {
  if (flags_ == RONDO_REGISTER_WINDOW) {
    rondoMemFree(reinterpret_cast<void*>(block));
  } else {
    device_.cuda().memFree(block);
  }
}

void DeviceMemory::write(void* to, size_t bytes, const std::function<void(void*)>& produce) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  produce(scratch_.data());
  // On the default stream it may return before the last bytes of pageable memory are there, and
  // streams that do not wait for that one would read what was there before.
  const CudaDriver& cuda = device_.cuda();
  cuda.check(cuda.copyToDeviceAsync(address(to), scratch_.data(), bytes, device_.stream()),
             "cuMemcpyHtoDAsync");
  device_.synchronize();
}

void DeviceMemory::read(const void* from, size_t bytes,
                        const std::function<void(const void*)>& consume) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  device_.cuda().check(device_.cuda().copyToHost(scratch_.data(), address(from), bytes),
                       "cuMemcpyDtoH");
  consume(scratch_.data());
}

}  // namespace rondo::bench
