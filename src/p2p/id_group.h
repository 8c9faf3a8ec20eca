#pragma once
// One forming group, as the process that made its unique id sees it.

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "p2p/bootstrap.h"
#include "p2p/fd_exchange.h"
#include "p2p/id_wire.h"
#include "p2p/unix_socket.h"

namespace rondo {

/// A state machine that never blocks: it takes poll's findings, collects the ranks' parts and sends
/// back all of them. A joiner that says something wrong is refused without harm to the others; a
/// member that ends early, or ranks that stay away beyond the limit, end the group, and everybody
/// gets the sentence that says who.
class IdGroup {
 public:
  /// Binds and listens. Throws Error.
  explicit IdGroup(const Secret& secret);
  ~IdGroup();
  IdGroup(const IdGroup&) = delete;
  IdGroup& operator=(const IdGroup&) = delete;

  /// What to poll, appended to `set`.
  void collect(std::vector<pollfd>& set) const;

  /// Acts on the entries that collect() appended, now with poll's findings.
  void handle(const pollfd* entries);

  /// Milliseconds until handle() has something to do without any event; -1: never.
  int timeout() const;

  /// Everybody has come and gone; the group may be destroyed.
  bool finished() const { return finished_; }

 private:
  struct Link;  // one connection

  void acceptAll();
  void read(Link& link);
  void parse(Link& link);
  void join(Link& link, const wire::Hello& hello);
  void gather(Link& link, const char* part, size_t bytes);
  void completeRound();
  void leave(Link& link);
  void write(Link& link);
  void send(Link& link, wire::Kind kind, const void* bytes, size_t count);
  void refuse(Link& link, int code, const std::string& sentence);
  void fail(int code, const std::string& sentence);
  void checkTime();
  std::string absentRanks() const;

  Secret secret_;
  UniqueFd listener_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> byRank_;  // nullptr: not joined, or gone
  std::vector<char> everJoined_;
  int firstRank_ = -1;  // who fixed the number of ranks
  int joined_ = 0, parts_ = 0, gone_ = 0;
  bool waiting_ = false;  // somebody waits for others, since waitingSince_
  Clock::time_point waitingSince_;
  int limitMs_ = 0;
  std::string goneText_;
  int failureCode_ = 0;
  std::string failure_;  // why the group has ended early
  bool finished_ = false;
};

}  // namespace rondo
