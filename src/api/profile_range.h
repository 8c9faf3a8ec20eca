#pragma once
// NVTX ranges: every call is one in the domain "Rondo" while a profiler listens (Nsight Systems, or
// whatever NVTX_INJECTION64_PATH names). Without, and in builds without NVTX's header, nothing.

#include <atomic>
#include <cstdint>
#include <span>

#include "coll/exchange.h"

namespace rondo {

/// What goes with a range, as its payload's fields. Registered as schema "RondoCall".
struct RangePayload {
  uint64_t bytes = 0;  ///< Of a slot; of all transfers.
  uint64_t count = 0;  ///< Elements of it; 0 for transfers.
  int32_t op = -1;     ///< rondoRedOp_t; -1: nothing is reduced.
  int32_t root = -1;
  int32_t peer = -1;  ///< Of the first transfer.
  int32_t rank = -1;  ///< The caller.

  static RangePayload of(std::span<const Transfer> transfers, int rank);
};

namespace profile_detail {
/// The domain; nullptr: nobody listens.
extern std::atomic<void*> domain;
void push(void* domain, const char* call, const RangePayload& payload);
void pop(void* domain);
}  // namespace profile_detail

/// Asks, once, whether somebody listens. Before the first collective.
void openProfiler();

inline bool profilerListens() {
  return profile_detail::domain.load(std::memory_order_relaxed) != nullptr;
}

/// A range around a scope. `payload()` is not called where nobody listens.
class ProfileRange {
 public:
  template <class Payload>
  ProfileRange(const char* call, const Payload& payload)
      : domain_(profile_detail::domain.load(std::memory_order_relaxed)) {
    if (domain_ != nullptr) [[unlikely]]
      profile_detail::push(domain_, call, payload());
  }
  ~ProfileRange() {
    if (domain_ != nullptr) [[unlikely]]
      profile_detail::pop(domain_);
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

 private:
  void* domain_;
};

/// The same for a call that makes or ends a communicator, which may be the first one.
class LifeRange {
 public:
  explicit LifeRange(const char* call) : range_(opened(call), [] { return RangePayload{}; }) {}

 private:
  static const char* opened(const char* call) {
    openProfiler();
    return call;
  }
  const ProfileRange range_;
};

}  // namespace rondo
