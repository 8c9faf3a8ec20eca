#pragma once
// Passing file descriptors among processes of one host.

#include <functional>
#include <vector>

#include "p2p/bootstrap.h"

namespace rondo {

/// A descriptor that is closed with its owner.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();
  int get() const { return fd_; }
  int release();

 private:
  int fd_ = -1;
};

/// One rank's end of the node's exchange: a datagram socket in the abstract name space whose name
/// is made of the group's secret and the rank, so that nobody else can guess it. Messages from
/// another user id are refused (the kernel's SCM_CREDENTIALS decide), and so are ones without the
/// secret.
class FdExchange {
 public:
  /// Binds the socket. Between the constructors of all ranks and the first exchange() there must be
  /// an allGather.
  FdExchange(Bootstrap& boot, const std::vector<int>& peers);
  ~FdExchange();

  /// Sends `fd` to every rank in `peers` and receives theirs, in the order of `peers`. A peer that
  /// sends no descriptor (fd -1) yields an empty UniqueFd. Calls boot.idle() while it waits; gives
  /// up with an Error that names the peer after `limitMs`. May be called several times, in the same
  /// order on all ranks.
  std::vector<UniqueFd> exchange(int fd, int limitMs = 30000);

 private:
  Bootstrap& boot_;
  std::vector<int> peers_;
  UniqueFd socket_;
  uint32_t round_ = 0;
  struct Early;  // descriptors of a later round that came before their time
  std::vector<Early> early_;
};

}  // namespace rondo
