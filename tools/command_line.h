#pragma once
// What all tools do alike: read the command line, run, tell in one sentence what failed, and end.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/standard_output.h"

namespace rondo {

/// A tool's exit statuses besides those of its work.
struct ExitStatuses {
  int usage = 2;      ///< The options cannot be read.
  int refused = 2;    ///< Its work threw an Error of rondoInvalidArgument.
  int failed = 2;     ///< Its work threw something else.
  int unwritten = 2;  ///< Standard output has not taken all of what was printed.
};

/// CLI11's own sentences begin with the program's name, as the tool's do.
inline void nameProgram(CLI::App& app) {
  app.failure_message([](const CLI::App* which, const CLI::Error& error) {
    return which->get_name() + ": " + CLI::FailureMessage::simple(which, error);
  });
}

/// Reads the options, then runs work(), which gives the exit status or throws.
template <class Work>
int runTool(CLI::App& app, int argc, char** argv, const ExitStatuses& ends, const Work& work) {
  const std::string name = app.get_name();
  nameProgram(app);
  int status = ends.failed;
  try {
    app.parse(argc, argv);
    status = work();
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : ends.usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    const auto* const ours = dynamic_cast<const Error*>(&error);
    if (ours != nullptr && ours->code() == rondoInvalidArgument) status = ends.refused;
  }
  return statusOfOutput(name.c_str(), status, ends.unwritten);
}

}  // namespace rondo
