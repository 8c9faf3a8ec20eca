// What libnccl.so.2 makes of a stream that is captured, and of the legacy one meanwhile: its own
// use of the driver, with a stub for it. Built by nccl_virtual.sh from the library's source.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "drop_in/nccl/driver.h"

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("wrong: %s\n", what);
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
  return failures != 0;
}
