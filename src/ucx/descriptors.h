#pragma once
// Connections take descriptors, of which a process may have 1,024 unless it asks for more.

#include <cstddef>
#include <string>

namespace rondo {

/// Lets this process open `more` descriptors beside those that it has, and as many again for the
/// program, as far as its hard limit goes: by its soft one, which is left alone if it suffices.
void allowDescriptors(size_t more);

/// Why something that takes up to `more` descriptors fails, or may have: "; this process has 57 of
/// 60 file descriptors open, ...". Empty: there is room for them.
std::string fewDescriptorsText(size_t more);

}  // namespace rondo
