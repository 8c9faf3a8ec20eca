#pragma once
// The subcommands. A new benchmark is a new row of the table in commands.cc.

#include <span>

#include "options.h"

namespace rondo::bench {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Options& options);  ///< Returns the exit status.
};

std::span<const Command> commands();

}  // namespace rondo::bench
