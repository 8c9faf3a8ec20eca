#pragma once
// A library that performs calls, and one call's arguments.

#include <cstddef>
#include <functional>
#include <string>

#include "api/rondo.h"
#include "layout.h"

namespace rondo::bench {

/// The arguments of one call; benchmarks use those that they have.
struct CallArgs {
  const void* send = nullptr;  ///< nullptr where the rank has no such buffer.
  void* recv = nullptr;
  const Layout* layout = nullptr;
  rondoDataType_t type = rondoFloat32;
  size_t elementSize = 4;
  rondoRedOp_t op = rondoSum;
  int root = 0;
  int window = 1;
  int group = 1;  ///< Calls at once, each on its own part of the buffers.
  bool inPlace = false;
  rondoStream_t stream = nullptr;

  size_t count() const { return layout->count; }
  /// Message `i` of a window.
  const char* message(size_t i) const {
    return static_cast<const char*>(send) + i * count() * elementSize;
  }
  char* place(size_t i) const { return static_cast<char*>(recv) + i * count() * elementSize; }
  /// Call `i` of a group.
  CallArgs member(size_t i) const {
    CallArgs one = *this;
    one.group = 1;
    if (send != nullptr) {
      one.send = static_cast<const char*>(send) + i * layout->sendStep * elementSize;
    }
    if (recv != nullptr) one.recv = static_cast<char*>(recv) + i * layout->recvStep * elementSize;
    return one;
  }
};

inline constexpr const char* kMpiName = "mpi";
inline constexpr const char* kRondoName = "rondo";

/// A library that is timed: its name in the rows, and its call. The call throws RunError.
struct Contender {
  std::string library;
  std::function<void(const CallArgs&)> call;
};

/// What is done between a collective's start and its end; may call `poll` to let the library go on.
using Between = std::function<void(const std::function<void()>& poll)>;

}  // namespace rondo::bench
