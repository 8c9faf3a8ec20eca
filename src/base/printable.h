#pragma once
// Texts of others, for a terminal.

#include <string>
#include <string_view>

namespace rondo {

/// `text` without what a terminal would obey: control characters, and bytes that are no UTF-8, are
/// written as "\\n", "\\x1b".
std::string printable(std::string_view text);

}  // namespace rondo
