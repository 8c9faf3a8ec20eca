#pragma once
// What ranks that join by id say to each other and to the process that made it, over TCP.
//
// Who accepts a connection speaks first: Challenge. The other answers Hello, which proves the id's
// secret over the challenge's nonce and covers all that it says; the answer, Welcome, proves it
// back. The secret itself is never sent. What follows is plain: neither secret nor signed.

#include <cstdint>
#include <string>
#include <vector>

#include "p2p/boot_mac.h"
#include "p2p/bootstrap.h"
#include "p2p/tcp_socket.h"

namespace rondo::wire {

enum class Kind : uint32_t {
  Challenge = 1,  ///< Challenge
  Hello = 2,      ///< Hello
  Welcome = 3,    ///< Welcome
  Failure = 4,    ///< int32 code, then the sentence: the group has failed, or the joiner is refused
  Bye = 5,        ///< Rank to maker: has what it came for; its connection ends next.
  Part = 6,       ///< Child to parent: the parts of its branch. Header::bytes is one rank's.
  Result = 7,     ///< Parent to child: all parts. Header::bytes is one rank's.
  Ask = 8,        ///< "I have waited for you as long as I may."
  Waiting = 9     ///< Answer to Ask: "I am here, and wait for others too; you will hear from me."
};

/// Before every message.
struct Header {
  Kind kind;
  uint32_t bytes;  ///< That follow; see Part and Result.
};

using Nonce = std::array<unsigned char, 16>;

struct Challenge {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  Nonce nonce;
};

enum class Purpose : uint16_t {
  Register = 1,  ///< A rank to the process that made the id.
  Child = 2      ///< A rank to its parent in the tree.
};

struct Hello {
  uint32_t version;
  Purpose purpose;
  uint16_t part;  ///< Which of its ids, from 0, this rank takes the one that it registers with for.
  int32_t rank;
  int32_t nranks;
  int32_t limitMs;  ///< How long this rank is ready to wait for others.
  uint32_t user;    ///< Its effective user id.
  uint64_t hostHash;
  Nonce nonce;
  Endpoints endpoints;  ///< Where its children find it; none if it has no children.
  uint16_t moreIds;     ///< The group has so many more ids than one.
  Mac mac;              ///< proof(secret, kHelloRole, Challenge::nonce, all before)
};
static_assert(sizeof(Hello) == 120);

struct Welcome {
  Endpoints endpoints;  ///< To a registering rank: its parent's.
  char unused[2];
  Mac mac;  ///< proof(secret, kWelcomeRole, Hello::nonce, all before)
};
static_assert(sizeof(Welcome) == 72);

constexpr char kMagic[8] = {'R', 'O', 'N', 'D', 'O', 'T', 'C', 'P'};
constexpr uint32_t kVersion = 3;  // 2: of one id only
constexpr const char* kHelloRole = "rondo hello";
constexpr const char* kWelcomeRole = "rondo welcome";
constexpr uint32_t kMostPart = 1u << 20;  ///< Bytes of one rank's part.
constexpr uint32_t kMostFailure = 2048;   ///< Bytes of a Failure; longer sentences are cut.
constexpr int kMostRanks = 1 << 16;       ///< Joined ranks of one group.
constexpr int kMostIds = 1 << 12;         ///< Ids of one group.

/// A header and a body of fixed size, ready to be sent.
std::vector<char> message(Kind kind, const void* body = nullptr, size_t bytes = 0);
std::vector<char> failureMessage(int code, const std::string& sentence);

/// Throws the Error that a Failure's body carries; where it carries nonsense, one that says so.
[[noreturn]] void throwFailure(const std::vector<char>& body, const std::string& from);

Challenge makeChallenge();
/// Fills in `mac`.
void sign(Hello& hello, const Secret& secret, const Nonce& challenge);
void sign(Welcome& welcome, const Secret& secret, const Nonce& hello);
bool isSigned(const Hello& hello, const Secret& secret, const Nonce& challenge);
bool isSigned(const Welcome& welcome, const Secret& secret, const Nonce& hello);

}  // namespace rondo::wire
