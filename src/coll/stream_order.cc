#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/stream_order.h"

#include <utility>

#include "base/error.h"
#include "coll/close_launch.h"
#include "coll/device_error.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"

namespace rondo {

void StreamOrder::make() { throwCuda(device_, "making an event", makeEvent(&event_)); }

void StreamOrder::free() { freeEvent(std::exchange(event_, nullptr)); }

int StreamOrder::wait(rondoStream_t first, rondoStream_t later) const {
  close_.forget();
  return orderStreams(first, later, event_);
}

void StreamOrder::order(rondoStream_t first, rondoStream_t later) const {
  throwCuda(device_, "ordering two streams", wait(first, later));
}

void StreamOrder::around(const char* name, rondoStream_t launch, rondoStream_t other,
                         bool after) const {
  if (other == launch) return;
  // One that is not captured yet joins the capture behind the launch.
  if (!after && streamCaptures(launch) && !streamCaptures(other)) return;
  throwCuda(device_, name, "ordering two streams",
            wait(after ? launch : other, after ? other : launch));
}

void StreamOrder::around(const char* name, std::span<const DeviceCall> calls, bool after) const {
  const rondoStream_t first = calls.front().stream;
  rondoStream_t last = first;
  for (const DeviceCall& call : calls.subspan(1)) {
    if (call.stream == first || call.stream == last) continue;
    last = call.stream;
    around(name, first, last, after);
  }
}

}  // namespace rondo

#endif  // HAVE_CUDA
