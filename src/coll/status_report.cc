#include "coll/status_report.h"

#include <algorithm>

#include "base/error.h"
#include "coll/wait_cycle.h"
#include "p2p/far_news.h"

namespace rondo {
namespace {

/// Nobody is missed sooner: between two calls a rank may compute.
constexpr double kPatience = 1.0;

double since(int64_t then, int64_t now) {
  return static_cast<double>(std::max<int64_t>(0, now - then)) * 1e-9;
}

/// One rank of the communicator, as far as it is known.
struct Member {
  const LocalProcess* process = nullptr;  ///< nullptr: not found on this host.
  const FlightComm* comm = nullptr;
  const FarPlace* far = nullptr;  ///< What its host said; nullptr: it was not asked.
};

/// Where a rank is among the collectives of the communicator.
struct Position {
  bool known = false;    ///< The rest is.
  bool gone = false;     ///< It makes no more calls; nobody misses it.
  bool called = false;   ///< It has called one...
  bool running = false;  ///< ... and is in it.
  uint64_t sequence = 0;
  int64_t since = INT64_MAX;     ///< Of a running one.
  const FlightOp* op = nullptr;  ///< Of this host.
};

/// One communicator over the processes of this host.
class Table {
 public:
  Table(const FlightComm& asked, const std::vector<LocalProcess>& all, int64_t now,
        const FarSurvey& far)
      : asked_(asked),
        now_(now),
        far_(far),
        members_(static_cast<size_t>(std::max(1, asked.size))) {
    for (const LocalProcess& process : all) {
      near_.push_back(process.flights);
      for (const FlightComm& comm : process.flights.comms) {
        if (comm.id != asked.id || comm.rank < 0 || comm.rank >= asked.size) continue;
        Member& member = members_[static_cast<size_t>(comm.rank)];
        if (member.comm == nullptr || comm.alive) member = {&process, &comm};
      }
    }
    for (const FarPlace& place : far.places) {
      if (place.comm != asked.id || place.rank < 0 || place.rank >= asked.size) continue;
      members_[static_cast<size_t>(place.rank)].far = &place;
    }
    findFront();
  }

  Report report() const {
    Report out;
    out.text = format("communicator \"%s\" (%016llx), %d ranks", asked_.name.c_str(),
                      static_cast<unsigned long long>(asked_.id), asked_.size);
    if (!asked_.broken.empty()) {
      out.text += ": broken: " + asked_.broken;
      out.trouble = true;
    }
    out.text += "\n";
    for (int r = 0; r < asked_.size; ++r) {
      out.text += format("  rank %d", r) + rankText(r, &out.trouble) + "\n";
    }
    out.text += "  " + verdict(&out.trouble) + "\n";
    const std::string cycle = waitCycleText(near_, {}, asked_.id, asked_.rank);
    if (!cycle.empty()) out.text += "  A cycle of waits: " + cycle + ".\n";
    out.trouble |= !cycle.empty();
    return out;
  }

 private:
  Position positionOf(const Member& member) const {
    Position out;
    if (member.comm != nullptr) {
      out.known = true;
      out.op = member.comm->lastCollective();
      out.sequence = member.comm->collectives();
      out.called = out.sequence != 0;
      if (out.op == nullptr) return out;
      out.running = out.op->running() && member.comm->alive;
      if (out.running) out.since = out.op->started;
    } else if (member.far != nullptr && member.far->answered) {
      const FarPlace& far = *member.far;
      out.known = true;
      out.gone = (far.flags & PlaceAnswer::kGone) != 0;
      out.called = (far.flags & PlaceAnswer::kCalled) != 0;
      out.running = out.called && (far.flags & PlaceAnswer::kRunning) != 0;
      out.sequence = far.sequence;
      if (out.running) out.since = now_ - int64_t{far.ageMs} * 1'000'000;
    }
    return out;
  }

