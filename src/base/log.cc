#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/ticks.h"

namespace rondo {
namespace {

constexpr const char* kLevels[] = {"off", "error", "warn", "info", "debug"};
constexpr const char* kParts[kLogParts] = {"boot", "plan", "call", "watch", "net", "device"};

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

/// Where lines go. Outlives every static: threads may write until the process ends.
struct Sink {
  std::mutex mutex;
  std::string levels, file;  // as configured
  int fd = STDERR_FILENO;
  LogRate rates[kLogParts];
};
Sink& sink() {
  static Sink* const one = new Sink;
  return *one;
}

/// One call of the system, so that lines of several processes in one file stay whole.
void writeWhole(int fd, const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(fd, line.data() + done, line.size() - done);
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

/// "2026-11-21T22:31:04.123456Z".
std::string timeText() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  return format("%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1000);
}

std::string lineOf(LogPart part, LogLevel level, int rank, const std::string& text) {
  // Never destroyed: threads that outlive main write lines, too.
  static const std::string& host = *new std::string(hostName());
  const std::string who = rank < 0 ? "-" : std::to_string(rank);
  std::string line =
      format("%s rondo %s %s rank=%s host=%s pid=%d ", timeText().c_str(), logLevelName(level),
             logPartName(part), who.c_str(), host.c_str(), static_cast<int>(getpid()));
  for (const char c : text) line += c == '\n' ? ' ' : c;  // an event is a line
  return line + "\n";
}

void open(Sink& to, const std::string& pattern) {
  if (to.fd != STDERR_FILENO) close(to.fd);
  to.fd = STDERR_FILENO;
  std::string name;
  if (pattern.empty() || !expandFileName(pattern, &name)) return;
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    writeWhole(STDERR_FILENO,
               format("rondo: RONDO_LOG_FILE: cannot write \"%s\": %s; the log goes to stderr\n",
                      name.c_str(), std::strerror(errno)));
    return;
  }
  to.fd = fd;
}

bool findPart(const std::string& name, int* part) {
  for (int i = 0; i < kLogParts; ++i) {
    if (name != kParts[i]) continue;
    *part = i;
    return true;
  }
  return false;
}

}  // namespace

std::atomic<uint8_t> log_detail::levels[kLogParts] = {};

const char* const kLogLevelsAllowed =
    "off, error, warn, info or debug, for some subsystems only as in debug:call,plan (of boot, "
    "plan, call, watch, net, device)";
const char* const kFileNameAllowed =
    "a file's name, in which %h is the host, %p the process and %% a %";

const char* logLevelName(LogLevel level) { return kLevels[static_cast<int>(level)]; }
const char* logPartName(LogPart part) { return kParts[static_cast<int>(part)]; }

bool parseLogLevels(const std::string& text, LogLevels* levels) {
  *levels = {};
  if (text.empty()) return true;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  int level = 0;
  while (level < static_cast<int>(std::size(kLevels)) && name != kLevels[level]) ++level;
  if (level == static_cast<int>(std::size(kLevels))) return false;
  if (colon == std::string::npos) {
    for (LogLevel& each : levels->at) each = static_cast<LogLevel>(level);
    return true;
  }
  for (size_t begin = colon + 1;;) {
    const size_t end = text.find(',', begin);
    int part = 0;
    if (!findPart(text.substr(begin, end - begin), &part)) return false;
    levels->at[part] = static_cast<LogLevel>(level);
    if (end == std::string::npos) return true;
    begin = end + 1;
  }
}

bool expandFileName(const std::string& pattern, std::string* name) {
  name->clear();
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      *name += pattern[i];
      continue;
    }
    switch (++i < pattern.size() ? pattern[i] : '\0') {
      case 'h':
        *name += hostName();
        break;
      case 'p':
        *name += std::to_string(getpid());
        break;
      case '%':
        *name += '%';
        break;
      default:
        return false;
    }
  }
  return true;
}

void configureLog(const std::string& levels, const std::string& file) {
  LogLevels parsed;
  parseLogLevels(levels, &parsed);
  Sink& to = sink();
  const std::lock_guard<std::mutex> lock(to.mutex);
  if (to.levels == levels && to.file == file) return;
  if (to.file != file) open(to, file);
  to.levels = levels;
  to.file = file;
  for (int i = 0; i < kLogParts; ++i) {
    to.rates[i] = {};
    log_detail::levels[i].store(static_cast<uint8_t>(parsed.at[i]), std::memory_order_relaxed);
  }
}

bool LogRate::admit(uint64_t nowNs, uint64_t* leftOut) {
  if (nowNs - since_ >= 1'000'000'000u) {
    since_ = nowNs;
    lines_ = 0;
  }
  if (lines_ >= kLinesPerSecond) {
    ++leftOut_;
    return false;
  }
  ++lines_;
  *leftOut = leftOut_;
  leftOut_ = 0;
  return true;
}

void log_detail::write(LogPart part, LogLevel level, int rank, const std::string& text) {
  Sink& to = sink();
  const std::lock_guard<std::mutex> lock(to.mutex);
  uint64_t leftOut = 0;
  if (!to.rates[static_cast<int>(part)].admit(monotonicNs(), &leftOut)) return;
  if (leftOut > 0) {
    writeWhole(to.fd, lineOf(part, LogLevel::Warn, -1,
                             format("%llu lines of this subsystem were left out here: more than "
                                    "%llu in a second",
                                    static_cast<unsigned long long>(leftOut),
                                    static_cast<unsigned long long>(LogRate::kLinesPerSecond))));
  }
  writeWhole(to.fd, lineOf(part, level, rank, text));
}

void logReport(const std::string& what, const std::string& text) {
  const std::string whole = lineOf(LogPart::Watch, LogLevel::Info, -1, what) + text;
  Sink& to = sink();
  const std::lock_guard<std::mutex> lock(to.mutex);
  writeWhole(to.fd, whole);
}

}  // namespace rondo
