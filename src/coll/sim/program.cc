#include "coll/sim/program.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "coll/sim/output.h"

namespace rondo::sim {
namespace {

/// So that a program's first call of a kind takes a few seconds at most.
constexpr double kMostSteps = 2e6;
/// Transfers of one call that are kept, and lines of flows that are written.
constexpr double kMostKept = 1e6;
constexpr size_t kMostFlows = 1'000'000;

Settings settingsOf(bool keeps) {
  Settings out;
  out.mostSteps = kMostSteps;
  out.mostKept = kMostKept;
  out.record = keeps;
  return out;
}

double micro(Time time) { return static_cast<double>(time) * 1e-6; }

std::vector<int> joined(const std::vector<std::vector<int>>& parts) {
  std::vector<int> out;
  for (const std::vector<int>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// Parts of ranks that are numbered one part after the other.
Parts inTurn(const std::vector<std::vector<int>>& parts) {
  if (parts.size() < 2) return {};
  std::vector<std::vector<int>> out;
  int next = 0;
  for (const std::vector<int>& part : parts) {
    out.emplace_back(part.size());
    std::iota(out.back().begin(), out.back().end(), next);
    next += static_cast<int>(part.size());
  }
  return Parts(std::move(out));
}

std::vector<int> placesOf(const std::vector<int>& numbers, const std::vector<int>& places) {
  std::vector<int> out;
  for (const int number : numbers) out.push_back(places[static_cast<size_t>(number)]);
  return out;
}

/// A name as a column of CSV.
std::string column(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// A name between the quotes of JSON.
std::string quoted(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' '
               ? format("\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)))
               : std::string(1, c);
  }
  return out;
}

}  // namespace

ProgramComm::ProgramComm(const topo::Graph& graph, std::string name, Members members,
                         const std::vector<int>& places, bool keeps)
    : name_(std::move(name)),
      members_(std::move(members)),
      numbers_(joined(members_.parts)),
      on_(graph, placesOf(numbers_, places), settingsOf(keeps), inTurn(members_.parts)) {}

std::vector<int> ProgramComm::hosts() const {
  std::vector<int> out = on_.hosts();
  out.resize(static_cast<size_t>(ranks()));
  return out;
}

Program::Program(topo::Graph graph, const std::string& name, int ranks, int rank, bool keeps)
    : graph_(std::move(graph)), keeps_(keeps) {
  const int most = placesOn(graph_);
  const int all = ranks > 0 ? ranks : most;
  places_ = placeRanks(graph_, std::max(all, most));
  if (rank < 0 || rank >= all) {
    throw Error(rondoInvalidArgument,
                format("argument rank is %d; allowed: 0 to %d", rank, all - 1));
  }
  used_ = static_cast<size_t>(all);
  std::vector<int> numbers(used_);
  std::iota(numbers.begin(), numbers.end(), 0);
  add(name, {{std::move(numbers)}, rank});
}

ProgramComm* Program::add(const std::string& name, Members members) {
  comms_.push_back(
      std::make_unique<ProgramComm>(graph_, name, std::move(members), places_, keeps_));
  return comms_.back().get();
}

std::vector<int> Program::come(size_t count) {
  const size_t fresh = places_.size() - used_;
  if (count > fresh + left_.size()) {
    throw Error(rondoInvalidArgument,
                format("%zu new ranks; allowed: up to %zu, for the machine has places for %zu "
                       "ranks, and on the others are ranks already",
                       count, fresh + left_.size(), places_.size()));
  }
  std::vector<int> out;
  while (out.size() < count && used_ < places_.size()) out.push_back(static_cast<int>(used_++));
  const size_t again = count - out.size();
  out.insert(out.end(), left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(again));
  left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(again));
  return out;
}

void Program::leave(const std::vector<int>& ranks) {
  left_.insert(left_.end(), ranks.begin(), ranks.end());
  std::sort(left_.begin(), left_.end());
  left_.erase(std::unique(left_.begin(), left_.end()), left_.end());
}

std::vector<int> Program::hostsOf(const std::vector<int>& ranks) const {
  return sim::hostsOf(graph_, placesOf(ranks, places_));
}

void Program::note(ProgramComm* comm, const std::string& name, uint64_t bytes,
                   const char* algorithm, Time time, const Source& source) {
  if (time > kMostTime - now_) refuseTime("the program");
  calls_.push_back({name, bytes, algorithm, now_, time, comm});
  sources_.push_back(source);
  comm->last_ = calls_.back();
  ++comm->calls_;
  comm->time_ += time;
  now_ += time;
}

namespace {

bool movesNothing(const ProgramComm& comm, const CallShape& shape) {
  return comm.ranks() == 1 || (shape.bytes == 0 && shape.collective != Collective::Barrier);
}

}  // namespace

Time Program::collective(ProgramComm* comm, const std::string& name, const CallShape& shape) {
  if (movesNothing(*comm, shape)) {
    note(comm, name, shape.bytes, "none", 0, {nullptr, 0, nullptr});
    return 0;
  }
  const Outcome& best = comm->on_.best(shape);
  note(comm, name, shape.bytes, best.algorithm->name, best.result.picoseconds,
       {&best, shape.root, nullptr});
  return best.result.picoseconds;
}

Time Program::foretell(ProgramComm* comm, const CallShape& shape) {
  return movesNothing(*comm, shape) ? 0 : comm->on_.best(shape).result.picoseconds;
}

/// Remembered, so that an exchange costs its simulation once.
const ProgramComm::Exchanged& Program::exchanged(ProgramComm* comm,
                                                 const std::vector<PeerTransfer>& transfers) const {
  const auto found = comm->exchanges_.find(transfers);
  if (found != comm->exchanges_.end()) return found->second;
  const ExchangeJob exchange(comm->on_, comm->rank(), transfers);
  ProgramComm::Exchanged made{exchange.ranks(), {}, exchange.job(keeps_)};
  if (made.ranks.size() > 1) made.result = simulate(made.job);
  checkEnded(made.result);
  const std::optional<Time> time = comm->on_.exchangeTime(comm->rank(), transfers);
  if (time) stretch(&made.result, std::max(*time, leastTime(graph_, made.result.arcBytes)));
  made.job.plan = nullptr;  // it refers to `exchange`
  return comm->exchanges_.emplace(transfers, std::move(made)).first->second;
}

Time Program::exchange(ProgramComm* comm, const std::string& name,
                       const std::vector<PeerTransfer>& transfers) {
  const ProgramComm::Exchanged& made = exchanged(comm, transfers);
  uint64_t bytes = 0;
  for (const PeerTransfer& t : transfers) bytes += t.bytes;
  note(comm, name, bytes, "p2p", made.result.picoseconds, {nullptr, 0, &made});
  return made.result.picoseconds;
}

Time Program::foretell(ProgramComm* comm, const std::vector<PeerTransfer>& transfers) const {
  return exchanged(comm, transfers).result.picoseconds;
}

std::string Program::callsCsv() const {
  std::string out = "call,name,bytes,algorithm,start_ps,time_ps,comm\n";
  for (size_t i = 0; i < calls_.size(); ++i) {
    const ProgramCall& call = calls_[i];
    out += format("%zu,%s,%llu,%s,%llu,%llu,%s\n", i, call.name.c_str(),
                  static_cast<unsigned long long>(call.bytes), call.algorithm,
                  static_cast<unsigned long long>(call.start),
                  static_cast<unsigned long long>(call.time), column(call.comm->name()).c_str());
  }
  return out;
}

std::string Program::traceJson() const {
  const int rank = comms_[0]->rank();
  std::map<const ProgramComm*, size_t> rows;
  for (const auto& comm : comms_) rows.emplace(comm.get(), rows.size());
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (size_t i = 0; i < calls_.size(); ++i) {
    const ProgramCall& call = calls_[i];
    out += format(
        "\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%zu,\"ts\":%.6f,\"dur\":%.6f,"
        "\"args\":{\"call\":%zu,\"bytes\":%llu,\"algorithm\":\"%s\",\"comm\":\"%s\"}},",
        call.name.c_str(), rank, rows.at(call.comm), micro(call.start), micro(call.time), i,
        static_cast<unsigned long long>(call.bytes), call.algorithm,
        quoted(call.comm->name()).c_str());
  }
  for (const auto& comm : comms_) {
    out += format(
        "\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%zu,\"args\":{\"name\":\"%s, "
        "rank %d of %d\"}},",
        rank, rows.at(comm.get()), quoted(comm->name()).c_str(), comm->rank(), comm->ranks());
  }
  return out + format(
                   "\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank "
                   "%d of %d\"}}\n]}\n",
                   rank, rank, comms_[0]->ranks());
}

std::string Program::flowsOf(const ProgramCall& call, const Source& source, uint64_t first) const {
  const std::string name = column(call.comm->name());
  const std::vector<int>& numbers = call.comm->numbers_;
  if (source.outcome != nullptr) {
    const Outcome& o = *source.outcome;
    return flowsLines(call.comm->on_.jobOf(*o.algorithm, o.geometry, source.root), o.result, first,
                      call.start, numbers, name);
  }
  const ProgramComm::Exchanged& exchanged = *source.exchanged;
  std::vector<int> ranks;
  for (const int rank : exchanged.ranks) ranks.push_back(numbers[static_cast<size_t>(rank)]);
  return flowsLines(exchanged.job, exchanged.result, first, call.start, ranks, name);
}

std::string Program::flowsCsv(size_t* left) const {
  std::string out = flowsHead("comm");
  uint64_t first = 0;
  *left = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.outcome == nullptr && source.exchanged == nullptr) continue;
    const Result& result =
        source.outcome != nullptr ? source.outcome->result : source.exchanged->result;
    const bool predicted = source.outcome != nullptr && source.outcome->predicted;
    const bool kept = !predicted && (!result.transfers.empty() || result.messages == 0);
    if (!kept || first + result.transfers.size() > kMostFlows) {
      ++*left;
      continue;
    }
    out += flowsOf(calls_[i], source, first);
    first += result.transfers.size();
  }
  return out;
}

}  // namespace rondo::sim
