#include "text.h"

#include <cstdarg>
#include <cstdio>

namespace rondo::bench {

std::string format(const char* pattern, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string formatMicroseconds(double value) {
  return format(value < 100 ? "%.2f" : value < 10000 ? "%.1f" : "%.0f", value);
}

}  // namespace rondo::bench
