#include "gpu/gpu_held.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rondo::testing {

void giveUp(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void need(cudaError_t error, const char* what) {
  if (error != cudaSuccess) giveUp(std::string(what) + ": " + cudaGetErrorString(error));
}

StormArena::StormArena(size_t bytes) : bytes_(bytes) {
  need(cudaMalloc(&device_, bytes), "cudaMalloc");
  need(cudaMallocHost(&host_, bytes), "cudaMallocHost");
}
StormArena::~StormArena() {
  cudaFree(device_);
  cudaFreeHost(host_);
}
size_t StormArena::take(size_t bytes) {
  const size_t at = used_;
  used_ += (bytes + 255) / 256 * 256;
  if (used_ > bytes_) giveUp("a storm needs more memory than it has set aside");
  return at;
}

GpuHeld::GpuHeld(const StormCall& issued, int ofRank, int ofSize, std::mt19937& own,
                 StormArena& arena)
    : StormHeld(issued, ofRank, ofSize, own) {
  if (call.onHost) return;
  if (!aliased) places_.push_back(placed(&send, arena));
  places_.push_back(placed(&recv, arena));
}

GpuHeld::Place GpuHeld::placed(StormBuffer* buffer, StormArena& arena) {
  constexpr size_t kLine = 64;
  const std::vector<char>& bytes = buffer->bytes();
  const size_t off = reinterpret_cast<uintptr_t>(bytes.data()) % kLine;
  const size_t at = arena.take(bytes.size() + kLine) + off;
  return {buffer, arena.device(at), arena.host(at)};
}

void GpuHeld::load(cudaStream_t stream) {
  for (const Place& each : places_) {
    const std::vector<char>& bytes = each.buffer->bytes();
    std::memcpy(each.host, bytes.data(), bytes.size());
    need(cudaMemcpyAsync(each.device, each.host, bytes.size(), cudaMemcpyHostToDevice, stream),
         "cudaMemcpyAsync");
  }
}
void GpuHeld::fetch(cudaStream_t stream) {
  for (const Place& each : places_) {
    need(cudaMemcpyAsync(each.host, each.device, each.buffer->bytes().size(),
                         cudaMemcpyDeviceToHost, stream),
         "cudaMemcpyAsync");
  }
}
void GpuHeld::take() {
  for (const Place& each : places_) {
    std::memcpy(each.buffer->bytes().data(), each.host, each.buffer->bytes().size());
  }
}

char* GpuHeld::onDevice(const char* at) const {
  for (const Place& each : places_) {
    const std::vector<char>& bytes = each.buffer->bytes();
    if (at >= bytes.data() && at < bytes.data() + bytes.size()) {
      return each.device + (at - bytes.data());
    }
  }
  giveUp("a pointer of a storm is in none of its buffers");
}
const char* GpuHeld::deviceFrom() const { return onDevice(from); }
char* GpuHeld::deviceTo() const { return onDevice(to); }

}  // namespace rondo::testing
