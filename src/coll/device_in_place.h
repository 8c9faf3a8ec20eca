#pragma once
// Sends whose memory receives of the same call write to: an all-to-all in place.

#include <cstdint>
#include <span>
#include <vector>

#include "coll/exchange.h"
#include "coll/stream_memory.h"

namespace rondo {

/// What such a call becomes: first what it sends is copied aside, then all is sent from there. A
/// rank's own matter: its peers may have two buffers.
class InPlaceExchange {
 public:
  /// Of rank `rank`; what it sends to itself stays where it is.
  InPlaceExchange(std::span<const Transfer> transfers, int rank);

  /// Of scratch, which begins at a multiple of 16.
  uint64_t scratchBytes() const { return scratchBytes_; }
  void useScratch(char* scratch);

  /// After useScratch(): copies of this rank to itself; then, behind them, everything else.
  std::span<const Transfer> copies() const { return copies_; }
  std::span<const Transfer> moves() const { return moves_; }

 private:
  static bool aside(const Transfer& t, int rank) {
    return t.sends && t.peer != rank && t.bytes > 0;
  }
  const int rank_;
  uint64_t scratchBytes_ = 0;
  std::vector<Transfer> copies_, moves_;
};

/// Such a call on `stream`, by way of memory of `device` (StreamMemory); exchange(part) enqueues.
template <class Device, class Exchange>
void runInPlace(const char* name, std::span<const Transfer> transfers, int rank,
                rondoStream_t stream, Device& device, const Exchange& exchange) {
  InPlaceExchange call(transfers, rank);
  if (call.scratchBytes() == 0) return exchange(transfers);
  DeviceCall of{};
  of.name = name;
  of.stream = stream;
  const StreamMemory scratch(device, of, call.scratchBytes());
  call.useScratch(static_cast<char*>(scratch.get()));
  exchange(call.copies());
  exchange(call.moves());
}

}  // namespace rondo
