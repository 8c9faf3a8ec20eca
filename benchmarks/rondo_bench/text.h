#pragma once
// printf into a string.

#include <string>

namespace rondo::bench {

/// At most 255 characters.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

/// Four significant digits or so, so that nanoseconds and seconds fit in one column.
std::string formatMicroseconds(double value);

}  // namespace rondo::bench
