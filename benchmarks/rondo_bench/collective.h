#pragma once
// What the suite needs to know of a collective, and of a library that performs it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/rondo.h"

namespace rondo::bench {

/// One collective with its type, operator and number of ranks bound: how large its buffers are and
/// what belongs into them. `bytes` is the size that a row is about; `phase` makes the values of
/// different buffers differ. All pointers are host addresses.
class Collective {
 public:
  virtual ~Collective() = default;

  virtual size_t sendBytes(size_t bytes) const = 0;
  virtual size_t recvBytes(size_t bytes) const = 0;

  /// Bytes each rank's link has to carry for a row of `bytes`, as nccl-tests defines bus bandwidth.
  virtual double busBytes(size_t bytes) const = 0;

  virtual void fillSend(void* send, size_t bytes, size_t phase) const = 0;

  /// Fills a result buffer with elements all of which are wrong.
  virtual void poison(void* recv, size_t bytes, size_t phase) const = 0;

  /// Number of elements of the result that are not what they must be, in any bit.
  virtual uint64_t countWrong(const void* recv, size_t bytes, size_t phase) const = 0;
};

/// The arguments of one call; collectives use those that they have.
struct CallArgs {
  const void* send;
  void* recv;
  size_t count;
  rondoDataType_t type;
  rondoRedOp_t op;
  rondoStream_t stream;
};

/// A library that is timed: its name in the rows, and its call. The call throws RunError.
struct Contender {
  std::string library;
  std::function<void(const CallArgs&)> call;
};

}  // namespace rondo::bench
