#pragma once
// Signals by which a user may ask a process something, as text.

#include <string>

namespace rondo {

/// "USR2", "SIGUSR2", "12", "RTMIN+3": one that no kernel sends for an error, and that programs are
/// free to use. "" is 0: none. False: it is not one of these.
bool parseSignal(const std::string& text, int* signal);
/// "USR2", "RTMIN+3".
std::string signalName(int signal);
/// What parseSignal() takes, for sentences.
extern const char* const kSignalsAllowed;

}  // namespace rondo
