#pragma once
// What the ranks of a forming communicator say to each other before there are channels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace rondo {

using Secret = std::array<unsigned char, 16>;

/// A new one, from the kernel's random numbers. Throws Error.
Secret makeSecret();

/// Blobs among the ranks of one group. Blocking calls; every rank makes the same ones in the same
/// order.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Random bits that only this group knows: they name its sockets.
  virtual const Secret& secret() const = 0;

  /// all[r * bytes ...] = rank r's `mine`. Throws Error. A throw is local to the door's own failure
  /// (MPI error, a socket that broke); it never stands for "another rank had a problem", which is
  /// what agree() is for.
  virtual void allGather(const void* mine, size_t bytes, void* all) = 0;

  /// Called while this rank waits for a peer outside the bootstrap: gives MPI a chance to progress.
  virtual void idle() {}

  /// Every rank says whether its own step worked (`sentence` empty) or why not; throws the same
  /// Error on all ranks if any failed, its sentence naming the first rank that did (a rank with
  /// rondoRemoteError only if there is no other). `code` is the failing rank's rondoResult_t.
  void agree(int code, const std::string& sentence);
  /// The Error that agree() throws for what a rank said; itself it throws the door's own failures
  /// only, of which other ranks need not know.
  std::optional<Error> verdict(int code, const std::string& sentence);
};

}  // namespace rondo
