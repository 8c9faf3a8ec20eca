#pragma once
// A rank's connections in a forming group, and gathering along the tree that they make.

#include <poll.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "p2p/boot_link.h"
#include "p2p/boot_tree.h"

namespace rondo {

/// The other side closed a connection without a word.
class LinkEnded : public Error {
 public:
  using Error::Error;
};

/// Every rank has a connection to the process that made its id (the maker; a rank that stands for
/// the others of its id has two), to its parent and to its children. Blobs go up and down the tree.
/// Failures go to all neighbours and to the maker, which tells everybody, so that all ranks throw
/// the same sentence.
class BootLinks {
 public:
  BootLinks(int rank, int ranks, int limitMs, int ids = 1);
  /// Says goodbye to the maker if nothing has failed.
  ~BootLinks();
  BootLinks(const BootLinks&) = delete;
  BootLinks& operator=(const BootLinks&) = delete;

  /// Proves the secret to whoever listens at the other end of `fd` and has it proved back. The
  /// connection stays. `rank` -1: the maker. `who` is for sentences, `limitMs` for each answer.
  /// Throws Error.
  wire::Welcome greet(int rank, UniqueFd fd, wire::Hello hello, const Secret& secret,
                      const std::string& who, int limitMs);

  /// The first half of greet(): the proof is sent, the answer not read. finishGreeting() reads it;
  /// `hello` must stay until then. Behind its LinkEnded another connection may be tried.
  BootLink hail(int rank, UniqueFd fd, wire::Hello& hello, const Secret& secret,
                const std::string& who, int limitMs);
  wire::Welcome finishGreeting(BootLink link, const wire::Hello& hello, const Secret& secret,
                               const std::string& who, int limitMs);

  /// A child whose Hello has been accepted.
  void addChild(int rank, UniqueFd fd, const wire::Hello& hello, const Secret& secret);

  /// Waits so long until the whole tree is there.
  void meet(int limitMs);

  /// The tree is complete.
  void setEstablished() { established_ = true; }

  /// Waits on `set` and listens to the maker at the same time; what poll() returned for `set`.
  /// Throws the maker's Failure.
  int waitFor(std::vector<pollfd>& set, int timeoutMs);

  /// As Bootstrap::allGather.
  void gather(const void* mine, size_t bytes, void* all);

  /// Throws what the maker may say about it in the next moment, else as fail(): for errors of which
  /// another rank's end may be the cause.
  [[noreturn]] void failUnlessTold(int code, const std::string& sentence);

  /// If the calling thread's wait was ended from outside (p2p/interrupt.h): tells everybody and
  /// throws.
  void checkInterrupt();

  /// Tells everybody and throws.
  [[noreturn]] void fail(int code, const std::string& sentence);

  /// Frames that this rank has sent and received.
  uint64_t messages() const;

 private:
  BootLink* parent();
  void receive(BootLink& link, wire::Kind kind, uint32_t bytes, const std::string& who,
               int limitMs);
  void awaitAll();
  bool pollAll(int timeoutMs);
  void listenTo(BootLink& link);
  void begin(BootLink& link);
  bool finish(BootLink& link);
  void ask();
  std::vector<int> missing(bool alsoPresent) const;
  void sendOrFail(BootLink& link, const wire::Header& header, const void* body, size_t bytes);
  [[noreturn]] void failLate(const std::vector<int>& late);
  [[noreturn]] void passOn(const BootLink& link);

  int rank_, ranks_, limitMs_;
  TreePlace place_;
  std::vector<BootLink> links_;
  bool established_ = false, failed_ = false;
  bool asked_ = false;  // a neighbour has waited long enough
  size_t bytes_ = 0;    // of the current gather, a rank
  char* all_ = nullptr;
  uint64_t atTheGate_ = 0;  // messages to and from children before they had a link
};

}  // namespace rondo
