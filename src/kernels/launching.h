#pragma once
// In which manner a kernel is launched. Needs no CUDA header.

#include <array>
#include <cstddef>
#include <cstdint>

struct CUfunc_st;

namespace rondo {

/// What the driver calls the kernels of one context. Launches by the runtime name a kernel, and the
/// driver looks that name up each time: some 200 letters of a template's instance, a third of a
/// microsecond of three (H200, driver 580, 2026-11-27). Calls come from one thread at a time, with
/// the context current.
class KernelHandles {
 public:
  /// nullptr: the driver does not say; it is to be launched by the runtime.
  CUfunc_st* of(const void* function) {
    const size_t from = (reinterpret_cast<uintptr_t>(function) * 0x9e3779b97f4a7c15u) >> 58;
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[(from + i) % entries_.size()];
      if (entry.function == nullptr) entry = {function, ask(function)};
      if (entry.function == function) return entry.handle;
    }
    return ask(function);
  }

 private:
  struct Entry {
    const void* function = nullptr;
    CUfunc_st* handle = nullptr;
  };
  static CUfunc_st* ask(const void* function);
  std::array<Entry, 64> entries_{};  // from a hash of the function on
};

/// What a kernel's call says of those before and behind it (CallArgs::close), where
/// launchesClose(): it waits for the end of the one before it and for all that that one wrote
/// before it does anything else, and only then lets the one behind it be placed. So of a stream two
/// such kernels at most are on a device.
constexpr int32_t kFollows = 1, kLets = 2;

struct Launching {
  /// The kernel's blocks may be placed once all blocks of the one before it in the stream have let
  /// it or ended. Its call has to say kFollows.
  bool close = false;
  KernelHandles* handles = nullptr;  ///< Of the current context; nullptr: launched by the runtime.
};

}  // namespace rondo
