#pragma once
// What a refused call must look like.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "api/rondo.h"

namespace rondo::testing {

/// `result` is `code`, and the thread's sentence begins with the call and contains all of `parts`.
inline void expectRefused(rondoResult_t result, rondoResult_t code, const std::string& call,
                          std::initializer_list<std::string> parts) {
  const std::string sentence = rondoGetLastError(nullptr);
  EXPECT_EQ(rondoGetErrorString(result), std::string(rondoGetErrorString(code))) << sentence;
  EXPECT_EQ(sentence.rfind(call + ": ", 0), 0u) << sentence;
  for (const std::string& part : parts) {
    EXPECT_NE(sentence.find(part), std::string::npos)
        << "\"" << part << "\" is missing in: " << sentence;
  }
}

}  // namespace rondo::testing
