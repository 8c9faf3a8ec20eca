#include "base/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

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

rondoResult_t resultOf(const std::exception& error) {
  if (const auto* const ours = dynamic_cast<const Error*>(&error)) return ours->code();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return rondoOutOfMemory;
  const bool argument = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
  return argument ? rondoInvalidArgument : rondoInternalError;
}

const char* sentenceOf(const std::exception& error) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return memory ? "out of memory" : error.what();
}

Error systemError(const std::string& what, int errnum) {
  char buffer[128];
  return Error(rondoSystemError, what + ": " + strerror_r(errnum, buffer, sizeof buffer));
}

}  // namespace rondo
