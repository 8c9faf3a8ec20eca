#pragma once
// One rank's part in a call of a storm: its arguments, its buffers, and what must be in them.

#include <random>
#include <string>
#include <vector>

#include "support/storm_buffer.h"
#include "support/storm_calls.h"

namespace rondo::testing {

struct StormComm {
  rondoComm_t comm = nullptr;  ///< nullptr: the rank is not in it.
  int rank = 0, size = 0;
  rondoRedOp_t scaled = rondoSum;
  std::vector<int> streams;  ///< Of what was issued last.
};

/// From the call's issue until its results have been looked at.
struct StormHeld {
  /// For the rank number `rank` of its communicator's `size`.
  StormHeld(const StormCall& issued, int rank, int size, std::mt19937& own);
  void fill(uint32_t newStamp);
  /// What the call has left in the buffers and should not have; "": nothing.
  std::string wrong() const;

  const StormCall& call;
  const int rank, size;
  Case args{};
  Side side;
  std::vector<StormMessage> messages;
  bool aliased = false;
  StormBuffer send, recv;  ///< Aliased: `recv` is both.
  char *from = nullptr, *to = nullptr;
  uint32_t stamp = 0;

 private:
  void takeCollective(std::mt19937& own);
  void takeMessages(std::mt19937& own);
  std::vector<char> images(std::vector<char>* gets, bool after) const;
};

}  // namespace rondo::testing
