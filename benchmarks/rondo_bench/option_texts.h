#pragma once
// The options of a command: their names, help, and the texts given for them.

#include <CLI/CLI.hpp>
#include <string>

#include "commands.h"
#include "options.h"

namespace rondo::bench {

/// A text that nobody gave; told apart from an empty one, which is refused.
inline constexpr const char* kNotGiven = "\1";

/// Every option as the text that was given, before it is read.
struct OptionTexts {
  std::string min = kNotGiven, max = kNotGiven, step = kNotGiven, type = kNotGiven, op = kNotGiven,
              root = kNotGiven, window = kNotGiven, align = kNotGiven, offset = kNotGiven,
              group = kNotGiven, collective = kNotGiven, polls = kNotGiven, memory = kNotGiven,
              library = kNotGiven, peer = kNotGiven, warmup = kNotGiven, iterations = kNotGiven,
              budget = kNotGiven, pause = kNotGiven, calls = kNotGiven, progress = kNotGiven,
              meeting = kNotGiven, threshold = kNotGiven, columns = kNotGiven, csv = kNotGiven,
              json = kNotGiven, plot = kNotGiven;
};

/// Adds what `command` takes to its part of the command line.
void addOptions(CLI::App& app, const Command& command, OptionTexts& texts, Options& options);

}  // namespace rondo::bench
