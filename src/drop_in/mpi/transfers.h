#pragma once
// A v-collective between devices: Rondo has no kernels for it, but sends and receives, and a rank
// knows its own blocks. They become one launch.

#include <new>
#include <utility>
#include <vector>

#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/device_path.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

/// What this rank sends and receives. Blocks of no bytes are nothing, there and here.
class Transfers {
 public:
  /// Throw std::bad_alloc.
  void send(const Elements& block, int to) { add({block, to, true}); }
  void receive(const Elements& block, int from) { add({block, from, false}); }
  /// Where the blocks are.
  void describe(OwnMemory* mine) const {
    for (const One& one : all_) mine->add(one.block);
  }
  rondoResult_t run(rondoComm_t comm, rondoStream_t stream) const;

 private:
  struct One {
    Elements block;
    int peer;
    bool sends;
  };
  void add(const One& one) {
    if (one.block.bytes() > 0) all_.push_back(one);
  }
  std::vector<One> all_;
};

/// Between more devices of a host Rondo has no sends and receives, and only a rank that has some
/// would learn of it.
constexpr int kMostDevices = 16;

/// As overOnDevices(); fill(transfers) says what is to be moved, if ranks ask each other at all,
/// and whether it can be between devices.
template <class Answer, class Pass, class Fill>
bool overByTransfers(Attempt& call, const Answer& answer, const Pass& pass, const Fill& fill,
                     int* code) {
  if (!call.asksMemory() || call.size() > kMostDevices) [[likely]]
    return false;
  Transfers transfers;
  OwnMemory mine;
  try {
    if (!fill(transfers)) mine.refuse();
  } catch (const std::bad_alloc&) {
    mine.refuse();
  }
  transfers.describe(&mine);
  if constexpr (Answer::kMayAsk) {
    const auto run = [&](rondoComm_t comm, rondoStream_t stream) {
      return transfers.run(comm, stream);
    };
    return call.over(mine, pass, run, code);
  } else {
    const auto run = [all = std::move(transfers)](rondoComm_t comm, rondoStream_t stream) {
      return all.run(comm, stream);
    };
    answer.asked = call.askLater(mine, run, {});
    return false;
  }
}

}  // namespace rondo::drop_in
