#pragma once
// The layer's environment variables. They are read once, in MPI_Init.

#include <string>

namespace rondo::drop_in {

/// What RONDO_MPI asks for: which memory the layer answers calls on.
enum class Mode { Off, Host, Device, Both };

struct Settings {
  Mode mode = Mode::Host;  ///< RONDO_MPI
  bool stats = false;      ///< RONDO_MPI_STATS
  bool measure = true;     ///< RONDO_MPI_MEASURE
  int linger = 30;         ///< RONDO_MPI_LINGER, in microseconds; 0: no kernel stays.
};

/// Throws Error(rondoInvalidArgument) that names the variable, its value and what is allowed.
Settings readSettings();
/// What it throws of this variable; empty: nothing.
std::string faultOfSetting(const char* name);

const char* modeName(Mode mode);

}  // namespace rondo::drop_in
