#pragma once
// Files that a program leaves for later jobs on machines of the same model.

#include <string>
#include <vector>

namespace rondo {

/// Where jobs look: `tuneDir` (RONDO_TUNE_DIR) alone if it is not empty, else the user's
/// configuration and then the system's.
std::vector<std::string> configDirs(const std::string& tuneDir);

/// Where a file is written before it is moved to its place.
std::string placeBeside(const std::string& path);

/// Writes `text` beside its place and then moves it there, so that no job reads half of it. Makes
/// the directory if need be. Throws Error(rondoSystemError).
void writeConfigFile(const std::string& text, const std::string& path);

}  // namespace rondo
