#include "drop_in/mpi/rehearsed_own.h"

#include <algorithm>
#include <climits>
#include <deque>
#include <mutex>
#include <vector>

#include "drop_in/mpi/lasting.h"

namespace rondo::drop_in {
namespace {

/// A program that has gone another way than it would among all ranks may never receive them.
constexpr size_t kMostKept = 4096;

struct Sent {
  rondoComm_t comm;
  Envelope envelope;
  std::vector<char> packed;  ///< Nothing where MPI cannot pack so much.
};
struct Awaited {
  rondoComm_t comm;
  Message message;
  LastingType type;
  Envelope* envelope;
};

/// Never destroyed, as the layer's other state.
struct Mailbox {
  std::mutex mutex;
  std::deque<Sent> sent;
  std::vector<Awaited> awaited;
  MPI_Comm apart = MPI_COMM_NULL;  ///< Where no message of the program's is.
};
Mailbox& mailbox() {
  static Mailbox* const one = new Mailbox;
  return *one;
}

bool fits(const Sent& sent, rondoComm_t comm, const Message& wanted) {
  return comm == sent.comm && (wanted.tag == MPI_ANY_TAG || wanted.tag == sent.envelope.tag);
}

MPI_Count bytesOf(const Message& message) {
  MPI_Count size = 0;
  PMPI_Type_size_x(message.type, &size);
  return message.count * size;
}

// MPI_Pack and MPI_Sendrecv are this layer's: a buffer may be on a device.

Sent pack(const KnownComm& known, const Message& message, MPI_Comm comm) {
  Sent sent{known.rondo, {known.rank, message.tag, bytesOf(message)}, {}};
  if (sent.envelope.bytes > INT_MAX / 2) return sent;
  int room = 0, end = 0;
  PMPI_Pack_size(message.count, message.type, comm, &room);
  sent.packed.resize(static_cast<size_t>(room));
  MPI_Pack(message.buffer, message.count, message.type, sent.packed.data(), room, &end, comm);
  sent.packed.resize(static_cast<size_t>(end));
  return sent;
}

void deliver(const Sent& sent, const Message& to, MPI_Comm comm, Envelope* envelope) {
  *envelope = sent.envelope;
  if (sent.envelope.bytes > bytesOf(to)) {
    envelope->code = MPI_ERR_TRUNCATE;
  } else if (!sent.packed.empty()) {
    MPI_Sendrecv(sent.packed.data(), static_cast<int>(sent.packed.size()), MPI_PACKED, 0, 0,
                 const_cast<void*>(to.buffer), to.count, to.type, 0, 0, comm, MPI_STATUS_IGNORE);
  }
}

}  // namespace

void sendToSelf(const KnownComm& known, const Message& message) {
  Mailbox& box = mailbox();
  const std::lock_guard<std::mutex> lock(box.mutex);
  // A copy of MPI_COMM_SELF would have the program's attributes, and call for them.
  if (box.apart == MPI_COMM_NULL) PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &box.apart);
  Sent sent = pack(known, message, box.apart);
  const auto first = std::find_if(box.awaited.begin(), box.awaited.end(), [&](const Awaited& one) {
    return fits(sent, one.comm, one.message);
  });
  if (first != box.awaited.end()) {
    deliver(sent, first->message, box.apart, first->envelope);
    box.awaited.erase(first);
    return;
  }
  if (box.sent.size() == kMostKept) box.sent.pop_front();
  box.sent.push_back(std::move(sent));
}

void receiveFromSelf(const KnownComm& known, const Message& message, Envelope* envelope,
                     bool awaited) {
  Mailbox& box = mailbox();
  const std::lock_guard<std::mutex> lock(box.mutex);
  const auto first = std::find_if(box.sent.begin(), box.sent.end(),
                                  [&](const Sent& one) { return fits(one, known.rondo, message); });
  if (first != box.sent.end()) {
    deliver(*first, message, box.apart, envelope);
    box.sent.erase(first);
  } else if (awaited) {
    const LastingType type(message.type);
    box.awaited.push_back({known.rondo,
                           {message.count, type, message.peer, message.tag, message.buffer},
                           type,
                           envelope});
  }
}

void withdraw(const Envelope* envelope) {
  Mailbox& box = mailbox();
  const std::lock_guard<std::mutex> lock(box.mutex);
  std::erase_if(box.awaited, [=](const Awaited& one) { return one.envelope == envelope; });
}

void forgetOwnMessages(const KnownComm& known) {
  Mailbox& box = mailbox();
  const std::lock_guard<std::mutex> lock(box.mutex);
  std::erase_if(box.sent, [&](const Sent& one) { return one.comm == known.rondo; });
  std::erase_if(box.awaited, [&](const Awaited& one) { return one.comm == known.rondo; });
}

}  // namespace rondo::drop_in