  /// The newest collective that somebody is in, and since when.
  void findFront() {
    for (const Member& member : members_) {
      const Position at = positionOf(member);
      if (!at.running || (front_.known && at.sequence < front_.sequence)) continue;
      if (!front_.known || at.sequence > front_.sequence) {
        front_ = at;
        continue;
      }
      front_.since = std::min(front_.since, at.since);
      if (front_.op == nullptr) front_.op = at.op;
    }
  }

  bool absent(const Member& member) const {
    const Position at = positionOf(member);
    return front_.known && at.known && !at.gone && (!at.called || at.sequence < front_.sequence);
  }

  bool allKnown() const {
    return !far_.places.empty() &&
           std::all_of(members_.begin(), members_.end(),
                       [this](const Member& member) { return positionOf(member).known; });
  }

  std::string positionText(const FlightComm& comm) const {
    const FlightOp* const op = comm.last();
    if (op == nullptr) {
      return format("before its first call, for %.3g s", since(comm.born, now_));
    }
    const std::string call = op->facts.numberText() + ", " + flightText(op->facts);
    if (!op->running()) return format("after %s, %.3g s ago", call.c_str(), since(op->ended, now_));
    std::string out = format("in %s, for %.3g s", call.c_str(), since(op->started, now_));
    const std::string served = op->facts.served();
    if (!served.empty()) out += " (" + served + ")";
    if (!comm.waits.empty() && comm.waitsSeen >= op->started) out += "; " + comm.waits;
    return out;
  }

  std::string deviceText(const FlightComm& comm) const {
    if (comm.device.empty()) return "";
    const FlightOp& op = comm.device.back();
    return format("; last launched %s, %.3g s ago", flightText(op.facts).c_str(),
                  since(op.started, now_));
  }

  /// Of a rank of which there is no process here.
  std::string elsewhereText(int rank, bool* trouble) const {
    const auto at = static_cast<size_t>(rank);
    const auto own = static_cast<size_t>(asked_.rank);
    if (at >= asked_.members.size() || own >= asked_.members.size()) return " is not known here";
    const MemberText& member = asked_.members[at];
    const std::string who = format(" (host \"%s\", pid %d)", member.host.c_str(), member.pid);
    // Hosts may have one name, as images of a container do.
    const bool far = members_[at].far != nullptr || member.host != asked_.members[own].host;
    if (far) return who + farText(rank, trouble);
    *trouble = true;
    return who + " has no process here that can be read: it has ended, or is of another user";
  }

  /// Of a rank of another host.
  std::string farText(int rank, bool* trouble) const {
    const Member& member = members_[static_cast<size_t>(rank)];
    if (member.far == nullptr) {
      const std::string why = far_.why.empty() ? "" : " (" + far_.why + ")";
      return " is on another host: ask rondo-status there" + why;
    }
    if (!member.far->answered) {
      *trouble = true;
      return ": " + far_.silence;
    }
    const std::string& said = member.far->text;
    if ((member.far->flags & PlaceAnswer::kGone) != 0) return " " + said;
    // It begins with the rank, which stands there already.
    const std::string name = format("rank %d ", rank);
    std::string out =
        ", as its host says: " + (said.starts_with(name) ? said.substr(name.size()) : said);
    if (absent(member)) out += "; NOT IN THAT CALL YET";
    if ((member.far->flags & PlaceAnswer::kStopped) != 0) *trouble = true;
    return out;
  }

  std::string rankText(int rank, bool* trouble) const {
    const Member& member = members_[static_cast<size_t>(rank)];
    if (member.comm == nullptr) return elsewhereText(rank, trouble);
    const ProcessState& state = member.process->state;
    std::string out = format(" (pid %d): ", member.process->pid);
    if (!member.comm->alive) return out + "has destroyed the communicator";
    out += positionText(*member.comm) + deviceText(*member.comm);
    if (absent(member)) out += "; NOT IN THAT CALL YET";
    if (state.stopped() || !state.there || state.letter == 'Z') *trouble = true;
    return out + "; its process is " + state.text + stackText(*member.process, member);
  }

