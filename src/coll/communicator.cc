#include "coll/communicator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "coll/device_calls.h"
#include "coll/far_answers.h"
#include "coll/far_calls.h"
#include "coll/flight_trace.h"
#include "coll/patrol.h"
#include "coll/progress.h"
#include "coll/wait_text.h"
#include "p2p/peer_watch.h"

namespace rondo {
namespace {

/// Idle polls of a group's collective before this rank's call is compared with those of its peers.
constexpr uint32_t kPollsBeforeComparing = 1024;

/// So long the cause of a device's failure that lies with a peer is left to whoever knows which
/// one: what watches the peers mostly does within milliseconds, and says it to all ranks.
constexpr std::chrono::seconds kCauseElsewhere{1};

/// Calls of the device work no more, because of `what`: ends the communicator on all ranks.
void endForDevice(Fabric& fabric, rondoResult_t why, const std::string& what) {
  if (why == rondoMismatch && fabric.aborted() == 0) return fabric.abortDiffering(what);
  const auto end = std::chrono::steady_clock::now() + kCauseElsewhere;
  while (why == rondoRemoteError && fabric.aborted() == 0) {
    if (std::chrono::steady_clock::now() >= end) break;
    fabric.progress();  // nobody else may wait for what brings it
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (fabric.aborted() != 0) return;
  // A wait of what carries it that took too long, or led nowhere: the others hear why, too.
  why == rondoRemoteError && !what.empty() ? fabric.abortTimedOut(what) : fabric.abort();
}

}  // namespace

Communicator::Communicator(Parts parts)
    : parts_(std::move(parts)),
      runner_(parts_.place.size, channels_.stamp.get()),
      recorder_({parts_.id, parts_.name, parts_.place, parts_.members, parts_.stallSeconds}),
      log_(parts_.fabric.get(), parts_.place, &recorder_, parts_.callsBefore),
      closing_(parts_.fabric.get(), parts_.place.rank, parts_.place.size),
      launches_(parts_.callsBefore) {
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
      parts_.device->onFailure(
          [this](rondoResult_t why) { endForDevice(*parts_.fabric, why, deviceFailure().why); });
    }
    if (PeerWatch::one().watches() || parts_.device) ProgressThread::tryStart();
  }
  groupWait_ = pollersWait_ = parts_.wait;
  pollersWait_.aborted = [] { return false; };
  if (parts_.fabric) pollersWait_.watch = [](auto) { noteLongWait(); };
  // A group's waiter need not be who runs it.
  if (parts_.fabric) {
    parts_.wait.watch = [this](auto waited) {
      noteWait();
      watch(waited);
    };
  }
  if (parts_.fabric)
    parts_.wait.mismatch = [this](bool late) { return log_.someoneElsewhere(late); };
  parts_.facts.lanes = channels_.lanes;
  parts_.facts.chunkBytes = channels_.chunkBytes;
  // Source and destination of all ranks together no longer fit the last-level cache.
  const uint64_t l3 = parts_.facts.l3Bytes != 0 ? parts_.facts.l3Bytes : kUsualL3;
  streamBytes_ = l3 / (2 * static_cast<uint64_t>(parts_.place.localSize));
  if (parts_.fabric && parts_.fabric->spansHosts()) {
    FlightComm self;
    self.id = parts_.id;
    self.name = parts_.name;
    self.size = parts_.place.size;
    self.members = parts_.members;
    FarCalls::one().add(parts_.fabric.get(), std::move(self));
    FarAnswers::one().add(parts_.id, parts_.fabric.get(), parts_.carries);
  }
  if (parts_.fabric && parts_.device) ProgressThread::patrol(this, [this] { watchDevice(); });
}

// No thread may find a peer dead in the middle of what follows.
Communicator::~Communicator() {
  Patrol::one().remove(this);
  FarCalls::one().remove(parts_.fabric.get());
  FarAnswers::one().remove(parts_.fabric.get());
  if (parts_.fabric) parts_.fabric->stopWatching();
}

/// Why the device's calls stopped working; no words: they work.
Communicator::End Communicator::deviceFailure() const {
  End end{rondoSuccess, ""};
  if (parts_.device) end.why = parts_.device->failure(&end.code);
  return end;
}

Communicator::End Communicator::foundByKernels() const {
  // What failed outside of kernels is on its way to all ranks, with the best cause that is found.
  if (!parts_.device || !deviceFailure().why.empty()) return {rondoSuccess, ""};
  try {
    parts_.device->check();
  } catch (const Error& error) {
    return {error.code(), error.sentence()};
  }
  return {rondoSuccess, ""};
}

