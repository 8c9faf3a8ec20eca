#pragma once
// Whether what takes long can be written down at its end.

#include <string>

namespace rondo {

/// Why no file of that name can be written, in errno's words; empty: it can. Leaves nothing behind,
/// and a file that is there as it is.
std::string whyUnwritable(const std::string& path);

}  // namespace rondo