  /// Where the kernel keeps a rank that is missing, if that may be read.
  std::string stackText(const LocalProcess& process, const Member& member) const {
    if (!absent(member)) return "";
    const std::string stack = readKernelStack(process.pid);
    std::string out;
    for (size_t begin = 0; begin < stack.size();) {
      const size_t end = std::min(stack.find('\n', begin), stack.size());
      out += "\n      " + stack.substr(begin, end - begin);
      begin = end + 1;
    }
    return out;
  }

  static bool stopped(const Member& member) {
    if (member.comm != nullptr) return member.process->state.stopped();
    return (member.far->flags & PlaceAnswer::kStopped) != 0;
  }

  std::string verdict(bool* trouble) const {
    const char* const where = allKnown() ? "" : " here";
    if (!front_.known) return format("Nobody%s is in a collective.", where);
    std::string missing;
    for (int r = 0; r < asked_.size; ++r) {
      const Member& member = members_[static_cast<size_t>(r)];
      if (!absent(member)) continue;
      missing += format("%srank %d", missing.empty() ? "" : ", ", r);
      if (member.comm != nullptr && !member.comm->alive) {
        missing += " (has left)";
      } else if (stopped(member)) {
        missing += " (stopped)";
      }
    }
    const double waited = since(front_.since, now_);
    const std::string call = "collective " + std::to_string(front_.sequence) +
                             (front_.op != nullptr ? ", " + flightText(front_.op->facts) : "");
    if (missing.empty()) {
      return format("Everybody%s is in %s, for %.3g s.", where, call.c_str(), waited);
    }
    if (waited >= kPatience) *trouble = true;
    return format("Waited %.3g s in %s, for: %s.", waited, call.c_str(), missing.c_str());
  }

  const FlightComm& asked_;
  int64_t now_;
  const FarSurvey& far_;
  std::vector<Member> members_;
  std::vector<FlightProcess> near_;
  Position front_;
};

/// "collective 12, allreduce with ... (ring) took 3.2 us, ended 0.4 s ago".
std::string operationLine(const char* where, const FlightOp& op, int64_t now) {
  std::string out =
      std::string("    ") + where + op.facts.numberText() + ", " + flightText(op.facts);
  const std::string served = op.facts.served();
  if (!served.empty()) out += " (" + served + ")";
  if (op.running()) return out + format(", has not ended for %.3g s\n", since(op.started, now));
  return out + format(", took %.3g us, ended %.3g s ago\n",
                      static_cast<double>(op.ended - op.started) * 1e-3, since(op.ended, now));
}

std::string operationLines(const char* where, const std::vector<FlightOp>& ops, size_t most,
                           int64_t now) {
  std::string out;
  const size_t count = std::min(most, ops.size());
  for (size_t i = 0; i < count; ++i) out += operationLine(where, ops[ops.size() - 1 - i], now);
  return out;
}

}  // namespace

std::string lastOperations(const FlightComm& comm, size_t most, int64_t now) {
  return operationLines("", comm.host, most, now) +
         operationLines("launch of ", comm.device, most, now);
}

Report reportOn(int pid, const std::vector<LocalProcess>& all, int64_t now, const FarSurvey& far) {
  Report out;
  const auto asked = std::find_if(
      all.begin(), all.end(), [pid](const LocalProcess& process) { return process.pid == pid; });
  if (asked == all.end()) return out;
  out.text = format("process %d (%s, host \"%s\") is %s\n", pid, asked->flights.program.c_str(),
                    asked->flights.host.c_str(), asked->state.text.c_str());
  std::vector<uint64_t> done;  // ranks that are threads have one communicator several times
  for (const FlightComm& comm : asked->flights.comms) {
    if (!comm.alive || std::find(done.begin(), done.end(), comm.id) != done.end()) continue;
    done.push_back(comm.id);
    const Report one = Table(comm, all, now, far).report();
    out.text += one.text;
    out.trouble |= one.trouble;
  }
  if (done.empty()) out.text += "It has no communicator now.\n";
  return out;
}

}  // namespace rondo
