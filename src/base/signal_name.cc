#include "base/signal_name.h"

#include <csignal>

namespace rondo {
namespace {

struct Named {
  const char* name;
  int number;
};
constexpr Named kNamed[] = {{"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"URG", SIGURG},
                            {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR}};

/// Digits only, below a thousand; -1: it is something else.
int numberOf(const std::string& text) {
  if (text.empty() || text.size() > 3) return -1;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

bool isRealTime(int signal) { return signal >= SIGRTMIN && signal <= SIGRTMAX; }

}  // namespace

const char* const kSignalsAllowed =
    "USR1, USR2, URG, WINCH, IO, PWR, RTMIN or RTMIN+1 and so on, or the number of one of "
    "these";

bool parseSignal(const std::string& text, int* signal) {
  *signal = 0;
  if (text.empty()) return true;
  const std::string name = text.rfind("SIG", 0) == 0 ? text.substr(3) : text;
  const int number = numberOf(text);
  for (const Named& each : kNamed) {
    if (name == each.name || number == each.number) *signal = each.number;
  }
  if (name == "RTMIN") *signal = SIGRTMIN;
  const int beyond = name.rfind("RTMIN+", 0) == 0 ? numberOf(name.substr(6)) : -1;
  if (beyond >= 0 && isRealTime(SIGRTMIN + beyond)) *signal = SIGRTMIN + beyond;
  if (isRealTime(number)) *signal = number;
  return *signal != 0;
}

std::string signalName(int signal) {
  for (const Named& each : kNamed) {
    if (signal == each.number) return each.name;
  }
  if (!isRealTime(signal)) return std::to_string(signal);
  return signal == SIGRTMIN ? "RTMIN" : "RTMIN+" + std::to_string(signal - SIGRTMIN);
}

}  // namespace rondo
