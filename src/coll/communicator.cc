#include "coll/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "api/types.h"
#include "base/error.h"
#include "base/ticks.h"
#include "coll/flight_trace.h"
#include "coll/progress.h"
#include "coll/wait_text.h"
#include "p2p/peer_watch.h"
#include "p2p/process_state.h"

namespace rondo {
namespace {

/// Idle polls of a group's collective before this rank's call is compared with those of its peers.
constexpr uint32_t kPollsBeforeComparing = 1024;
/// So it is every few milliseconds of any wait, too: on a crowded host a thousand polls are many
/// seconds.
std::atomic<uint32_t> longWaits{0};

/// A group's waits that are longer are written down with their steps; those of other calls every
/// few milliseconds.
constexpr uint32_t kPollsOfALongWait = 4096;

/// Since when a rank is in no call, and what its process does meanwhile; of one that is in a call
/// only whether it is stopped there. May be empty.
std::string placeText(const FlightProcess& process, const FlightComm& comm, int64_t now) {
  const FlightOp* const last = comm.last();
  const bool calls = last != nullptr && last->running();
  const bool known = isProcess(process.pid, process.token);
  const ProcessState state = known ? readProcessState(process.pid) : ProcessState{};
  if (calls && !state.stopped()) return "";
  std::string out = format("rank %d is in its call", comm.rank);
  if (!calls) {
    const int64_t since = last != nullptr ? last->ended : comm.born;
    out = format("rank %d has made no call for %.3g s", comm.rank,
                 static_cast<double>(std::max<int64_t>(0, now - since)) * 1e-9);
  }
  return known ? out + ", its process is " + state.text : out;
}

/// Nothing where there is nothing.
std::string listed(const char* heading, const std::map<int, std::string>& texts) {
  std::string out;
  for (const auto& each : texts) {
    if (!each.second.empty()) out += (out.empty() ? heading : "; ") + each.second;
  }
  return out;
}

}  // namespace

Communicator::Communicator(Parts parts)
    : parts_(std::move(parts)),
      runner_(parts_.place.size, channels_.stamp.get()),
      recorder_({parts_.id, parts_.name, parts_.place, parts_.members, parts_.stallSeconds}),
      log_(parts_.fabric.get(), parts_.place, &recorder_) {
  nothing_.algorithm = registry().data();
  if (parts_.fabric) {
    channels_ = parts_.fabric->makeChannels();
    runner_ = Runner(parts_.place.size, channels_.stamp.get());
    if (parts_.decorate) parts_.decorate(channels_, parts_.place.rank);
    parts_.wait.aborted = [fabric = parts_.fabric.get()] { return fabric->aborted() != 0; };
  } else {
    channels_.chunkBytes = ShmLayout::kMostArea / 2;
    parts_.wait.aborted = [] { return false; };
  }
  if (parts_.fabric) {
    parts_.wait.watch = [this](auto waited) { watch(waited); };
    parts_.fabric->watchPeers([this] {
      if (parts_.device) parts_.device->abort();
    });
    if (parts_.device) {
      parts_.device->onFailure([fabric = parts_.fabric.get()] { fabric->abort(); });
    }
    if (PeerWatch::one().watches()) ProgressThread::tryStart();
  }
  groupWait_ = parts_.wait;
  // A group's waiter need not be who runs it.
  if (parts_.fabric) {
    parts_.wait.watch = [this](auto waited) {
      noteWait();
      watch(waited);
    };
  }
  if (parts_.fabric) parts_.wait.mismatch = [this] { return log_.someoneElsewhere(); };
  parts_.facts.lanes = channels_.lanes;
  parts_.facts.chunkBytes = channels_.chunkBytes;
  // Source and destination of all ranks together no longer fit the last-level cache.
  const uint64_t l3 = parts_.facts.l3Bytes != 0 ? parts_.facts.l3Bytes : kUsualL3;
  streamBytes_ = l3 / (2 * static_cast<uint64_t>(parts_.place.localSize));
}

// No thread may find a peer dead in the middle of what follows.
Communicator::~Communicator() {
  if (parts_.fabric) parts_.fabric->stopWatching();
}

/// Why the device's calls stopped working, if they did; `usage`: because calls differ.
std::string Communicator::deviceFailure(bool usage) const {
  rondoResult_t code = rondoSuccess;
  const std::string text = parts_.device ? parts_.device->failure(&code) : "";
  return usage == (code == rondoInvalidUsage) ? text : "";
}

std::string Communicator::abortText() const {
  if (const std::string text = deviceFailure(false); !text.empty()) return text;
  const int culprit = parts_.fabric->culprit();
  const std::string text = parts_.fabric->abortText(parts_.name);
  return culprit < 0 ? text : text + log_.lastCallText(culprit);
}

RunResult Communicator::flagWay(const FlagPair& pair, uint64_t* picoseconds) {
  return measureFlag(channels_, parts_.place.rank, pair, groupWait_, picoseconds);
}

/// Now and then in a long wait.
void Communicator::watch(std::chrono::steady_clock::duration waited) {
  longWaits.fetch_add(1, std::memory_order_relaxed);
  PeerWatch::one().look();
  const int deserter = log_.deserter();
  if (deserter >= 0) parts_.fabric->abortDeserted(deserter);
  const std::chrono::seconds limit(parts_.stallSeconds);
  if (parts_.stallSeconds == 0 || waited < limit) return;
  if (!parts_.fabric->claimReport(limit)) return;
  const double seconds = std::chrono::duration<double>(waited).count();
  const std::string text = log_.stallText(parts_.name, seconds) + waitsText() +
                           format(". More: rondo-status %d", static_cast<int>(getpid()));
  std::fprintf(stderr, "rondo: stall: %s\n", text.c_str());
  logLine(LogPart::Watch, LogLevel::Warn, parts_.place.rank, [&] { return "stall: " + text; });
  dumpFlights(parts_.recordFile, "stall: " + text);
}

/// Which steps the ranks of this host wait in, and where those are that do not; in rank order.
std::string Communicator::waitsText() const {
  const auto now = static_cast<int64_t>(monotonicNs());
  std::map<int, std::string> steps, places;
  for (const FlightProcess& process : readNearFlights()) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != parts_.id || !comm.alive) continue;
      places[comm.rank] = placeText(process, comm, now);
      const FlightOp* const last = comm.last();
      const bool waits = last != nullptr && last->running() && !comm.waits.empty() &&
                         comm.waitsSeen >= last->started;
      if (waits) steps[comm.rank] = format("rank %d: %s", comm.rank, comm.waits.c_str());
    }
  }
  return listed(". Where: ", places) + listed(". Steps: ", steps);
}

