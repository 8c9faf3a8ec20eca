#pragma once
// Which values of an axis get a mark, what is written at it, and where texts are broken.

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::bench {

/// "4", "1Ki", "64Ki", "1Mi": what is not a whole number of a unit keeps one digit after the point.
std::string formatBytesTick(double bytes);
/// "0.1", "1", "20", "5k", "1M".
std::string formatDecimalTick(double value);

/// The values of a horizontal axis that get a mark: at most `most`, evenly chosen from the first
/// on.
std::vector<double> chosenMarks(std::vector<double> values, size_t most);

/// Exponents of 10 at which an axis over [low, high] has its marks, at most `most` of them.
std::vector<int> tickExponents(double low, double high, int most);

/// The values themselves: 1, 2 and 5 times powers of 10 where they are `most` at most, else 1 and 3
/// times, else powers alone.
std::vector<double> decimalMarks(double low, double high, int most);

/// `text` in lines that are no wider than `width`, broken after commas, or at
/// blanks in what is longer between two of them; a longer word is cut.
std::vector<std::string> wrapped(const std::string& text, double size, double width);

}  // namespace rondo::bench
