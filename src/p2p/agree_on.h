#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "api/rondo_types.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// What a rank does alone, and all then agree on: what one throws is the same Error on all of them.
template <class Step>
void agreeOn(Bootstrap& boot, const Step& step) {
  int code = rondoSuccess;
  std::string sentence;
  try {
    step();
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  } catch (const std::invalid_argument& error) {
    code = rondoInvalidArgument;
    sentence = error.what();
  } catch (const std::exception& error) {
    code = rondoInternalError;
    sentence = error.what();
  }
  boot.agree(code, sentence);
}

}  // namespace rondo
