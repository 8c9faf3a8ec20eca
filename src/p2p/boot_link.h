#pragma once
// One connection between ranks of a forming group, frame by frame.

#include <string>
#include <vector>

#include "p2p/id_wire.h"
#include "p2p/tcp_socket.h"

namespace rondo {

/// Non-blocking to read, so that a rank can listen to several; sends wait, up to a time.
class BootLink {
 public:
  /// `rank` at the other end, -1: the process that made the id.
  BootLink(int rank, UniqueFd fd) : rank_(rank), fd_(std::move(fd)) {}

  int rank() const { return rank_; }
  int fd() const { return fd_.get(); }
  bool isOpen() const { return fd_.get() >= 0; }
  void close() { fd_ = UniqueFd(); }

  enum class Found {
    Nothing,  ///< More must come first.
    Header,   ///< header() is new; expect() must be called before the next read().
    Body,     ///< What was expected is in its place.
    Ended     ///< Closed at the other side, or broken.
  };
  Found read();
  const wire::Header& header() const { return header_; }
  /// The frame's body has `bytes` and goes to `to`.
  void expect(void* to, size_t bytes);
  /// A short body, kept in body().
  void expectBody(size_t bytes);
  const std::vector<char>& body() const { return body_; }

  /// False: broken, or `deadline` passed; what the other side said last can still be read. After
  /// half a frame nothing is sent any more: the other side would take it for the rest.
  bool send(const std::vector<char>& message, const Deadline& deadline);
  bool send(const wire::Header& header, const void* body, size_t bytes, const Deadline& deadline);

  /// Frames sent and received so far.
  uint64_t messages() const { return messages_; }

  // What the group's exchange (BootLinks) knows of this neighbour in the current wait.
  bool awaited = false;  ///< Its frame has to come.
  bool present = false;  ///< It has answered Ask.

 private:
  bool sendBytes(const void* bytes, size_t count, int flags, const Deadline& deadline);

  int rank_;
  UniqueFd fd_;
  enum { InHeader, InBody } state_ = InHeader;
  wire::Header header_{};
  char* to_ = nullptr;
  size_t bytes_ = 0, have_ = 0;
  std::vector<char> body_;
  uint64_t messages_ = 0;
  bool torn_ = false;
};

}  // namespace rondo
