#pragma once
// What the counting profiler saw. See injection.cc.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::testing {

struct SeenRange {
  std::string name;
  uint64_t schemaId = 0;
  std::vector<unsigned char> payload;
};

struct SeenAll {
  std::string domain, schema, fields, operators;
  uint64_t schemaId = 0;
  int open = 0;  ///< Ranges that were pushed and not popped.
  std::vector<SeenRange> ranges;
};

/// The injection library's function "rondoTestSeen".
using SeenFunction = void (*)(SeenAll*);

}  // namespace rondo::testing
