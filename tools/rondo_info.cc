// rondo-info: which Rondo this is, and what it reads from the environment.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "api/option_faults.h"
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
#include "drop_in/mpi/settings.h"
#include "drop_in/rehearsed_machine.h"
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

const char* orUnset(const std::string& text) { return text.empty() ? "unset" : text.c_str(); }

/// A variable with its value, and what is wrong with that; false: something is. `now` empty: unset.
bool printOption(const OptionRow& option, const char* note, const std::string& now,
                 const std::string& fault) {
  std::printf("%s (%s, default %s)%s\n    %s\n    now: %s\n", option.name, option.type,
              orUnset(option.fallback), note, option.meaning, orUnset(now));
  if (!fault.empty()) std::printf("    refused: %s\n", fault.c_str());
  return fault.empty();
}

std::string environmentText(const OptionRow& option) {
  const char* const now = std::getenv(option.name);
  return now == nullptr ? "" : now;
}

/// The exit status: of a value that whoever reads it would refuse, 2.
int printOptions() {
  try {
    readBootOptions();  // says what hinders RONDO_LOG_FILE
  } catch (const Error&) {
    // told beside the variable
  }
  std::string refused;
  const auto print = [&refused](const OptionRow& option, const char* note, const std::string& now,
                                const std::string& fault) {
    if (!printOption(option, note, now, fault)) {
      refused += (refused.empty() ? "" : ", ") + std::string(option.name);
    }
  };
  for (const OptionRow& option : optionTable()) {
    const std::string fault = faultOf(option);
    print(option, option.mustAgree ? ", the same on all ranks" : "",
          fault.empty() ? optionText(readOption(option), option) : environmentText(option), fault);
  }
  for (const OptionRow& option : drop_in::kOptionRows) {
    print(option, ", read by librondo_mpi.so", environmentText(option),
          drop_in::faultOfSetting(option.name));
  }
  for (const OptionRow& option : drop_in::kRehearsalRows) {
    print(option, ", read by librondo_mpi.so and libnccl.so.2", environmentText(option),
          drop_in::faultOfWish(option.name));
  }
  if (refused.empty()) return 0;
  std::fflush(stdout);  // before what is said of it
  std::fprintf(stderr, "rondo-info: what is set would be refused: %s\n", refused.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  bool options = false;
  CLI::App app("Says which Rondo this is.", "rondo-info");
  app.add_flag("--options", options, "Every environment variable that Rondo reads");
  return runTool(app, argc, argv, {}, [&options] {
    if (options) return printOptions();
    printFacts();
    return 0;
  });
}
