#pragma once
// Which of the host's network interfaces UCX's devices are, and which processors are near them.

#include <sched.h>

#include <string>
#include <vector>

namespace rondo {

/// The interfaces that UCX_NET_DEVICES lets UCX use, as RONDO_NET_IF names them: of "mlx5_0:1" the
/// one that has the card's addresses. Without such, RONDO_NET_IF itself.
std::string ucxInterfaces();

/// The network interfaces that UCX_NET_DEVICES lists, at most `most`: several are several ways for
/// long messages. Empty where it lists none, or something else: cards of verbs are UCX's own
/// business.
std::vector<std::string> ucxCards(size_t most);

/// Of the processors in `allowed` those that `list` names, as /sys does ("0-3,8"); all of `allowed`
/// where that leaves none, or the list is none.
cpu_set_t processorsOf(const std::string& list, const cpu_set_t& allowed);

/// From now on the calling thread runs only near the card that UCX uses, within where it may run;
/// wherever it may where /sys does not know, or there are several.
void runNearNetwork();

/// The version of the UCX that is loaded.
std::string ucxVersionText();

/// What UCX may use on this host, for people: its version, UCX_TLS, UCX_NET_DEVICES.
std::string ucxSettingsText();

}  // namespace rondo