/// A call at the moment it begins.
void Communicator::logCall(const HostRequest& request) const {
  logLine(LogPart::Call, LogLevel::Debug, parts_.place.rank, [&] {
    return format("communicator \"%s\": collective %llu, %s: %s, %zu lanes", parts_.name.c_str(),
                  static_cast<unsigned long long>(log_.sequence()),
                  callText(callOf(request.key, 0, 1)).c_str(),
                  plan_ == &nothing_ ? "nothing to move" : plan_->algorithm->name,
                  plan_->lanes.size());
  });
}

void Communicator::noteWait() {
  const WaitText text = exchanging_ ? WaitText(exchange_) : WaitText(runner_, channels_);
  recorder_.noteWait(text.text());
}

void Communicator::noteBroken(const std::string& why) {
  if (knownBroken_.exchange(true)) return;
  recorder_.noteBroken(why);
  logLine(LogPart::Watch, LogLevel::Error, parts_.place.rank, [&] {
    return format("communicator \"%s\" is broken: %s", parts_.name.c_str(), why.c_str());
  });
  dumpFlights(parts_.recordFile, why);
}

const BoundPlan* Communicator::makePlan(const PlanKey& key) {
  const Request request{key.collective, key.count, typeSize(key.type), key.root, key.uneven};
  const std::vector<Candidate> ranking = rankCandidates(request, parts_.facts, parts_.tune);
  if (parts_.explain && parts_.place.rank == 0) {
    if (!explainedCosts_) std::fprintf(stderr, "rondo: costs: %s\n", parts_.costsSource.c_str());
    explainedCosts_ = true;
    std::fputs(explainChoice(request, ranking).c_str(), stderr);
  }
  if (ranking.empty()) {
    throw Error(rondoInvalidUsage,
                format("no algorithm for %s is left: RONDO_TUNE (or config.tune) asks for one that "
                       "cannot be reproducible; allowed: rules that leave another one",
                       collectiveName(key.collective)));
  }
  const Candidate& best = ranking.front();
  const algo::Group group{parts_.place.rank, parts_.place.size, key.root,
                          parts_.facts.groups.placement()};
  const Plan plan = recordPlan(*best.algorithm, group, best.geometry);
  const ScaledOp* scaled = isReduction(key.collective) ? scaledOps_.evenDestroyed(key.op) : nullptr;
  const rondoRedOp_t op = scaled != nullptr ? static_cast<rondoRedOp_t>(rondoSum) : key.op;
  BoundPlan bound = bindPlan(plan, key.type, op, {&channels_, parts_.cpu});
  bound.choice = choiceOf(best.algorithm, best.geometry.lanes);
  bound.tree = parts_.facts.reproducible;
  if (scaled != nullptr) {
    bound.scale = findScale(key.type, parts_.cpu);
    bound.scalar = scaled->scalar;
  }
  const uint64_t choice = static_cast<uint64_t>(best.algorithm - registry().data()) * 64 +
                          static_cast<uint64_t>(best.geometry.lanes);
  const uint64_t mixed =
      (key.hash() ^ (choice * 0xff51afd7ed558ccdu)) + best.geometry.chunk * 0xc4ceb9fe1a85ec53u;
  bound.stamp = static_cast<uint32_t>(mixed ^ (mixed >> 32));
  return plans_.insert(key, std::move(bound));
}

