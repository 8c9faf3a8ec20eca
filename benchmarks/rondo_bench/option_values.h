#pragma once
// Turns the text of an option into its value, or into a sentence about it.

#include <string>
#include <vector>

#include "options.h"

namespace rondo::bench {

/// Each throws UsageError: "--name text: what is wrong; allowed are ...".
size_t readSize(const std::string& name, const std::string& text);
/// One to `most` of them, with commas between; 0 is one, too.
std::vector<size_t> readSizeList(const std::string& name, const std::string& text, size_t most);
size_t readPowerOfTwo(const std::string& name, const std::string& text, size_t least, size_t most);
int readInt(const std::string& name, const std::string& text, int least, int most);
double readSeconds(const std::string& name, const std::string& text);
double readRatio(const std::string& name, const std::string& text);
std::vector<const ElementType*> readTypes(const std::string& name, const std::string& text);
std::vector<const Operator*> readOperators(const std::string& name, const std::string& text);

/// The place of `text` in `allowed`.
size_t readChoice(const std::string& name, const std::string& text,
                  const std::vector<std::string>& allowed);

/// The words of a list with commas between, each of which is in `allowed`.
std::vector<std::string> readWords(const std::string& name, const std::string& text,
                                   const std::vector<std::string>& allowed);

}  // namespace rondo::bench
