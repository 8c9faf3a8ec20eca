#pragma once
// The 128 bytes of a unique id.

#include <string>

#include "api/rondo_types.h"
#include "p2p/bootstrap.h"
#include "p2p/tcp_socket.h"

namespace rondo {

/// What an id says. Integers are little-endian, as on every machine Rondo runs on.
struct IdBytes {
  char magic[8];
  uint32_t version;
  uint32_t check;  ///< Of all other bytes: a damaged id is refused before anybody is asked.
  Secret secret;
  Endpoints endpoints;  ///< Where the process that made the id listens.
  char hostName[38];    ///< Its host, for sentences only.
  uint32_t members;     ///< Ranks of the communicator that grows by this id; 0: a new one is made.
};
static_assert(sizeof(IdBytes) == RONDO_UNIQUE_ID_BYTES);

/// A finished id.
rondoUniqueId packId(const Secret& secret, const Endpoints& endpoints, const std::string& hostName,
                     int members = 0);

/// Throws Error: rondoInvalidArgument (not an id, or changed), rondoInvalidUsage (of another
/// version of Rondo).
IdBytes readId(const rondoUniqueId& id);

}  // namespace rondo
