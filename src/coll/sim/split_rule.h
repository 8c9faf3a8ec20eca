#pragma once
// What every rank would say when a communicator is cut into parts, as a formula: a rehearsal knows
// what one rank says, and not the others.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::sim {

/// "rank / 8", "host", "rank % 8, 0 - rank", "(rank < 6) - 1": the color, and after a comma the key
/// (equal for all, if left out). Whole numbers, + - * / % < > == and brackets over `rank` and
/// `size` of the communicator, `host`, the number of the rank's host among those of the
/// communicator, and `local`, the rank's number on it. Ranks of equal color are a part; those of a
/// negative one are in none.
class SplitRule {
 public:
  /// Throws Error(rondoInvalidArgument): the rule, what stands there, what was expected.
  explicit SplitRule(const std::string& text);

  /// Of ranks on `hosts`, the parts in the order of their colors, each in the order of its keys and
  /// then its ranks. Throws Error(rondoInvalidArgument) where the
  /// formula has no value.
  std::vector<std::vector<int>> partsOf(const std::vector<int>& hosts) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_, color_, key_;
};

/// Rules one after the other, parted by ';'. None in an empty text.
std::vector<SplitRule> splitRules(const std::string& text);

}  // namespace rondo::sim
