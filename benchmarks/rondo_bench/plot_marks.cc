#include "plot_marks.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text_width.h"
#include "text.h"

namespace rondo::bench {

std::string formatBytesTick(double bytes) {
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return format(bytes == std::floor(bytes) ? "%.0f%s" : "%.1f%s", bytes, kUnits[unit]);
}

std::string formatDecimalTick(double value) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return format("%.6g%s", value, kUnits[unit]);
}

std::vector<double> chosenMarks(std::vector<double> values, size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const size_t step = (values.size() + most - 1) / std::max<size_t>(1, most);
  std::vector<double> result;
  for (size_t i = 0; i < values.size(); i += std::max<size_t>(1, step)) result.push_back(values[i]);
  return result;
}

std::vector<int> tickExponents(double low, double high, int most) {
  constexpr double kSlack = 1e-9;
  const int first = static_cast<int>(std::ceil(std::log10(low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log10(high) + kSlack));
  int step = 1;
  while ((last - first) / step + 1 > std::max(2, most)) ++step;
  std::vector<int> result;
  for (int exponent = first; exponent <= last; exponent += step) result.push_back(exponent);
  return result;
}

std::vector<double> decimalMarks(double low, double high, int most) {
  constexpr double kSlack = 1 + 1e-9;
  const std::vector<double> some[] = {{1, 2, 5}, {1, 3}};
  for (const std::vector<double>& times : some) {
    std::vector<double> result;
    for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high * kSlack;
         power *= 10) {
      for (const double part : times) {
        const double value = part * power;
        if (value * kSlack >= low && value <= high * kSlack) result.push_back(value);
      }
    }
    if (result.size() <= static_cast<size_t>(std::max(2, most))) return result;
  }
  std::vector<double> result;
  for (const int exponent : tickExponents(low, high, most)) {
    result.push_back(std::pow(10.0, exponent));
  }
  return result;
}

namespace {

/// Pieces that a line may be broken between: after commas, and in what is too long at blanks.
std::vector<std::string> piecesOf(const std::string& text, double size, double width) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = text.find(", ", at);
    const size_t end = comma == std::string::npos ? text.size() : comma + 1;
    const std::string piece = text.substr(at, end - at);
    at = std::min(text.size(), text.find_first_not_of(' ', end));
    if (textWidth(piece, size) <= width) {
      pieces.push_back(piece);
      continue;
    }
    std::istringstream words(piece);
    for (std::string word; words >> word;) pieces.push_back(shortText(word, size, width));
  }
  return pieces;
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  for (const std::string& piece : piecesOf(text, size, width)) {
    const std::string longer = lines.empty() ? piece : lines.back() + " " + piece;
    if (!lines.empty() && textWidth(longer, size) <= width) {
      lines.back() = longer;
    } else {
      lines.push_back(piece);
    }
  }
  return lines;
}

}  // namespace rondo::bench
