#include "coll/device_calls.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "coll/scaled_ops.h"
#include "p2p/process_state.h"

namespace rondo {
namespace {

const DeviceCalls* find(const std::vector<DeviceCalls>& all, int rank) {
  const auto found =
      std::find_if(all.begin(), all.end(), [rank](const auto& each) { return each.rank == rank; });
  return found == all.end() ? nullptr : &*found;
}

bool anyCaptured(const std::vector<DeviceCalls>& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& each) { return each.captured(); });
}

/// Operators that were made have a number of their own on each rank.
bool sameOp(int32_t a, int32_t b) {
  return a == b || (a >= ScaledOps::kFirst && b >= ScaledOps::kFirst);
}

bool sameCall(const OpFacts& a, const OpFacts& b) {
  if (a.collective != b.collective || a.count != b.count || a.type != b.type) return false;
  const auto collective = static_cast<Collective>(a.collective);
  return (!isReduction(collective) || sameOp(a.op, b.op)) &&
         (!isRooted(collective) || a.root == b.root);
}

std::string ageText(int64_t since, int64_t now) {
  return format("%.3g s ago", static_cast<double>(std::max<int64_t>(0, now - since)) * 1e-9);
}

/// "collective 12 there, allreduce with ..., launched 31 s ago".
std::string lastText(const DeviceCalls& calls, int64_t now) {
  if (calls.ops.empty()) return "none";
  const FlightOp& last = calls.ops.back();
  const std::string number = last.facts.isTransfers()   ? ""
                             : last.facts.sequence == 0 ? "a call that was refused, "
                                                        : last.facts.numberText() + " there, ";
  const std::string served = last.facts.served();
  return number + flightText(last.facts) + (served.empty() ? "" : " (" + served + ")") +
         ", launched " + ageText(last.started, now);
}

/// Kernels that wait say so five times a second.
constexpr int64_t kFreshNs = 2'000'000'000;

/// A kernel that has been launched and does not wait has not begun (something on its GPU comes
/// first), or has ended.
std::string kernelText(const DeviceCalls& calls, int64_t now) {
  if (calls.ops.empty() || now - calls.ops.back().started < kFreshNs) return "";
  const bool waits = calls.kernelWaits >= 0 && now - calls.kernelWaits < kFreshNs;
  return waits ? ", its kernel waits too" : ", no kernel of it says that it waits";
}

}  // namespace

uint64_t DeviceCalls::collectives() const {
  uint64_t most = 0;
  for (const FlightOp& op : ops) most = std::max(most, op.facts.collectivesSoFar());
  return most;
}

bool DeviceCalls::captured() const {
  return std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op.facts.captured; });
}

void noteOver(const std::vector<bool>& over, std::vector<DeviceCalls>* all) {
  for (DeviceCalls& each : *all) {
    const auto at = static_cast<size_t>(each.rank);  // as others wrote it
    if (at < over.size() && over[at]) each.left = true;
  }
}

std::vector<DeviceCalls> readDeviceCalls(uint64_t id, const std::vector<bool>& over) {
  std::map<int, DeviceCalls> found;
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != id || (!comm.alive && found.count(comm.rank) != 0)) continue;
      DeviceCalls& calls = found[comm.rank];
      calls.rank = comm.rank;
      calls.who =
          format("rank %d (host \"%s\", pid %d)", comm.rank, process.host.c_str(), process.pid);
      const bool known = isProcess(process.pid, process.token);
      calls.process = known ? readProcessState(process.pid).text : "";
      calls.left = !comm.alive;
      calls.kernelWaits = comm.kernelWaits;
      calls.ops = comm.device;
    }
  }
  std::vector<DeviceCalls> all;
  for (auto& each : found) all.push_back(std::move(each.second));
  noteOver(over, &all);
  return all;
}

int deviceDeserter(const std::vector<DeviceCalls>& all, int me) {
  const DeviceCalls* const mine = find(all, me);
  if (mine == nullptr || anyCaptured(all)) return -1;
  for (const DeviceCalls& each : all) {
    if (each.rank != me && each.left && each.collectives() < mine->collectives()) return each.rank;
  }
  return -1;
}

std::string deviceMismatch(const std::vector<DeviceCalls>& all, const std::string& name) {
  if (anyCaptured(all)) return "";
  struct First {
    int rank;
    const FlightOp* op;
  };
  std::map<uint64_t, First> firsts;
  std::map<uint64_t, std::string> differ;
  for (const DeviceCalls& each : all) {
    for (const FlightOp& op : each.ops) {
      if (op.facts.isTransfers() || op.facts.sequence == 0) continue;  // 0: refused
      const auto [at, fresh] = firsts.emplace(op.facts.sequence, First{each.rank, &op});
      if (fresh || sameCall(at->second.op->facts, op.facts)) continue;
      differ.emplace(
          op.facts.sequence,
          format("rank %d calls %s where rank %d calls %s: both are %s on device memory "
                 "of communicator \"%s\"; allowed: the same call on every rank",
                 at->second.rank, flightText(at->second.op->facts).c_str(), each.rank,
                 flightText(op.facts).c_str(), op.facts.numberText().c_str(), name.c_str()));
    }
  }
  return differ.empty() ? "" : differ.begin()->second;
}

std::string deviceStall(const std::vector<DeviceCalls>& all, int me, const std::string& name,
                        double seconds, int64_t now) {
  const DeviceCalls* const mine = find(all, me);
  std::string out = format("communicator \"%s\": a kernel of %s has waited %.3g s", name.c_str(),
                           mine != nullptr ? mine->who.c_str() : "this rank", seconds);
  if (mine == nullptr) return out;
  out += "; its last call on device memory is " + lastText(*mine, now);
  const bool counts = !anyCaptured(all);
  std::string missing, others;
  for (const DeviceCalls& each : all) {
    if (each.rank == me) continue;
    std::string& list = counts && each.collectives() < mine->collectives() ? missing : others;
    list += (list.empty() ? "" : "; ") + each.who + (each.left ? " has left, " : "") +
            " last called " + lastText(each, now) + kernelText(each, now);
    if (!each.process.empty()) list += ", its process is " + each.process;
  }
  if (!missing.empty()) out += ". Not in that call yet: " + missing;
  if (!others.empty()) out += ". Others: " + others;
  if (!counts) out += ". Calls of graphs are not counted";
  return out;
}

}  // namespace rondo
