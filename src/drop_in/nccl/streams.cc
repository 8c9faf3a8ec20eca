#include "drop_in/nccl/streams.h"

#include <utility>

#include "base/error.h"

namespace rondo::nccl {

uint64_t StreamOrder::captureOf(std::span<CUstream_st* const> streams, const Place& place) {
  const uint64_t first = captureOf(streams[0], place);
  for (CUstream_st* const each : streams.subspan(1)) {
    if (captureOf(each, place) == first) continue;
    throw Error(
        rondoInvalidUsage,
        "the group's streams for a communicator are captured into different graphs, or some "
        "are and some are not; allowed: none, or all into one graph");
  }
  return first;
}

void StreamOrder::turnTo(std::span<CUstream_st* const> streams, const Place& place) {
  const InContext context(place.context);
  if (streams.size() > 1) several_ = true;
  if (captured_ == 0) {
    waitForEager(streams, place);
    eager_ = {true, streams[0]};
    return;
  }
  if (inGraph_.used && graph_ == captured_) {
    for (CUstream_st* const stream : streams) {
      if (stream != inGraph_.stream) orderStreams(inGraph_.stream, stream, &graphMark_);
    }
  }
  graph_ = captured_;
  inGraph_ = {true, streams[0]};
}

/// The first time that there is another stream, nothing was left on the one before: then what the
/// whole context has is waited for, on the streams.
void StreamOrder::waitForEager(std::span<CUstream_st* const> streams, const Place& place) {
  if (!eager_.used) return;
  bool found = marked_;
  for (CUstream_st* const stream : streams) {
    if (stream == eager_.stream) continue;
    several_ = true;
    if (!found) markContext(place.context, &mark_);
    found = true;
    waitForMark(stream, mark_);
  }
}

void StreamOrder::mark(std::span<CUstream_st* const> streams, const Place& place) {
  const InContext context(place.context);
  CUevent_st** const event = captured_ == 0 ? &mark_ : &graphMark_;
  for (CUstream_st* const other : streams.subspan(1)) orderStreams(other, streams[0], event);
  if (captured_ != 0) return;
  markStream(streams[0], &mark_);
  marked_ = true;
}

void StreamOrder::drain(const Place& place) const {
  if (place.context == nullptr || !eager_.used) return;
  const InContext context(place.context);
  if (marked_) {
    waitOnHost(mark_);
  } else {
    waitForDevice();
  }
}

void StreamOrder::reset() {
  destroyEvent(std::exchange(mark_, nullptr));
  destroyEvent(std::exchange(graphMark_, nullptr));
  eager_ = inGraph_ = {};
  graph_ = captured_ = 0;
  several_ = marked_ = false;
}

}  // namespace rondo::nccl
