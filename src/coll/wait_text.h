#pragma once
// What an operation that does not end waits for, in words, and without an allocation: waits that
// are long happen to any call.

#include <cstddef>
#include <span>
#include <string_view>

#include "coll/exchange.h"
#include "coll/runner.h"

namespace rondo {

/// A sentence of bounded length; what is too long is cut.
class WaitText {
 public:
  /// "lane 0: period 3 of 17, step 2 of 5 (reduce) has no message of rank 2; lane 1: ...".
  WaitText(const Runner& runner, const Channels& channels);
  /// "rank 2 has not sent 512 of 1024 bytes; rank 3 has not taken ...".
  explicit WaitText(const Exchange& exchange);

  std::string_view text() const { return {text_, used_}; }

 private:
  [[gnu::format(printf, 2, 3)]] void add(const char* text, ...);
  void addLane(const Runner::Position& lane, const Channels& channels);

  char text_[768] = {};
  size_t used_ = 0;
};

}  // namespace rondo
