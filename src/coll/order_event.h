#pragma once
// The event by which a runner orders streams.

#include "kernels/direct_call.h"

namespace rondo {

class OrderEvent {
 public:
  OrderEvent() = default;
  OrderEvent(const OrderEvent&) = delete;
  OrderEvent& operator=(const OrderEvent&) = delete;
  ~OrderEvent() { freeEvent(event_); }
  int make() { return makeEvent(&event_); }
  /// Its context is gone, and the driver does not look before it touches what went with it.
  void leave() { event_ = nullptr; }
  CUevent_st* get() const { return event_; }

 private:
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo
