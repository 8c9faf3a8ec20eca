#pragma once
// A device on which nothing runs, for what does not depend on it.

#include <span>

#include "coll/device_runner.h"

namespace rondo::testing {

class IdleRunner : public DeviceRunner {
 public:
  int device() const override { return 0; }
  DeviceServed run(const DeviceCall&) override { return {}; }
  void exchange(const char*, std::span<const Transfer>, std::span<const rondoStream_t>) override {}
  void exchangeInPlace(const char*, std::span<const Transfer>, rondoStream_t) override {}
  void order(rondoStream_t, rondoStream_t) override {}
  uint64_t serial() const override { return 1; }
  void check() const override {}
  void abort() noexcept override {}
  DeviceChoice choose(const DeviceRequest&) const override { return {}; }
  void startEpochsAt(uint32_t) override {}
};

}  // namespace rondo::testing
