#pragma once
// One forming group, as the process that made its unique id sees it.

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "p2p/boot_gate.h"
#include "p2p/boot_tree.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// A state machine that never blocks. Ranks register; when all have, each is told where its parent
/// in the tree is, and the tree does the rest (p2p/boot_links.h). The ranks stay connected until
/// they have what they came for, so that one that ends early, or fails, is everybody's failure at
/// once. A joiner that says something wrong is refused without harm to the others; ranks that stay
/// away beyond the limit end the group, and everybody gets the sentence that says who.
class IdGroup {
 public:
  /// `hostHash` is this host's: another user's ranks on it are refused early.
  IdGroup(const Secret& secret, uint64_t hostHash, Listeners listeners);
  ~IdGroup();
  IdGroup(const IdGroup&) = delete;
  IdGroup& operator=(const IdGroup&) = delete;

  const Endpoints& endpoints() const { return gate_.endpoints(); }

  /// What to poll, appended to `set`.
  void collect(std::vector<pollfd>& set);

  /// Acts on the entries that collect() appended, now with poll's findings.
  void handle(const pollfd* entries);

  /// Milliseconds until handle() has something to do without any event; -1: never.
  int timeout() const;

  /// Everybody has come and gone; the group may be destroyed.
  bool finished() const { return finished_; }

 private:
  struct Link;  // one registered rank's connection

  void join(Gate::Visitor& visitor);
  std::string objection(const wire::Hello& hello, int* code) const;
  std::string otherIds(const wire::Hello& hello) const;
  size_t slotOf(int rank) const { return static_cast<size_t>(part_.slotOf(rank)); }
  void welcomeAll();
  void read(Link& link);
  bool parse(Link& link);
  void leave(Link& link);
  void write(Link& link);
  void send(Link& link, const std::vector<char>& message);
  void refuse(Link& link, int code, const std::string& sentence);
  void fail(int code, const std::string& sentence);
  void checkTime();
  std::string absentRanks() const;

  Secret secret_;
  uint64_t hostHash_;
  Gate gate_;
  size_t gateEntries_ = 0;
  std::vector<std::unique_ptr<Link>> links_;
  IdPart part_;                // who joins here; no ranks: not known yet
  std::vector<Link*> bySlot_;  // nullptr: not joined, or gone
  std::vector<char> everJoined_;
  int firstRank_ = -1;  // who fixed the number of ranks
  int joined_ = 0;
  bool waiting_ = false;  // somebody waits for others to join, since waitingSince_
  Clock::time_point waitingSince_;
  int limitMs_ = 0;
  int failureCode_ = 0;
  std::string failure_;  // why the group has ended early
  bool finished_ = false;
};

}  // namespace rondo
