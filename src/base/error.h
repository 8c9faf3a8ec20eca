#pragma once
// How failures travel: an exception on set-up paths, a Status on the hot path, a rondoResult_t at
// the C boundary.

#include <exception>
#include <string>
#include <utility>

#include "api/rondo_types.h"

namespace rondo {

/// A failure with its full sentence; thrown on set-up paths only and caught at the C boundary.
class Error : public std::exception {
 public:
  Error(rondoResult_t code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}
  rondoResult_t code() const { return code_; }
  const std::string& sentence() const { return sentence_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  rondoResult_t code_;
  std::string sentence_;
};

/// What an exception that was caught comes to, and why: "out of memory", or its own sentence. The
/// text stays as long as the exception.
rondoResult_t resultOf(const std::exception& error);
const char* sentenceOf(const std::exception& error);

/// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* text, ...);

/// An Error of rondoSystemError whose sentence ends in errno's text.
Error systemError(const std::string& what, int errnum);

}  // namespace rondo
