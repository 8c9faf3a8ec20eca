#pragma once
// Every environment variable that Rondo reads, in one table.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// Whether the network reads and writes device memory itself.
enum class ZeroCopyUse : uint8_t { Auto, On, Off };

/// Which kernels may come close behind the one before them in their stream (programmatic dependent
/// launch).
enum class DependentLaunch : uint8_t { On, Eager, Off };

/// The values in force. Read once per communicator; fields of rondoConfig_t override some.
struct Options {
  std::string hostId;                        ///< RONDO_HOSTID
  std::string cpu;                           ///< RONDO_CPU
  std::string tune;                          ///< RONDO_TUNE
  std::string groups;                        ///< RONDO_GROUPS
  std::string tuneDir;                       ///< RONDO_TUNE_DIR
  bool explain = false;                      ///< RONDO_EXPLAIN
  bool reproducible = false;                 ///< RONDO_REPRODUCIBLE
  uint64_t poolBytes = 16u << 20;            ///< RONDO_POOL_BYTES
  uint64_t spinBoundMs = 0;                  ///< RONDO_SPIN_BOUND_MS; 0: no bound
  uint64_t stallSeconds = 30;                ///< RONDO_STALL_SECONDS; 0: no report
  uint64_t timeoutMs = 0;                    ///< RONDO_TIMEOUT_MS; 0: a slow rank is legal for ever
  std::string netInterfaces;                 ///< RONDO_NET_IF
  uint64_t bootTimeoutMs = 30000;            ///< RONDO_BOOT_TIMEOUT_MS
  uint64_t smBudget = 0;                     ///< RONDO_SM_BUDGET; 0: what is usual
  uint64_t smBudgetMost = 0;                 ///< RONDO_SM_BUDGET_AT_MOST; 0: no bound
  bool noSms = false;                        ///< RONDO_SM_BUDGET=none
  bool noP2p = false;                        ///< RONDO_P2P=off
  ZeroCopyUse zeroCopy = ZeroCopyUse::Auto;  ///< RONDO_NET_ZERO_COPY
  DependentLaunch dependentLaunch = DependentLaunch::On;  ///< RONDO_DEPENDENT_LAUNCH
  bool noRegister = false;                                ///< RONDO_REGISTER=off
  uint64_t registerBytes = 0;                             ///< RONDO_REGISTER; 0: what is usual
  std::string log;                                        ///< RONDO_LOG
  std::string logFile;                                    ///< RONDO_LOG_FILE; empty: stderr
  std::string record;  ///< RONDO_RECORD; empty: errors dump nothing
  int dumpSignal = 0;  ///< RONDO_DUMP_SIGNAL; 0: none

  /// Fields that the program's rondoConfig_t has given, not the environment: sentences name what
  /// somebody has set.
  struct FromConfig {
    bool hostId = false, tune = false, reproducible = false;
  } fromConfig;
};

/// One row of the table.
struct OptionRow {
  const char* name;
  const char* type;      ///< text, size, number, switch
  const char* fallback;  ///< The default, as a user would write it.
  const char* meaning;
  bool mustAgree;  ///< A difference between ranks is an error at communicator creation.
  const char* field = nullptr;  ///< Of a row that must agree: rondoConfig_t's field for it.
};
const std::vector<OptionRow>& optionTable();

/// Reads the environment. Throws Error(rondoInvalidArgument) that names the variable, its value and
/// what is allowed.
Options readOptions();

/// Reads the variable of one row alone: a field of the result. Throws as readOptions().
Options readOption(const OptionRow& row);

/// This one alone. Throws as readOptions().
DependentLaunch readDependentLaunch();

/// Those that joining by unique id needs before there is a group that could be told of errors in
/// the others; these have their defaults. RONDO_LOG and RONDO_LOG_FILE are in force from then on.
/// Throws as readOptions().
Options readBootOptions();

/// The value in force of a row, as text (for the consensus check and rondo-info).
std::string optionText(const Options& options, const OptionRow& row);

/// Whether the row's value is that of its `field`.
bool isFromConfig(const Options& options, const OptionRow& row);

}  // namespace rondo
