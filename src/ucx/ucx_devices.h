#pragma once
// Which of the host's network interfaces UCX's devices are.

#include <string>

namespace rondo {

/// The interfaces that UCX_NET_DEVICES lets UCX use, as RONDO_NET_IF names them: of "mlx5_0:1" the
/// one that has the card's addresses. Without such, RONDO_NET_IF itself.
std::string ucxInterfaces();

/// What UCX may use on this host, for people: its version, UCX_TLS, UCX_NET_DEVICES.
std::string ucxSettingsText();

}  // namespace rondo
