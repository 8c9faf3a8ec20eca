#include "base/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace rondo {

std::string format(const char* text, ...) {
  va_list args, again;
  va_start(args, text);
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, text, args);
  va_end(args);
  std::string out(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(out.data(), out.size() + 1, text, again);
  va_end(again);
  return out;
}

Error systemError(const std::string& what, int errnum) {
  char buffer[128];
  return Error(rondoSystemError, what + ": " + strerror_r(errnum, buffer, sizeof buffer));
}

}  // namespace rondo
