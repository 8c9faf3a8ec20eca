// rondo-info: which Rondo this is, and what it reads from the environment.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "api/rondo.h"
#include "base/config_files.h"
#include "base/error.h"
#include "base/options.h"
#include "coll/costs_file.h"
#include "coll/reduce/reduce.h"
#include "coll/registry.h"
#include "command_line.h"
#include "config.h"
#include "drop_in/mpi/option_rows.h"
#include "found_library.h"
#include "topo/measured_links.h"
#include "topo/node_facts.h"

namespace {

using namespace rondo;

void row(const char* name, const std::string& value) {
  std::printf("%-18s %s\n", name, value.c_str());
}

std::string algorithms() {
  std::string out;
  for (const Algorithm& algorithm : registry()) {
    out += format("%s%s %s", out.empty() ? "" : ", ", collectiveName(algorithm.collective),
                  algorithm.name);
  }
  return out;
}

/// RONDO_CPU may name a level that this machine lacks: a fact to show, not a reason to stop.
std::string cpuLevel(const std::string& forced) {
  try {
    return cpuLevelName(chooseCpuLevel(forced.c_str())) +
           std::string(forced.empty() ? "" : " (forced by RONDO_CPU)");
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Programs run with that one, not with what is in this tool.
std::string libraryText(int own) {
  const FoundLibrary found = findLibrary();
  if (!found.missing.empty()) return "none that the loader finds: " + found.missing;
  return versionText(found.version) + ", " + found.path +
         (found.version == own ? "" : ": another version than this rondo-info's");
}

void printFacts() {
  int code = 0;
  rondoGetVersion(&code);
  row("version", format("%s (%d)", PACKAGE_VERSION, code));
  row("library", libraryText(code));
#ifdef HAVE_CUDA
  row("CUDA kernels", "yes");
#else
  row("CUDA kernels", "no");
#endif
#ifdef HAVE_MPI_ULFM
  row("ULFM of MPI", "yes");
#else
  row("ULFM of MPI", "no");
#endif
  row("compiler", __VERSION__);
  row("algorithms", algorithms());
  row("CPU level", cpuLevel(readOptions().cpu));
  row("CPUs allowed", std::to_string(allowedCpus()));
  const FoundCosts costs =
      findCosts(machineModel(readNodeFacts()), configDirs(readOptions().tuneDir));
  row("costs", costs.source);
  if (!costs.warning.empty()) row("", costs.warning);
  std::vector<std::string> cards;
  topo::HostSketch sketch = topo::readHostSketch(&cards);
  const topo::LinksFound links = topo::sketchMeasured(
      machineModel(sketch.node), configDirs(readOptions().tuneDir), cards, &sketch);
  row("links", links.text);
  if (!links.warning.empty()) row("", links.warning);
}

void printDropInOption(const OptionRow& option, const char* reader) {
  const char* const now = std::getenv(option.name);
  std::printf("%s (%s, default %s), read by %s\n    %s\n    now: %s\n", option.name, option.type,
              *option.fallback == '\0' ? "unset" : option.fallback, reader, option.meaning,
              now == nullptr || *now == '\0' ? "unset" : now);
}

void printOptions() {
  const Options options = readOptions();
  for (const OptionRow& option : optionTable()) {
    std::printf(
        "%s (%s, default %s)%s\n    %s\n    now: %s\n", option.name, option.type,
        *option.fallback == '\0' ? "unset" : option.fallback,
        option.mustAgree ? ", the same on all ranks" : "", option.meaning,
        optionText(options, option).empty() ? "unset" : optionText(options, option).c_str());
  }
  for (const OptionRow& option : drop_in::kOptionRows) {
    printDropInOption(option, "librondo_mpi.so");
  }
  for (const OptionRow& option : drop_in::kRehearsalRows) {
    printDropInOption(option, "librondo_mpi.so and libnccl.so.2");
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool options = false;
  CLI::App app("Says which Rondo this is.", "rondo-info");
  app.add_flag("--options", options, "Every environment variable that Rondo reads");
  return runTool(app, argc, argv, {}, [&options] {
    options ? printOptions() : printFacts();
    return 0;
  });
}