std::string Communicator::mismatchText() {
  if (const std::string text = deviceFailure(true); !text.empty()) return text;
  return deserted() ? "" : log_.mismatchText(parts_.name);
}

/// After a v-collective's own messages: what silent peers meant.
RunResult Communicator::awaitSilent() {
  return waitUntil(parts_.wait, [this](bool*) -> std::optional<RunResult> {
    const CallLog::Answer answer = log_.askSilent();
    if (answer == CallLog::Answer::Nothing) {
      log_.finish();
      return RunResult::Ok;
    }
    if (answer == CallLog::Answer::Something) return RunResult::Mismatch;
    return std::nullopt;
  });
}

Communicator::Progress Communicator::poll(bool* moved) {
  if (runner_.poll(moved)) {
    const CallLog::Answer answer = log_.asksSilent() ? log_.askSilent() : CallLog::Answer::Nothing;
    if (answer == CallLog::Answer::Something) return Progress::Mismatch;
    if (answer == CallLog::Answer::Nothing) {
      log_.finish();
      if (joint_.active()) joint_.finish();
      return Progress::Done;
    }
  }
  if (runner_.mismatch()) return Progress::Mismatch;
  idlePolls_ = *moved ? 0 : idlePolls_ + 1;
  if (idlePolls_ % kPollsOfALongWait == kPollsOfALongWait - 1) noteWait();
  const uint32_t waits = longWaits.load(std::memory_order_relaxed);
  const bool due = !*moved && (idlePolls_ % kPollsBeforeComparing == kPollsBeforeComparing - 1 ||
                               waits != comparedAt_);
  comparedAt_ = waits;
  if (due && log_.someoneElsewhere()) return Progress::Mismatch;
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

void Communicator::begin(std::span<const HostRequest> pass, OpOrigin origin) {
  if (pass.size() == 1) {
    joint_.drop();
    const HostCall call = prepare(pass[0], pass, origin);
    runner_.begin(*plan_, call);
    return;
  }
  HostCall call = prepare(joint_.begin(pass, parts_.place), pass, origin);
  call.stamp ^= static_cast<uint32_t>(JointCall::countsHash(pass) >> 32);
  runner_.begin(*plan_, call);
}

void Communicator::beginExchange(std::span<const Transfer> transfers, OpOrigin origin,
                                 uint64_t enqueued) {
  exchanging_ = true;
  log_.beginExchange(transfers, origin, enqueued);
  exchange_.begin(channels_, parts_.place.rank, transfers, exchangeContext());
}

RunResult Communicator::runExchange(std::span<const Transfer> transfers) {
  beginExchange(transfers, OpOrigin::Call, 0);
  return waitUntil(groupWait_, [this](bool* moved) -> std::optional<RunResult> {
    if (exchange_.poll(moved)) {
      log_.finishExchange();
      return RunResult::Ok;
    }
    idlePolls_ = *moved ? 0 : idlePolls_ + 1;
    if (idlePolls_ % kPollsOfALongWait == kPollsOfALongWait - 1) noteWait();
    if (exchange_.mismatch()) [[unlikely]]
      return RunResult::Mismatch;
    return std::nullopt;
  });
}

Communicator::Progress Communicator::pollExchange(bool* moved) {
  if (exchange_.poll(moved)) {
    log_.finishExchange();
    return Progress::Done;
  }
  if (exchange_.mismatch()) return Progress::Mismatch;
  idlePolls_ = *moved ? 0 : idlePolls_ + 1;
  if (idlePolls_ % kPollsOfALongWait == kPollsOfALongWait - 1) noteWait();
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

}  // namespace rondo
