#include "base/options.h"

#include <cstdlib>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/signal_name.h"
#include "base/size_text.h"

namespace rondo {
namespace {

const char* env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

[[noreturn]] void refuse(const char* name, const char* value, const char* allowed) {
  throw Error(rondoInvalidArgument,
              format("environment variable %s is \"%s\"; allowed: %s", name, value, allowed));
}

void readText(const char* name, std::string* out) {
  if (const char* value = env(name)) *out = value;
}

void readSwitch(const char* name, bool* out) {
  const char* value = env(name);
  if (value == nullptr) return;
  const std::string text = value;
  if (text != "0" && text != "1") refuse(name, value, "0 or 1");
  *out = text == "1";
}

using Parse = bool (*)(std::string_view text, uint64_t* number);

void readNumber(const char* name, Parse parse, uint64_t least, uint64_t most, uint64_t* out) {
  const char* value = env(name);
  if (value == nullptr) return;
  uint64_t number = 0;
  if (!parse(value, &number) || number < least || number > most) {
    refuse(name, value,
           format("a number from %llu to %llu, also with K, M or G",
                  static_cast<unsigned long long>(least), static_cast<unsigned long long>(most))
               .c_str());
  }
  *out = number;
}

void readSmBudget(const char* name, Options* options) {
  constexpr uint64_t kMost = 1024;
  const char* value = env(name);
  if (value == nullptr) return;
  options->noSms = std::string_view(value) == "none";
  if (options->noSms) return;
  if (!parseCount(value, &options->smBudget) || options->smBudget > kMost) {
    refuse(name, value, "a number from 0 to 1024, or none");
  }
}

void readP2p(const char* name, Options* options) {
  const char* value = env(name);
  if (value == nullptr) return;
  options->noP2p = std::string_view(value) == "off";
  if (!options->noP2p && std::string_view(value) != "auto") refuse(name, value, "auto or off");
}

void readZeroCopy(const char* name, Options* options) {
  const char* value = env(name);
  if (value == nullptr || std::string_view(value) == "auto") return;
  const bool on = std::string_view(value) == "on";
  if (!on && std::string_view(value) != "off") refuse(name, value, "auto, on or off");
  options->zeroCopy = on ? ZeroCopyUse::On : ZeroCopyUse::Off;
}

void readRegister(const char* name, Options* options) {
  const char* value = env(name);
  if (value == nullptr || std::string_view(value) == "auto") return;
  options->noRegister = std::string_view(value) == "off";
  if (options->noRegister) return;
  if (!parseSize(value, &options->registerBytes) || options->registerBytes == 0) {
    refuse(name, value, "auto, off, or a number of bytes from 1, also with K, M or G");
  }
}

void readLogLevels(const char* name, std::string* out) {
  readText(name, out);
  LogLevels levels;
  if (!parseLogLevels(*out, &levels)) refuse(name, out->c_str(), kLogLevelsAllowed);
}

void readFileName(const char* name, std::string* out) {
  readText(name, out);
  std::string expanded;
  if (!expandFileName(*out, &expanded)) refuse(name, out->c_str(), kFileNameAllowed);
}

void readSignal(const char* name, int* out) {
  std::string text;
  readText(name, &text);
  if (!parseSignal(text, out)) refuse(name, text.c_str(), kSignalsAllowed);
}

/// How a variable becomes a field; in the order in which wrong ones are told of.
struct Reader {
  const char* name;
  void (*read)(const char* name, Options* to);
};
constexpr uint64_t kMostTime = uint64_t{1} << 30;

constexpr Reader kBootReaders[] = {
    {"RONDO_NET_IF", [](const char* name, Options* to) { readText(name, &to->netInterfaces); }},
    {"RONDO_BOOT_TIMEOUT_MS",
     [](const char* name, Options* to) {
       readNumber(name, parseCount, 1, kMostTime, &to->bootTimeoutMs);
     }},
    {"RONDO_LOG", [](const char* name, Options* to) { readLogLevels(name, &to->log); }},
    {"RONDO_LOG_FILE", [](const char* name, Options* to) { readFileName(name, &to->logFile); }},
};

constexpr Reader kReaders[] = {
    {"RONDO_HOSTID", [](const char* name, Options* to) { readText(name, &to->hostId); }},
    {"RONDO_CPU", [](const char* name, Options* to) { readText(name, &to->cpu); }},
    {"RONDO_TUNE", [](const char* name, Options* to) { readText(name, &to->tune); }},
    {"RONDO_GROUPS", [](const char* name, Options* to) { readText(name, &to->groups); }},
    {"RONDO_TUNE_DIR", [](const char* name, Options* to) { readText(name, &to->tuneDir); }},
    {"RONDO_EXPLAIN", [](const char* name, Options* to) { readSwitch(name, &to->explain); }},
    {"RONDO_REPRODUCIBLE",
     [](const char* name, Options* to) { readSwitch(name, &to->reproducible); }},
    {"RONDO_POOL_BYTES",
     [](const char* name, Options* to) {
       readNumber(name, parseSize, 256u << 10, uint64_t{1} << 30, &to->poolBytes);
     }},
    {"RONDO_SM_BUDGET", readSmBudget},
    {"RONDO_P2P", readP2p},
    {"RONDO_NET_ZERO_COPY", readZeroCopy},
    {"RONDO_DEPENDENT_LAUNCH",
     [](const char*, Options* to) { to->dependentLaunch = readDependentLaunch(); }},
    {"RONDO_REGISTER", readRegister},
    {"RONDO_SPIN_BOUND_MS",
     [](const char* name, Options* to) {
       readNumber(name, parseCount, 0, kMostTime, &to->spinBoundMs);
     }},
    {"RONDO_STALL_SECONDS",
     [](const char* name, Options* to) {
       readNumber(name, parseCount, 0, kMostTime, &to->stallSeconds);
     }},
    {"RONDO_TIMEOUT_MS",
     [](const char* name, Options* to) {
       readNumber(name, parseCount, 0, kMostTime, &to->timeoutMs);
     }},
    {"RONDO_RECORD", [](const char* name, Options* to) { readFileName(name, &to->record); }},
    {"RONDO_DUMP_SIGNAL", [](const char* name, Options* to) { readSignal(name, &to->dumpSignal); }},
};

}  // namespace

const std::vector<OptionRow>& optionTable() {
  static const std::vector<OptionRow> rows = {
      {"RONDO_HOSTID", "text", "",
       "this rank's host identity; different texts on one machine make several hosts of it", false},
      {"RONDO_CPU", "text", "",
       "instruction set of the host reductions: plain, avx2, avx512 or avx512vbmi (default: the "
       "best)",
       false},
      {"RONDO_TUNE", "text", "",
       "forces algorithms: COLLECTIVE:host:FROM-TO:ALGORITHM[/LANES[/CHUNK]], comma separated",
       true, "config.tune"},
      {"RONDO_GROUPS", "text", "",
       "which ranks lie close together: off, l3, numa, package, or a group for every rank, as in "
       "0,0,1,1 (default: the nearest of l3, numa and package that the ranks' bindings tell apart)",
       true},
      {"RONDO_TUNE_DIR", "text", "",
       "directory of rondo-tune's files, of which rank 0's counts (default: "
       "$XDG_CONFIG_HOME/rondo or ~/.config/rondo, then /etc/rondo)",
       false},
      {"RONDO_EXPLAIN", "switch", "0",
       "1: rank 0 prints each new choice, its predicted cost, and the runners-up", false},
      {"RONDO_REPRODUCIBLE", "switch", "0",
       "1: reductions have one association, whatever the algorithm and the placement of ranks",
       true, "config.reproducible"},
      {"RONDO_POOL_BYTES", "size", "16M", "shared memory for staging, per rank (from 256K)", true},
      {"RONDO_SM_BUDGET", "number", "0",
       "multiprocessors that a communicator's kernels may keep busy; 0: half of the device for the "
       "first, some for each further one; none: as 0, but copy engines move what they can, on all "
       "ranks or on none",
       false},
      {"RONDO_P2P", "text", "auto",
       "off: GPUs do not touch each other's memory, their kernels meet in host memory; auto: only "
       "where they cannot",
       true},
      {"RONDO_NET_ZERO_COPY", "text", "auto",
       "long sends of device memory to other hosts: on: UCX reads and writes it where it lies, if "
       "it was built with CUDA; off: by way of the host's memory; auto: on where network cards "
       "reach the GPUs",
       true},
      {"RONDO_DEPENDENT_LAUNCH", "text", "on",
       "kernels are placed on a GPU while the kernel before them in the stream ends (programmatic "
       "dependent launch, from compute capability 9.0 on): "
       "on: in graphs, too, which then have edges that cudaGraphGetEdges refuses to tell without "
       "what they carry; eager: but for graphs; off: never",
       false},
      {"RONDO_REGISTER", "text", "auto",
       "device memory that large sends go straight into is mapped by the sending process in the "
       "background; off: only rondoCommRegister's; a number: bytes of cudaMalloc's that it may "
       "keep from being freed, over all communicators (auto: an eighth of the device's)",
       false},
      {"RONDO_SPIN_BOUND_MS", "number", "0",
       "tests only: a wait longer than this many milliseconds is an error; 0: no bound", false},
      {"RONDO_STALL_SECONDS", "number", "30",
       "a wait longer than this many seconds is reported once on stderr, with what each rank is "
       "at; 0: never",
       false},
      {"RONDO_TIMEOUT_MS", "number", "0",
       "a wait longer than this many milliseconds ends the communicator on all ranks, with an "
       "error "
       "that says who is missing; 0: never",
       false},
      {"RONDO_NET_IF", "text", "",
       "network interfaces over which ranks that join by unique id meet: NAME[,NAME...] or "
       "^NAME[,^NAME...] for all others (default: the one with the default route, containers' "
       "bridges and the like last)",
       false},
      {"RONDO_BOOT_TIMEOUT_MS", "number", "30000",
       "how long a rank that joins by unique id waits for the others at each step", false},
      {"RONDO_LOG", "text", "off",
       "what is logged: off, error, warn, info or debug, for some subsystems only as in "
       "debug:call,plan (of boot, plan, call, watch, net, device)",
       false},
      {"RONDO_LOG_FILE", "text", "",
       "where the log goes, appended: %h in the name is the host, %p the process (default: stderr)",
       false},
      {"RONDO_RECORD", "text", "",
       "file to which the last operations of the host's ranks are written after an error, as a "
       "trace for Perfetto; %h and %p as above (default: none)",
       false},
      {"RONDO_DUMP_SIGNAL", "text", "",
       "signal by which a rank writes to the log what rondo-status says, and its last operations: "
       "USR2, 12, RTMIN+1 (default: none)",
       false},
  };
  return rows;
}

DependentLaunch readDependentLaunch() {
  constexpr const char* kName = "RONDO_DEPENDENT_LAUNCH";
  const char* value = env(kName);
  if (value == nullptr || std::string_view(value) == "on") return DependentLaunch::On;
  const bool eager = std::string_view(value) == "eager";
  if (!eager && std::string_view(value) != "off") refuse(kName, value, "on, eager or off");
  return eager ? DependentLaunch::Eager : DependentLaunch::Off;
}

Options readBootOptions() {
  Options options;
  for (const Reader& reader : kBootReaders) reader.read(reader.name, &options);
  configureLog(options.log, options.logFile);
  return options;
}

Options readOptions() {
  Options options = readBootOptions();
  for (const Reader& reader : kReaders) reader.read(reader.name, &options);
  return options;
}

Options readOption(const OptionRow& row) {
  Options options;
  const std::string_view name = row.name;
  for (const Reader& reader : kBootReaders) {
    if (name == reader.name) reader.read(reader.name, &options);
  }
  for (const Reader& reader : kReaders) {
    if (name == reader.name) reader.read(reader.name, &options);
  }
  return options;
}

bool isFromConfig(const Options& options, const OptionRow& row) {
  const std::string_view name = row.name;
  return (options.fromConfig.tune && name == "RONDO_TUNE") ||
         (options.fromConfig.reproducible && name == "RONDO_REPRODUCIBLE");
}

std::string optionText(const Options& options, const OptionRow& row) {
  const std::string name = row.name;
  if (name == "RONDO_HOSTID") return options.hostId;
  if (name == "RONDO_CPU") return options.cpu;
  if (name == "RONDO_TUNE") return options.tune;
  if (name == "RONDO_GROUPS") return options.groups;
  if (name == "RONDO_TUNE_DIR") return options.tuneDir;
  if (name == "RONDO_EXPLAIN") return options.explain ? "1" : "0";
  if (name == "RONDO_REPRODUCIBLE") return options.reproducible ? "1" : "0";
  if (name == "RONDO_POOL_BYTES") return std::to_string(options.poolBytes);
  if (name == "RONDO_SM_BUDGET") {
    return options.noSms ? "none" : std::to_string(options.smBudget);
  }
  if (name == "RONDO_P2P") return options.noP2p ? "off" : "auto";
  if (name == "RONDO_NET_ZERO_COPY") {
    return options.zeroCopy == ZeroCopyUse::Auto ? "auto"
           : options.zeroCopy == ZeroCopyUse::On ? "on"
                                                 : "off";
  }
  if (name == "RONDO_DEPENDENT_LAUNCH") {
    return options.dependentLaunch == DependentLaunch::On      ? "on"
           : options.dependentLaunch == DependentLaunch::Eager ? "eager"
                                                               : "off";
  }
  if (name == "RONDO_REGISTER") {
    return options.noRegister           ? "off"
           : options.registerBytes == 0 ? "auto"
                                        : std::to_string(options.registerBytes);
  }
  if (name == "RONDO_SPIN_BOUND_MS") return std::to_string(options.spinBoundMs);
  if (name == "RONDO_STALL_SECONDS") return std::to_string(options.stallSeconds);
  if (name == "RONDO_TIMEOUT_MS") return std::to_string(options.timeoutMs);
  if (name == "RONDO_NET_IF") return options.netInterfaces;
  if (name == "RONDO_BOOT_TIMEOUT_MS") return std::to_string(options.bootTimeoutMs);
  if (name == "RONDO_LOG") return options.log;
  if (name == "RONDO_LOG_FILE") return options.logFile;
  if (name == "RONDO_RECORD") return options.record;
  if (name == "RONDO_DUMP_SIGNAL") {
    return options.dumpSignal == 0 ? "" : signalName(options.dumpSignal);
  }
  throw Error(rondoInternalError, "options table row " + name + " has no value");
}

}  // namespace rondo