Communicator::End Communicator::endOf() {
  End device = deviceFailure();
  if (device.code == rondoInvalidUsage) return device;
  if (!parts_.fabric) {
    if (!device.why.empty()) return device;
    return {rondoRemoteError,
            format("rank %d aborted communicator \"%s\"", parts_.place.rank, parts_.name.c_str())};
  }
  if (std::string text = mismatchText(); !text.empty()) return {rondoMismatch, std::move(text)};
  return {differs() ? rondoMismatch : rondoRemoteError, abortText()};
}

RunResult Communicator::flagWay(const FlagPair& pair, uint64_t* picoseconds) {
  return measureFlag(channels_, parts_.place.rank, pair, groupWait_, picoseconds);
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

namespace {

void requireSome(const std::vector<Candidate>& ranking, Collective collective) {
  if (!ranking.empty()) return;
  throw Error(rondoInvalidUsage,
              format("no algorithm for %s is left: RONDO_TUNE (or config.tune) asks for one that "
                     "cannot be reproducible; allowed: rules that leave another one",
                     collectiveName(collective)));
}

}  // namespace

uint64_t Communicator::foretell(const PlanKey& key) const {
  if (key.nothing() || parts_.place.size == 1) return 0;
  // Their plan is one of a typical slot, and how many of those a call has the ranks do not know.
  if (key.uneven) {
    throw Error(rondoUnsupported,
                format("nothing predicts %s with counts of its own on host memory; allowed: "
                       "rondoGroupEnd, which runs the group",
                       collectiveName(key.collective)));
  }
  const std::vector<Candidate> ranking = rankCandidates(
      {key.collective, key.count, typeSize(key.type), key.root}, parts_.facts, parts_.tune);
  requireSome(ranking, key.collective);
  return ranking.front().picoseconds;
}

/// The choice for the request's size class, with a geometry for just this request.
Candidate Communicator::choose(const Request& request) {
  const TuneRule* const rule = findRule(request, parts_.tune);
  if (const ChoiceMemory::Choice* const known = choices_.find(request, rule)) {
    return {known->algorithm,
            geometryOf(request, *known->algorithm, parts_.facts, known->lanes, known->chunk), 0};
  }
  const std::vector<Candidate> ranking = rankCandidates(request, parts_.facts, parts_.tune);
  if (parts_.explain && parts_.place.rank == 0) {
    if (!explainedCosts_) {
      const std::string links = parts_.facts.links.text();
      std::fprintf(stderr, "rondo: costs: %s\n", parts_.costsSource.c_str());
      if (!links.empty()) std::fprintf(stderr, "rondo: links: %s\n", links.c_str());
    }
    explainedCosts_ = true;
    std::fputs(explainChoice(request, ranking).c_str(), stderr);
  }
  requireSome(ranking, request.collective);
  choices_.keep(request, rule, ranking.front());
  return ranking.front();
}

const BoundPlan* Communicator::makePlan(const PlanKey& key) {
  const Candidate best =
      choose({key.collective, key.count, typeSize(key.type), key.root, key.uneven});
  const algo::Group group{parts_.place.rank, parts_.place.size, key.root,
                          parts_.facts.groups.placement()};
  const Plan plan = recordPlan(*best.algorithm, group, best.geometry);
  const bool scaled = isReduction(key.collective) && key.op >= ScaledOps::kFirst;
  const rondoRedOp_t op = scaled ? static_cast<rondoRedOp_t>(rondoSum) : key.op;
  BoundPlan bound = bindPlan(plan, key.type, op, {&channels_, parts_.cpu});
  bound.choice = choiceOf(best.algorithm, best.geometry.lanes);
  bound.tree = parts_.facts.reproducible;
  if (bound.divisor != 0 && parts_.averagesOver != 0) {
    bound.divisor = static_cast<uint32_t>(parts_.averagesOver);
  }
  if (scaled) bound.scale = findScale(key.type, parts_.cpu);
  const uint64_t choice = static_cast<uint64_t>(best.algorithm - registry().data()) * 64 +
                          static_cast<uint64_t>(best.geometry.lanes);
  const uint64_t mixed =
      (key.hash() ^ (choice * 0xff51afd7ed558ccdu)) + best.geometry.chunk * 0xc4ceb9fe1a85ec53u;
  bound.stamp = static_cast<uint32_t>(mixed ^ (mixed >> 32));
  return plans_.insert(key, std::move(bound));
}

/// What this rank multiplies by in a premultiplied sum.
const void* Communicator::scalarOf(const HostRequest& request) {
  const ScaledOp* const op =
      request.scaled != nullptr ? request.scaled : scaledOps_.find(request.key.op);
  return op->scalar;
}

std::string Communicator::mismatchText() {
  if (End device = deviceFailure(); device.code == rondoMismatch) return device.why;
  if (deserted()) return "";
  bool vague = false;
  std::string text = log_.mismatchText(parts_.name, &vague);
  const int who = parts_.fabric && (vague || text.empty()) ? parts_.fabric->differing() : -1;
  const std::string told = who >= 0 && who != parts_.place.rank ? reasonOf(who) : "";
  if (!told.empty()) text = told;
  if (!text.empty() || launches_ == 0) return text;
  return deviceMismatch(readDeviceCalls(parts_.id), parts_.name);
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

/// After each poll of a group that did not end its operation: whether its peers are to be looked
/// at.
Communicator::Look Communicator::lookDue(bool moved) {
  if (moved) {
    startWait();
    return Look::None;
  }
  const bool many = ++idlePolls_ % kPollsBeforeComparing == 0;
  const bool late = waitsLong();
  if (many || late) noteLongPoll();
  return late ? Look::Late : many ? Look::Here : Look::None;
}

/// Whether the wait in this poll, or another one of the process, is a long one by the clock.
bool Communicator::waitsLong() {
  const uint32_t waits = longWaits_.load(std::memory_order_relaxed);
  return std::exchange(comparedAt_, waits) != waits;
}

/// An end is a move, too: whoever waits for what comes next must not be taken for stuck.
Communicator::Progress Communicator::ended() {
  if (closing_.begun()) [[unlikely]]
    closing_.note(true);
  return Progress::Done;
}

Communicator::Progress Communicator::poll(bool* moved) {
  if (runner_.poll(moved)) {
    if (mayHaveReadOtherData()) return Progress::Aborted;
    const CallLog::Answer answer = log_.asksSilent() ? log_.askSilent() : CallLog::Answer::Nothing;
    if (answer == CallLog::Answer::Something) return Progress::Mismatch;
    if (answer == CallLog::Answer::Nothing) {
      log_.finish();
      endedOfPass_ = joint_.active() ? joint_.finish(parts_.cpu, parts_.facts.reproducible) : 1;
      return ended();
    }
  }
  if (runner_.mismatch()) return Progress::Mismatch;
  const Look due = lookDue(*moved);
  if (closing_.begun()) [[unlikely]]
    endIfStandsStill(*moved);
  if (due != Look::None && log_.someoneElsewhere(due == Look::Late)) return Progress::Mismatch;
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

void Communicator::begin(std::span<const HostRequest> pass, OpOrigin origin) {
  startWait();
  if (pass.size() == 1) {
    joint_.drop();
    const HostCall call = prepare(pass[0], pass, origin);
    runner_.begin(*plan_, call);
    return;
  }
  HostCall call = prepare(joint_.begin(pass, parts_.place), pass, origin);
  call.stamp ^= static_cast<uint32_t>(JointCall::callsHash(pass) >> 32);
  runner_.begin(*plan_, call);
}

void Communicator::beginExchange(std::span<const Transfer> transfers, OpOrigin origin,
                                 uint64_t enqueued) {
  startWait();
  exchanging_ = true;
  log_.beginExchange(transfers, origin, enqueued);
  exchange_.begin(channels_, parts_.place.rank, transfers, exchangeContext());
}

RunResult Communicator::runExchange(std::span<const Transfer> transfers) {
  beginExchange(transfers, OpOrigin::Call, 0);
  return waitUntil(groupWait_, [this](bool* moved) -> std::optional<RunResult> {
    if (exchange_.poll(moved) || (!*moved && waitsLong() && endIfDeserted(moved))) {
      if (mayHaveReadOtherData()) return RunResult::Aborted;
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
  if (exchange_.poll(moved) || (lookDue(*moved) != Look::None && endIfDeserted(moved))) {
    if (mayHaveReadOtherData()) return Progress::Aborted;
    log_.finishExchange();
    return ended();
  }
  if (exchange_.mismatch()) return Progress::Mismatch;
  if (closing_.begun()) [[unlikely]]
    endIfStandsStill(*moved);
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

/// Of sends and receives that wait for a rank which makes no call any more: whether they are done
/// all the same, by what it did before. Else the communicator ends.
bool Communicator::endIfDeserted(bool* moved) {
  if (!parts_.fabric) return false;
  Fabric& fabric = *parts_.fabric;
  const int gone = exchange_.waitsFor([&fabric](int peer) { return fabric.finished(peer); });
  if (gone < 0) return false;
  if (exchange_.poll(moved)) return true;
  if (!*moved && !exchange_.mismatch()) fabric.abortDeserted(gone);
  return false;
}

/// Nobody issues anything any more, and what is under way waits for calls that were never made.
void Communicator::endIfStandsStill(bool moved) {
  closing_.note(moved);
  if (!closing_.standsStill() || parts_.fabric->aborted() != 0) return;
  const int absent = exchanging_ ? exchange_.waitsFor([](int) { return true; }) : log_.absentee();
  if (absent >= 0) parts_.fabric->abortDeserted(absent);
}

}  // namespace rondo
