#pragma once
// Events as lines of text, for users: RONDO_LOG, RONDO_LOG_FILE. See docs/observing.md.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace rondo {

enum class LogLevel : uint8_t { Off, Error, Warn, Info, Debug };
const char* logLevelName(LogLevel level);

/// Subsystems, by what a user would look for.
enum class LogPart : uint8_t {
  Boot,    ///< Communicators that are made and end: ranks, hosts, ways between them.
  Plan,    ///< What algorithms are chosen, and by which tables.
  Call,    ///< Every call.
  Watch,   ///< Deaths, revocations, stalls, calls that differ.
  Net,     ///< Network devices, connections.
  Device,  ///< GPUs, and why there is none.
};
constexpr int kLogParts = 6;
const char* logPartName(LogPart part);

/// The highest level that is written, for each subsystem.
struct LogLevels {
  LogLevel at[kLogParts] = {};
  bool operator==(const LogLevels&) const = default;
};
/// RONDO_LOG: "info", "debug:call,plan" (the others are silent then); "" is off. False: it is none
/// of these.
bool parseLogLevels(const std::string& text, LogLevels* levels);
/// What parseLogLevels() takes, for sentences.
extern const char* const kLogLevelsAllowed;

/// A file's name with %h as the host's name, %p as the process, %% as %. False: another letter
/// follows a %, or it ends in one.
bool expandFileName(const std::string& pattern, std::string* name);
extern const char* const kFileNameAllowed;

/// From now on: what is written, and where ("": stderr). Both were checked. A file that cannot be
/// opened is said on stderr, which then takes its place. Any thread.
void configureLog(const std::string& levels, const std::string& file);

/// How many lines of a subsystem go through: so many a second, and the next one that does says how
/// many did not.
class LogRate {
 public:
  static constexpr uint64_t kLinesPerSecond = 500;
  /// `nowNs` never runs backwards. True: write it; *leftOut lines before it were not.
  bool admit(uint64_t nowNs, uint64_t* leftOut);

 private:
  uint64_t since_ = 0, lines_ = 0, leftOut_ = 0;
};

namespace log_detail {
extern std::atomic<uint8_t> levels[kLogParts];
void write(LogPart part, LogLevel level, int rank, const std::string& text);
}  // namespace log_detail

inline bool logs(LogPart part, LogLevel level) {
  return log_detail::levels[static_cast<int>(part)].load(std::memory_order_relaxed) >=
         static_cast<uint8_t>(level);
}

/// One line: time, level, subsystem, rank, host, process, then what text() returns, which is not
/// called where nobody would read it. `rank`: of the communicator concerned; -1: of none.
template <class Text>
void logLine(LogPart part, LogLevel level, int rank, const Text& text) {
  if (logs(part, level)) [[unlikely]]
    log_detail::write(part, level, rank, text());
}

/// Several lines that somebody asked for: a line as above that says `what`, then `text` as it is.
/// Written whatever RONDO_LOG says, and at once, so that processes can share a file. `text` ends in
/// a newline.
void logReport(const std::string& what, const std::string& text);

}  // namespace rondo
