#pragma once
// The file that rondo-tune writes and later jobs on machines of the same model find:
// docs/calibration.md.

#include <string>
#include <vector>

#include "coll/costs.h"

namespace rondo {

/// What is in such a file.
struct CostsFile {
  uint64_t machine = 0;   ///< machineModel() of where it was measured.
  std::string processor;  ///< For people; may be empty.
  int ranks = 0;          ///< That measured; 0: it does not say.
  int64_t when = 0;       ///< Seconds since 1970; 0: it does not say.
  HostCosts costs;        ///< Fields that it does not name have their defaults.
  /// By field, in the order of costFields(): measured, not a default that was written along.
  std::vector<bool> measured;
};

std::string formatCosts(const CostsFile& file);

/// Throws Error(rondoInvalidArgument) that says "NAME:LINE: ...", the field, its value and what is
/// allowed.
CostsFile parseCosts(const std::string& text, const std::string& name);

/// Reads a file; throws as parseCosts(), and Error(rondoSystemError) where it cannot be read.
CostsFile readCosts(const std::string& path);

/// Writes it beside its place and then moves it there, so that no job reads half of it. Makes the
/// directory if need be. Throws Error(rondoSystemError).
void writeCosts(const CostsFile& file, const std::string& path);

/// "costs-0123456789abcdef.txt"
std::string costsFileName(uint64_t machine);

/// Where jobs look: `tuneDir` (RONDO_TUNE_DIR) alone if it is not empty, else the user's
/// configuration and then the system's.
std::vector<std::string> costsDirs(const std::string& tuneDir);

/// What a job uses.
struct FoundCosts {
  HostCosts costs;
  std::string source;   ///< "/etc/rondo/costs-..txt, measured .. (2 days ago)"; "built-in (..)".
  std::string warning;  ///< A file is there and was not used: why; else empty.
};

/// The first file of the directories that is there; the built-in costs where none is, or where it
/// is no good. Throws nothing but for want of memory.
FoundCosts findCosts(uint64_t machine, const std::vector<std::string>& dirs);

}  // namespace rondo
