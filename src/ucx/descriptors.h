#pragma once
// Connections take descriptors, of which a process may have 1,024 unless it asks for more.

#include <cstddef>
#include <string>

namespace rondo {

/// What a worker of UCX opens: 11 over TCP on two devices, 15 with all that UCX has there (1.13.1,
/// 2026-11-25), and more with each device. A watch and connections come on top: with room for 21
/// UCX ended the process at its first connections, and the first of these is too few.
constexpr size_t kTooFewDescriptors = 32, kWorkersDescriptors = 48;

/// Lets this process open `more` descriptors beside those that it has, and as many again for the
/// program, as far as its hard limit goes: by its soft one, which is left alone if it suffices.
void allowDescriptors(size_t more);

/// Why something that takes up to `more` descriptors fails, or may have: "; this process has 57 of
/// 60 file descriptors open, ...". Empty: there is room for them.
std::string fewDescriptorsText(size_t more);

}  // namespace rondo
