#pragma once
// Messages that UCX reads and writes where they lie, in whatever memory: by rendezvous, for which
// the receiver is told of a message and says where it shall go.

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "p2p/far_transport.h"
#include "ucx/ucx_wire.h"

namespace rondo {

class UcxTransport;
struct UcxPeer;

/// One that this rank sends or receives.
struct UcxZeroCopy final : ZeroCopy {
  UcxTransport* owner = nullptr;
  UcxPeer* peer = nullptr;
  UcxHeader header{};  ///< UCX wants it to stay.
  bool receives = false;
  void* data = nullptr;
  size_t bytes = 0;
  MemoryKind kind = MemoryKind::Host;

  void begin() { ended_.store(false, std::memory_order_relaxed); }
  void end() { ended_.store(true, std::memory_order_release); }
};

/// Those with one peer. With the network's lock held.
struct UcxZeroCopies {
  /// One that the peer sends, by UCX's description of it.
  struct Offer {
    uint32_t number;
    ucp_worker_h by;
    void* description;
    size_t bytes;
  };
  uint32_t sent = 0;                  ///< So far.
  uint32_t wanted = 0;                ///< Receives so far.
  std::vector<Offer> offers;          ///< That no receive has come for yet.
  std::vector<UcxZeroCopy*> waiting;  ///< Receives that no offer has come for yet.
};

}  // namespace rondo
