#pragma once
// Premultiplied sums on a device: the collective's kernel multiplies what it reads, or, for types
// that are rare, a kernel multiplies before the collective adds.

#include "api/types.h"
#include "coll/device_runner.h"
#include "coll/host_request.h"
#include "coll/plan.h"

namespace rondo {

struct Scale;

/// What a kernel that Reduces::kScaled is told; nothing for other calls.
Scale scaleOf(const DeviceCall& call);

/// Enqueues what multiplies `count` elements of what the rank gives into `into`. The current
/// context is the device's. Returns a cudaError_t.
int multiplyOnDevice(const DeviceCall& call, void* into, uint64_t count);

/// The products go where the result will come, if all of them fit there and this rank gets one;
/// else to memory of their own, which stream order allows to be gone when the call returns.
/// `device` has multiply(), allocate() and release() as FarDevice has; run(sum) adds.
template <class Device, class Run>
DeviceServed runScaledSum(const DeviceCall& call, const RankPlace& place, Device& device,
                          const Run& run) {
  const bool all = call.collective == Collective::ReduceScatter;
  const uint64_t count = call.count * (all ? static_cast<uint64_t>(place.size) : 1);
  DeviceCall sum = call;
  sum.op = rondoSum;
  sum.scaled = nullptr;
  const bool gets = call.collective == Collective::AllReduce ||
                    (call.collective == Collective::Reduce && call.root == place.rank);
  if (gets) {
    device.multiply(call, call.recv, count);
    sum.send = call.recv;
    return run(sum);
  }
  void* const products = device.allocate(call, count * typeSize(call.type));
  sum.send = products;
  DeviceServed served;
  try {
    device.multiply(call, products, count);
    served = run(sum);
  } catch (...) {
    device.release(call, products);
    throw;
  }
  device.release(call, products);
  return served;
}

}  // namespace rondo
