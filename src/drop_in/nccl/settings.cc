#include "drop_in/nccl/settings.h"

#include <strings.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "api/rondo.h"
#include "base/error.h"
#include "drop_in/nccl/abi.h"

namespace rondo::nccl {
namespace {

Loud readLoud() {
  const char* value = std::getenv("NCCL_DEBUG");
  if (value == nullptr) return Loud::Off;
  if (strcasecmp(value, "VERSION") == 0) return Loud::Version;
  if (strcasecmp(value, "WARN") == 0) return Loud::Warn;
  const bool most = strcasecmp(value, "INFO") == 0 || strcasecmp(value, "TRACE") == 0 ||
                    strcasecmp(value, "ABORT") == 0;
  return most ? Loud::Info : Loud::Off;
}

Loud loud() {
  static const Loud one = readLoud();
  return one;
}

std::string hostName() {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

/// NCCL_DEBUG_FILE with %h and %p replaced by the host's name and the process's number.
std::string debugFile(const char* pattern) {
  std::string path;
  for (const char* at = pattern; *at != '\0'; ++at) {
    if (at[0] == '%' && at[1] == 'h') {
      path += hostName();
      ++at;
    } else if (at[0] == '%' && at[1] == 'p') {
      path += std::to_string(getpid());
      ++at;
    } else {
      path += *at;
    }
  }
  return path;
}

/// Where lines go: NCCL_DEBUG_FILE, as NCCL has it where NCCL_DEBUG asks for more than the version.
std::FILE* openLog() {
  const char* const pattern = std::getenv("NCCL_DEBUG_FILE");
  if (pattern == nullptr || *pattern == '\0' || loud() <= Loud::Version) return stderr;
  const std::string path = debugFile(pattern);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "rondo nccl: NCCL_DEBUG_FILE: %s: %s; its lines go to standard error\n",
                 path.c_str(), std::strerror(errno));
    return stderr;
  }
  std::setvbuf(file, nullptr, _IOLBF, BUFSIZ);
  return file;
}

/// A variable of NCCL's, or several with the same beginning.
struct Variable {
  const char* name;
  bool begins;          ///< `name` is how they begin.
  const char* instead;  ///< Rondo's; nullptr: silently accepted, as it asks for nothing else.
};

constexpr Variable kVariables[] = {
    {"NCCL_DEBUG", true, nullptr},     // with NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE
    {"NCCL_VERSION", false, nullptr},  // set by images, for people
    {"NCCL_CONF_FILE", false, nullptr},
    {"NCCL_NVLS_ENABLE", false, nullptr},
    {"NCCL_CUMEM_", true, nullptr},
    {"NCCL_GRAPH_", true, nullptr},
    {"NCCL_LAUNCH_", true, nullptr},
    {"NCCL_CHECKS_DISABLE", false, nullptr},
    {"NCCL_CHECK_POINTERS", false, nullptr},
    {"NCCL_ASYNC_ERROR_HANDLING", false, nullptr},  // PyTorch's own
    {"NCCL_BLOCKING_WAIT", false, nullptr},
    {"NCCL_DESYNC_DEBUG", false, nullptr},
    {"NCCL_SOCKET_IFNAME", false, "RONDO_NET_IF"},
    {"NCCL_P2P_", true, "RONDO_P2P"},
    {"NCCL_HOSTID", false, "RONDO_HOSTID"},
    {"NCCL_ALGO", false, "RONDO_TUNE"},
    {"NCCL_PROTO", false, "RONDO_TUNE"},
    {"NCCL_TUNER_", true, "RONDO_TUNE"},
    {"NCCL_MAX_NCHANNELS", false, "RONDO_SM_BUDGET"},
    {"NCCL_MIN_NCHANNELS", false, "RONDO_SM_BUDGET"},
    {"NCCL_MAX_CTAS", false, "RONDO_SM_BUDGET"},
    {"NCCL_MIN_CTAS", false, "RONDO_SM_BUDGET"},
    {"NCCL_CTA_POLICY", false, "RONDO_SM_BUDGET"},
    {"NCCL_NTHREADS", false, "RONDO_TUNE"},
    {"NCCL_BUFFSIZE", false, "RONDO_SM_BUDGET"},
    {"NCCL_IB_", true, "UCX_NET_DEVICES and other UCX_ variables"},
    {"NCCL_NET", true, "UCX_TLS"},
};

/// What Rondo has instead; "" if it has nothing, nullptr if there is nothing to be said.
const char* insteadOf(std::string_view name) {
  for (const Variable& one : kVariables) {
    const bool same = one.begins ? name.starts_with(one.name) : name == one.name;
    if (same) return one.instead;
  }
  return "";
}

}  // namespace

void logLine(Loud least, const std::string& text) {
  if (loud() < least) return;
  static std::FILE* const log = openLog();
  std::fprintf(log, "rondo nccl [%s:%d]: %s\n", hostName().c_str(), static_cast<int>(getpid()),
               text.c_str());
}

std::string variablesText(const char* const* environment) {
  std::string list;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (!entry.starts_with("NCCL_")) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    const char* instead = insteadOf(name);
    if (instead == nullptr) continue;
    list += (list.empty() ? "" : ", ") + std::string(name);
    if (*instead != '\0') list += format(" (Rondo: %s)", instead);
  }
  if (list.empty()) return "";
  return "these variables are NCCL's and do nothing here: " + list +
         "; Rondo's own are listed by rondo-info --options";
}

void warnOfVariables() {
  static std::once_flag once;
  std::call_once(once, [] {
    logLine(Loud::Version,
            format("Rondo %d.%d.%d answers as NCCL %d.%d.%d", RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH,
                   kVersion / 10000, kVersion / 100 % 100, kVersion % 100));
    const std::string text = variablesText(environ);
    if (!text.empty()) std::fprintf(stderr, "rondo nccl: %s\n", text.c_str());
  });
}

namespace {

/// Ranks of a program that was written for NCCL may come minutes apart: NCCL waits for ever. Set
/// while the library is loaded, when there is one thread.
[[gnu::constructor]] void waitLonger() {
  constexpr int kKeepWhatIsSet = 0;
  setenv("RONDO_BOOT_TIMEOUT_MS", "600000", kKeepWhatIsSet);
}

}  // namespace

}  // namespace rondo::nccl
