#pragma once
// The sentence that something is refused with.

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace rondo::testing {

/// Runs it; "nothing is refused" if it does not throw an Error(rondoInvalidArgument).
template <class Action>
std::string refusalOf(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), rondoInvalidArgument) << error.sentence();
    return error.sentence();
  }
  return "nothing is refused";
}

inline void expectPart(const std::string& sentence, const std::string& part) {
  EXPECT_NE(sentence.find(part), std::string::npos)
      << "\"" << part << "\" is missing in: " << sentence;
}

}  // namespace rondo::testing
