#include "drop_in/nccl/streams.h"

#include <utility>

namespace rondo::nccl {

void StreamOrder::turnTo(std::span<CUstream_st* const> streams, const Place& place) {
  if (place.context != nullptr && !streams_.empty()) {
    const InContext context(place.context);
    if (event_ == nullptr) event_ = makeEvent();
    for (CUstream_st* const first : streams_) {
      for (CUstream_st* const later : streams) {
        if (first != later) order(first, later);
      }
    }
  }
  streams_.assign(streams.begin(), streams.end());
  only_ = streams_.size() == 1;
  last_ = streams_.front();
}

/// A stream outside of a capture cannot wait for one inside, nor the other way round: there the
/// program says what a graph runs after.
void StreamOrder::order(CUstream_st* first, CUstream_st* later) const {
  bool firstSound = false, laterSound = false;
  const uint64_t before = captureOf(first, &firstSound), now = captureOf(later, &laterSound);
  if (!firstSound) {  // destroyed, which does not end its work
    if (now == 0) waitForDevice();
    return;
  }
  if (before == now) orderStreams(first, later, event_);
}

void StreamOrder::drain(const Place& place) const {
  if (place.context == nullptr) return;
  const InContext context(place.context);
  for (CUstream_st* const stream : streams_) {
    bool sound = false;
    if (captureOf(stream, &sound) != 0) continue;
    if (sound) {
      waitForStream(stream);
    } else {
      waitForDevice();
    }
  }
}

void StreamOrder::reset() {
  destroyEvent(std::exchange(event_, nullptr));
  only_ = false;
  streams_.clear();
}

}  // namespace rondo::nccl
