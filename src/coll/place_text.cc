#include "coll/place_text.h"

#include <algorithm>

#include "base/error.h"
#include "p2p/process_state.h"

namespace rondo {
namespace {

double seconds(int64_t since, int64_t now) {
  return static_cast<double>(std::max<int64_t>(0, now - since)) * 1e-9;
}

std::string callName(const FlightOp& op) {
  if (op.facts.isTransfers()) return flightText(op.facts);
  return op.facts.numberText() + ", " + flightText(op.facts);
}

/// The call of another communicator that its process is in.
std::string elsewhere(const FlightProcess& process, const FlightComm& comm, int64_t now) {
  for (const FlightComm& other : process.comms) {
    const FlightOp* const last = other.last();
    if (other.id == comm.id || !other.alive || last == nullptr || !last->running()) continue;
    return format(", it has been in %s of communicator \"%s\" for %.3g s", callName(*last).c_str(),
                  other.name.c_str(), seconds(last->started, now));
  }
  return "";
}

}  // namespace

std::string placeText(const FlightProcess& process, const FlightComm& comm, int64_t now) {
  const FlightOp* const last = comm.last();
  const bool calls = last != nullptr && last->running();
  const bool known = isProcess(process.pid, process.token);
  const ProcessState state = known ? readProcessState(process.pid) : ProcessState{};
  if (calls && !state.stopped()) return "";
  std::string out = format("rank %d is in its call", comm.rank);
  if (!calls) {
    out = format("rank %d has made no call for %.3g s", comm.rank,
                 seconds(last != nullptr ? last->ended : comm.born, now)) +
          elsewhere(process, comm, now);
  }
  if (!known) return out;
  out += ", its process is " + state.text;
  const std::string stack =
      state.letter == 'S' || state.letter == 'D' ? kernelStackText(process.pid) : std::string();
  return stack.empty() ? out : out + " (" + stack + ")";
}

std::string placeForFar(const FlightProcess& process, const FlightComm& comm, int64_t now) {
  const FlightOp* const last = comm.last();
  const std::string place = placeText(process, comm, now);
  if (last == nullptr) return place + "; it is before its first call";
  if (!last->running()) return place + "; its last call was " + callName(*last);
  const std::string call = callName(*last);
  const double since = seconds(last->started, now);
  if (!place.empty()) return place + format("; that is %s, for %.3g s", call.c_str(), since);
  return format("rank %d has been in %s for %.3g s", comm.rank, call.c_str(), since);
}

}  // namespace rondo
