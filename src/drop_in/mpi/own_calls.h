#pragma once
// A program that knows Rondo too may call MPI between rondoGroupStart and rondoGroupEnd: what the
// layer asks of Rondo there is no part of that group.

#include "api/rondo.h"

namespace rondo::drop_in {

/// While it lives, no group of the program's is open on the calling thread. They stand in each
/// other where MPI's progress calls the layer back.
class OwnCalls {
 public:
  OwnCalls() { rondoGroupSetAside(&programs_); }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  ~OwnCalls() {
    if (programs_ != nullptr) [[unlikely]]
      rondoGroupTakeBack(programs_);
  }

 private:
  rondoGroup_t programs_ = nullptr;
};

}  // namespace rondo::drop_in
