#pragma once
// Passing file descriptors among processes of one host.

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// One rank's end of the node's exchange: a datagram socket in the abstract name space whose name
/// is made of the group's secret and the rank, so that nobody can guess it before it exists, nor
/// from another rank's. A message from another user id (the kernel's SCM_CREDENTIALS decide) or
/// without the whole secret is dropped, its descriptors are closed, and it is counted.
class FdExchange {
 public:
  /// Binds the socket. Between the constructors of all ranks and the first exchange() there must be
  /// an allGather. `limitMs`: for each exchange().
  FdExchange(Bootstrap& boot, std::vector<int> peers, int limitMs = 30000);
  ~FdExchange();
  FdExchange(const FdExchange&) = delete;
  FdExchange& operator=(const FdExchange&) = delete;

  /// Sends `fd` to every rank in `peers` and receives theirs, in the order of `peers`. A peer that
  /// sends no descriptor (fd -1) yields an empty UniqueFd. Calls boot.idle() while it waits; gives
  /// up with an Error that names the peer when that peer has died, or when the time is over. May
  /// be called several times, in the same order on all ranks.
  std::vector<UniqueFd> exchange(int fd);

  /// Messages dropped so far because they were not a peer's.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Round;
  struct Arrival {  // a message of the next round that came before its time
    size_t peer;
    UniqueFd fd;
  };

  bool sendPending(int fd, Round& round);
  bool receiveAll(Round& round);
  bool receiveOne(Round& round);
  void accept(Round& round, size_t peer, uint32_t number, UniqueFd fd);
  void checkAlive(Round& round);

  Bootstrap& boot_;
  std::vector<int> peers_;
  int limitMs_;
  size_t firstPeer_ = 0;  // where sending starts, so that ranks do not all send to the same one
  UniqueFd socket_;
  uint32_t round_ = 0;
  uint64_t dropped_ = 0;
  std::vector<Arrival> early_;
};

}  // namespace rondo
