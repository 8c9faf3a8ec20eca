#include "option_values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "errors.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, const std::string& why) {
  throw UsageError(name + " " + (text.empty() ? "''" : text) + ": " + why);
}

template <class Number>
bool readWhole(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

/// Reads "a,b,c" or "all" into pointers to entries of `table`.
template <class Entry, class Find>
std::vector<const Entry*> readList(const std::string& name, const std::string& text,
                                   std::span<const Entry> table, const Find& find) {
  std::vector<const Entry*> result;
  if (text == "all") {
    for (const Entry& entry : table) result.push_back(&entry);
    return result;
  }
  std::string allowed;
  for (const Entry& entry : table) allowed += std::string(entry.name) + ", ";
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const Entry* entry = find(word);
    if (entry == nullptr) {
      refuse(name, text,
             "'" + word + "' is not known; allowed are " + allowed +
                 "several of them with commas between, or all");
    }
    if (std::find(result.begin(), result.end(), entry) == result.end()) result.push_back(entry);
  }
  if (result.empty()) refuse(name, text, "nothing is named; allowed are " + allowed + "or all");
  return result;
}

}  // namespace

size_t readSize(const std::string& name, const std::string& text) {
  try {
    return parseSize(text);
  } catch (const std::invalid_argument& error) {
    refuse(name, text, std::string("not a size; ") + error.what());
  }
}

std::vector<size_t> readSizeList(const std::string& name, const std::string& text, size_t most) {
  std::vector<size_t> result;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    result.push_back(word == "0" ? 0 : readSize(name, word));
  }
  if (result.empty() || result.size() > most) {
    refuse(name, text, "allowed are 1 to " + std::to_string(most) + " sizes with commas between");
  }
  return result;
}

size_t readPowerOfTwo(const std::string& name, const std::string& text, size_t least, size_t most) {
  const size_t value = readSize(name, text);
  if (value < least || value > most || !std::has_single_bit(value)) {
    refuse(name, text,
           "allowed is a power of two from " + formatSize(least) + " to " + formatSize(most));
  }
  return value;
}

int readInt(const std::string& name, const std::string& text, int least, int most) {
  int value = 0;
  if (!readWhole(text, value) || value < least || value > most) {
    refuse(
        name, text,
        "allowed is a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double readSeconds(const std::string& name, const std::string& text) {
  double value = 0;
  if (!readWhole(text, value) || !(value > 0) || value > 3600) {
    refuse(name, text, "allowed is a number of seconds above 0, at most 3600");
  }
  return value;
}

double readRatio(const std::string& name, const std::string& text) {
  double value = 0;
  if (!readWhole(text, value) || !(value > 0) || value > 1000) {
    refuse(name, text, "allowed is a number above 0, at most 1000");
  }
  return value;
}

std::vector<std::string> readWords(const std::string& name, const std::string& text,
                                   const std::vector<std::string>& allowed) {
  std::vector<std::string> result;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    readChoice(name, word, allowed);
    if (std::find(result.begin(), result.end(), word) == result.end()) result.push_back(word);
  }
  if (result.empty()) readChoice(name, text, allowed);
  return result;
}

std::vector<const ElementType*> readTypes(const std::string& name, const std::string& text) {
  return readList(name, text, elementTypes(),
                  [](const std::string& word) { return findElementType(word); });
}

std::vector<const Operator*> readOperators(const std::string& name, const std::string& text) {
  return readList(name, text, operators(),
                  [](const std::string& word) { return findOperator(word); });
}

size_t readChoice(const std::string& name, const std::string& text,
                  const std::vector<std::string>& allowed) {
  const auto found = std::find(allowed.begin(), allowed.end(), text);
  if (found != allowed.end()) return static_cast<size_t>(found - allowed.begin());
  std::string list;
  for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
  refuse(name, text, "allowed " + std::string(allowed.size() == 1 ? "is " : "are ") + list);
}

}  // namespace rondo::bench
