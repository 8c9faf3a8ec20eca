#pragma once

#include <string>

#include "api/rondo_types.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// What a rank does alone, and all then agree on: an Error of one is the same Error on all of them.
template <class Step>
void agreeOn(Bootstrap& boot, const Step& step) {
  int code = rondoSuccess;
  std::string sentence;
  try {
    step();
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  }
  boot.agree(code, sentence);
}

}  // namespace rondo
