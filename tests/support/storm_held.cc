#include "support/storm_held.h"

namespace rondo::testing {

StormHeld::StormHeld(const StormCall& issued, int rankInComm, int sizeOfComm, std::mt19937& own)
    : call(issued), rank(rankInComm), size(sizeOfComm) {
  if (call.barrier) return;
  call.transfers ? takeMessages(own) : takeCollective(own);
}

void StormHeld::takeCollective(std::mt19937& own) {
  args = call.caseOf(size);
  side = sideOf(args, rank, size);
  const size_t element = typeSize(args.type), aligned = std::min<size_t>(element, 8);
  const auto skew = [&] { return own() % 8 * aligned; };
  aliased = args.inPlace && side.mayAlias;
  if (!aliased) {
    send = StormBuffer(side.sendCount * element, skew());
    recv = StormBuffer(side.recvCount * element, skew());
    from = send.data();
    to = recv.data();
  } else {
    const auto before = static_cast<size_t>(side.alias < 0 ? -side.alias : 0);
    const auto past = static_cast<size_t>(side.alias > 0 ? side.alias : 0);
    const size_t count = std::max(before + side.recvCount, past + side.sendCount);
    recv = StormBuffer(count * element, skew());
    from = recv.data() + past * element;
    to = recv.data() + before * element;
  }
}

void StormHeld::takeMessages(std::mt19937& own) {
  messages = messagesOf(call, size);
  size_t out = 0, in = 0;
  for (const StormMessage& each : messages) {
    if (each.from == rank) out = std::max(out, each.out + each.bytes);
    if (each.to == rank) in = std::max(in, each.in + each.bytes);
  }
  send = StormBuffer(out, own() % 64);
  recv = StormBuffer(in, own() % 64);
  from = send.data();
  to = recv.data();
}

/// Of the buffers before the call, or after it; returns that of `send`.
std::vector<char> StormHeld::images(std::vector<char>* gets, bool after) const {
  std::vector<char> gives = send.image();
  *gets = recv.image();
  if (call.transfers) {
    for (const StormMessage& each : messages) {
      const StormWords words{stamp, each.from};
      if (each.from == rank) words.lay(send.dataIn(gives) + each.out, each.out, each.bytes);
      if (each.to == rank && after) {
        words.lay(recv.dataIn(*gets) + each.in, each.out, each.bytes);
      }
    }
    return gives;
  }
  const StormValues values(args, call.scaled, stamp);
  const auto element = static_cast<ptrdiff_t>(typeSize(args.type));
  char* const given = aliased ? recv.dataIn(*gets) + std::max<ptrdiff_t>(side.alias, 0) * element
                              : send.dataIn(gives);
  if (side.usesSend) values.give(given, rank, side.sendCount);
  const ptrdiff_t before = aliased ? std::max<ptrdiff_t>(-side.alias, 0) * element : 0;
  if (after) values.get(recv.dataIn(*gets) + before, side);
  return gives;
}

void StormHeld::fill(uint32_t newStamp) {
  if (call.barrier) return;
  stamp = newStamp;
  std::vector<char> gets;
  send.set(images(&gets, false));
  recv.set(gets);
}

std::string StormHeld::wrong() const {
  if (call.barrier) return "";
  std::vector<char> gets;
  const std::string gave = send.difference(images(&gets, true)), got = recv.difference(gets);
  return (got.empty() ? "" : "; gets" + got) + (gave.empty() ? "" : "; sendbuff is changed" + gave);
}

}  // namespace rondo::testing
