#pragma once

#include <vector>

#include "api/handle.h"

namespace rondo {

/// Keeps other threads from communicators, as a plain call does.
class Holds {
 public:
  explicit Holds(const std::vector<rondoComm*>& comms) : comms_(comms) {}
  ~Holds() {
    for (size_t i = 0; i < held_; ++i) releaseComm(comms_[i]);
  }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  rondoResult_t take(const char* call) {
    for (; held_ < comms_.size(); ++held_) {
      if (const rondoResult_t bad = holdComm(comms_[held_], call)) return bad;
    }
    return rondoSuccess;
  }

 private:
  const std::vector<rondoComm*>& comms_;
  size_t held_ = 0;
};

}  // namespace rondo
