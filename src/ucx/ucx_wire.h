#pragma once
// What ranks of different hosts send each other: the header of an active message. Its data, if any,
// are those of one message of a channel.

#include <cstdint>

#include "p2p/call_record.h"

namespace rondo {

enum class UcxKind : uint8_t {
  Hello,     ///< The way works; the first message of a communicator on each, in each direction, and
             ///< once more when the peer's has come. Of a way that is made when it is first used:
             ///< with the number of the sender's first worker, and answered.
  Data,      ///< A message of a channel.
  Credit,    ///< Nothing but `released`.
  Record,    ///< Calls that the sender made.
  Abort,     ///< Ends the communicator; its data are why, if who ended it said so.
  Bye,       ///< The last message on each way that it used: the sender destroyed its communicator.
  ZeroCopy,  ///< Data that stay where they are until the receiver says where they shall go.
  News,      ///< The first of FarNews; the others follow in their order.
};

struct UcxHeader {
  uint64_t group;    ///< The communicator.
  int32_t from, to;  ///< Ranks in it.
  UcxKind kind;
  uint8_t channel;    ///< Data, Credit: 2 * lane, and 1 more in a channel to everyone. Hello, Bye:
                      ///< the rail.
  uint16_t version;   ///< kUcxVersion.
  uint32_t stamp;     ///< Data: see Channels::stamp. Abort: the abort word.
  uint32_t sequence;  ///< Data, ZeroCopy: the number of the message in its channel, or of its kind
                      ///< to this rank, from 0. Abort: the detail. Hello: 1 if the peer's has come
                      ///< by this way, 2 more if nothing else goes out before an answer. Bye: on
                      ///< how many ways it is said; 0: in answer to a hello.
  uint32_t released;  ///< Data, Credit: messages of the same channel in the other direction that
                      ///< the sender has released.
};
static_assert(sizeof(UcxHeader) == 32);

/// The data of a Record message are so many of these.
struct UcxRecord {
  uint64_t sequence;
  uint64_t words[3];
  uint64_t sent, taken;
};

constexpr uint16_t kUcxVersion = 10;
constexpr unsigned kUcxMessageId = 1;

/// Messages of a channel that may be under way: sent, and not known to be released.
constexpr uint32_t kUcxWindow = 16;
/// Bytes of them, in longest messages. Two, as in shared memory, are what algorithms need; but then
/// a reader has to return credit for each, and a message that carries nothing costs 5 to 10 us over
/// TCP. With four, and credit for two at a time, collectives of 256 KiB to 16 MiB take 0.85 to 0.97
/// of the time (two hosts of one and of two ranks on a veth, in turns within one job, 2026-11-22).
constexpr uint64_t kUcxWindowChunks = 4;
/// What a sender has for copies of its messages, in the same.
constexpr uint64_t kUcxRingChunks = 4;

}  // namespace rondo
