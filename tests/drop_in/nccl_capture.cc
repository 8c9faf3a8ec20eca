// What libnccl.so.2 makes of a stream that is captured, and of the legacy one meanwhile: its own
// use of the driver, with a stub for it. Built by nccl_virtual.sh from the library's source.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "drop_in/nccl/driver.h"
#include "drop_in/nccl/streams.h"

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("wrong: %s\n", what);
}

/// What the library says of a call on the streams; empty: nothing.
std::string refused(const rondo::nccl::Place& place, std::vector<CUstream_st*> streams) {
  rondo::nccl::StreamOrder order;
  try {
    order.before(streams, place);
    order.after(streams, place);
    return "";
  } catch (const rondo::Error& error) {
    expect(error.code() == rondoInvalidUsage, "the code");
    return error.sentence();
  }
}

void ofGroups(CUstream_st* captured, CUstream_st* other) {
  const rondo::nccl::Place first = rondo::nccl::placeOf(0), second = rondo::nccl::placeOf(1);
  expect(refused(first, {captured, captured}).empty(), "one graph's streams");
  expect(refused(first, {other, other}).empty(), "no graph's streams");
  for (const auto& mixed : {std::vector{captured, other}, std::vector{other, captured}}) {
    const std::string said = refused(first, mixed);
    expect(said.find("some are and some are not; allowed: none") != std::string::npos,
           said.c_str());
  }
  // Whatever the thread's device is.
  for (const rondo::nccl::Place& current : {first, second}) {
    rondo::nccl::enter(current);
    for (CUstream_st* const legacy : {static_cast<CUstream_st*>(nullptr), rondo::nccl::kLegacy}) {
      expect(!refused(first, {legacy}).empty(), "the legacy stream of a device that captures");
      expect(refused(second, {legacy}).empty(), "the legacy stream of another one");
    }
  }
}

/// The driver refuses the usual way while something captures.
void ofWaits() {
  try {
    rondo::nccl::waitForDevice();
  } catch (const rondo::Error& error) {
    expect(false, error.sentence().c_str());
  }
}

}  // namespace

int main() {
  auto* const stream = reinterpret_cast<CUstream_st*>(0x100);
  expect(rondo::nccl::hasDevices(), "the stub is a driver");
  expect(rondo::nccl::captureOf(stream) == 0, "nothing captures");
  expect(rondo::nccl::captureOf(nullptr) == 0, "nothing captures, of the legacy stream");
  setenv("STUB_CUDA_CAPTURES", "1", 1);
  expect(rondo::nccl::captureOf(stream) == 7, "a stream captures");
  try {
    rondo::nccl::captureOf(nullptr);
    expect(false, "the legacy stream is refused during a capture");
  } catch (const rondo::Error& error) {
    const std::string said = error.sentence();
    expect(error.code() == rondoInvalidUsage, "the code");
    expect(said.find("argument stream is the legacy stream (NULL)") == 0 &&
               said.find("allowed: the captured stream") != std::string::npos,
           said.c_str());
  }
  setenv("STUB_CUDA_CAPTURES", "0x100", 1);
  ofGroups(stream, reinterpret_cast<CUstream_st*>(0x200));
  ofWaits();
  unsetenv("STUB_CUDA_CAPTURES");
  ofWaits();
  return failures != 0;
}
