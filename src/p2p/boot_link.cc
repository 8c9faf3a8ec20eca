#include "p2p/boot_link.h"

#include <cerrno>

#include "p2p/interrupt.h"

namespace rondo {

BootLink::Found BootLink::read() {
  const bool inHeader = state_ == InHeader;
  const size_t whole = inHeader ? sizeof header_ : bytes_;
  // Not kept between calls: header_ moves with this object.
  char* const to = inHeader ? reinterpret_cast<char*>(&header_) : to_;
  while (have_ < whole) {
    const ssize_t got = recv(fd_.get(), to + have_, whole - have_, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Found::Nothing;
    if (got <= 0) return Found::Ended;
    have_ += static_cast<size_t>(got);
  }
  have_ = 0;
  if (inHeader) return Found::Header;
  state_ = InHeader;
  ++messages_;
  return Found::Body;
}

void BootLink::expect(void* to, size_t bytes) {
  to_ = static_cast<char*>(to);
  bytes_ = bytes;
  state_ = InBody;
}

void BootLink::expectBody(size_t bytes) {
  body_.resize(bytes);
  expect(body_.data(), bytes);
}

bool BootLink::send(const std::vector<char>& message, const Deadline& deadline) {
  ++messages_;
  return sendBytes(message.data(), message.size(), 0, deadline);
}

bool BootLink::send(const wire::Header& header, const void* body, size_t bytes,
                    const Deadline& deadline) {
  ++messages_;
  if (!sendBytes(&header, sizeof header, bytes > 0 ? MSG_MORE : 0, deadline)) return false;
  const bool whole = sendBytes(body, bytes, 0, deadline);
  torn_ = !whole;
  return whole;
}

bool BootLink::sendBytes(const void* bytes, size_t count, int flags, const Deadline& deadline) {
  if (torn_) return false;
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(fd_.get(), from, count, flags | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      std::vector<pollfd> set{{fd_.get(), POLLOUT, 0}};
      const int found = BootWait::poll(set, deadline.left());
      if (found == 0 || (found < 0 && errno == ECANCELED)) {
        torn_ = from != bytes;
        return false;
      }
      continue;
    }
    if (sent < 0) return false;
    from += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace rondo
