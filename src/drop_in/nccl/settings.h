#pragma once
// The variables that NCCL's users set: what is honoured, what is answered by a warning.

#include <string>

namespace rondo::nccl {

/// NCCL_DEBUG, of which each value includes those before it.
enum class Loud : int { Off, Version, Warn, Info };

/// Writes "rondo nccl: TEXT" to standard error if NCCL_DEBUG asks for that much.
void logLine(Loud least, const std::string& text);

/// Says once in the process which of the environment's NCCL_ variables do nothing here, and what
/// Rondo has instead. By the process that has rank 0, so that a job says it once.
void warnOfVariables();

/// The warning for these names ("NCCL_ALGO"); empty if there is nothing to say.
std::string variablesText(const char* const* environment);

}  // namespace rondo::nccl
