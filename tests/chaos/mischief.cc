#include "chaos/mischief.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "p2p/segment.h"
#include "p2p/tcp_socket.h"

namespace rondo::chaos {
namespace {

/// What a seed stands for, beside the kind.
struct Draft {
  uint64_t seed;
  Kind kind;
  int size, victim;
  int added;     ///< Grow: new ranks.
  int call;      ///< In which call the mistake is made.
  int delayUs;   ///< When something happens.
  int room;      ///< Descriptors, or MiB, that are left.
  bool whole;    ///< AbortInit: all ranks come; Grow: nobody is killed.
  int flavor;    ///< Which mistake, in calls of which size.
  bool grouped;  ///< The calls are made in groups.
};

Draft draftOf(uint64_t seed, Kind kind) {
  std::mt19937_64 random(seed * 2654435761u + static_cast<uint64_t>(kind));
  const auto below = [&](uint64_t n) { return static_cast<int>(random() % n); };
  Draft draft{};
  draft.seed = seed;
  draft.kind = kind;
  draft.size = 2 + below(3);
  draft.victim = below(static_cast<uint64_t>(draft.size));
  draft.added = 1 + below(2);
  draft.call = below(40);
  draft.delayUs = below(20000);
  draft.room = below(48);
  draft.whole = below(2) == 0;
  draft.flavor = below(12);
  draft.grouped = below(3) == 0;
  return draft;
}

std::string draftText(const Draft& draft) {
  return format(
      "seed %llu: %s: %d ranks, rank %d, +%d, call %d, after %d us, room %d, %s, flavor %d%s",
      static_cast<unsigned long long>(draft.seed), kindName(draft.kind), draft.size, draft.victim,
      draft.added, draft.call, draft.delayUs, draft.room, draft.whole ? "whole" : "not whole",
      draft.flavor, draft.grouped ? ", in groups" : "");
}

bool soon(const Shared& shared, const std::function<bool()>& condition) {
  return holdsSoon(shared, 10000, condition);
}

/// What a rank has before it begins, and must have at the end.
class Ledger {
 public:
  Ledger() : descriptors_(openDescriptors()) {}
  /// Everything was given back. A segment, its watch and a progress thread are the process's own.
  /// `answers`: this process still answers for an id whose group has failed, for 30 s.
  void check(const Me& me, bool answers = false) const {
    me.check(soon(*me.shared, [] { return Segment::own().poolUsed() == 0; }),
             "shared memory is still in use");
    me.check(mappedSegments() <= 1, format("%d segments are mapped", mappedSegments()));
    constexpr int kOfTheProcess = 4;  // segment, epoll, timer, wake-up
    const int most = descriptors_ + kOfTheProcess + (answers ? 1 + kMostEndpoints : 0);
    me.check(soon(*me.shared, [most] { return openDescriptors() <= most; }),
             format("%d descriptors are open, before it were %d:%s", openDescriptors(),
                    descriptors_, descriptorsText().c_str()));
    me.check(soon(*me.shared, [answers] { return runningThreads() <= (answers ? 3 : 2); }),
             format("%d threads are running", runningThreads()));
  }

 private:
  int descriptors_;
};

/// One all-reduce, whose result must be right if it is a success.
rondoResult_t sum(const Me& me, rondoComm_t comm, size_t count, int turn, bool grouped = false) {
  int size = 0, rank = 0;
  me.ok(rondoCommCount(comm, &size), comm, "rondoCommCount");
  me.ok(rondoCommUserRank(comm, &rank), comm, "rondoCommUserRank");
  std::vector<int> in(count, rank + turn), out(count, -1);
  if (grouped) rondoGroupStart();
  rondoResult_t result =
      rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, comm, nullptr);
  if (grouped) result = rondoGroupEnd();
  const int want = size * (size - 1) / 2 + size * turn;
  if (result == rondoSuccess) {
    me.check(std::all_of(out.begin(), out.end(), [want](int v) { return v == want; }),
             "a wrong sum was returned as success");
  }
  return result;
}

/// So many calls of mixed sizes, all of which must succeed.
void work(const Me& me, rondoComm_t comm, uint64_t seed, int calls) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < calls; ++i) {
    const size_t count = random() % 8 == 0 ? 1 + random() % 100000 : 1 + random() % 2000;
    me.ok(sum(me, comm, count, i), comm, "an all-reduce");
  }
}

void leave(const Me& me, rondoComm_t comm) {
  me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
  // Whoever ends before the others have finished would be a death.
  ++me.shared->done;
}

void stopped(const Me& me, const Draft& draft) {
  const Ledger ledger;
  if (draft.kind == Kind::LongStop) setenv("RONDO_STALL_SECONDS", "1", 1);
  rondoComm_t comm = me.join();
  ++me.shared->ready;
  int going = 1;
  while (going != 0) {
    const int mine = me.shared->moreMade == 0 ? 1 : 0;
    me.ok(rondoAllReduce(&mine, &going, 1, rondoInt32, rondoMax, comm, nullptr), comm,
          "an all-reduce beside a stopped rank");
    work(me, comm, draft.seed, 3);
  }
  leave(me, comm);
  ledger.check(me);
}

void stopVictim(Shared& shared, const Draft& draft) {
  if (!soon(shared, [&] { return shared.ready == draft.size; })) return;
  usleep(static_cast<useconds_t>(draft.delayUs));
  kill(shared.pids[draft.victim], SIGSTOP);
  if (draft.kind == Kind::LongStop) {
    somethingIsSaid();
  } else {
    usleep(static_cast<useconds_t>(draft.room) * 4000);
  }
  kill(shared.pids[draft.victim], SIGCONT);
  shared.moreMade = 1;
}

/// A call of the job, or the one in which a rank errs.
rondoResult_t oneCall(const Me& me, const Draft& draft, rondoComm_t comm, int turn) {
  static constexpr size_t kCounts[] = {1, 300, 50000};
  const size_t count = kCounts[draft.flavor % 3] + draft.seed % 100;
  if (me.rank != draft.victim || turn != draft.call) {
    return sum(me, comm, count, turn, draft.grouped);
  }
  std::vector<int> in(4 * count, 1), out(4 * count);
  size_t wrong = count;
  switch (draft.flavor / 3 + (draft.kind == Kind::WrongOrder ? 4 : 0)) {
    case 0:
      wrong = 0;
      break;
    case 1:
      wrong = count + 1;
      break;
    case 2:
      wrong = count - count / 2;
      break;
    case 3:
      wrong = 2 * count;
      break;
    case 4:
      return rondoBarrier(comm, nullptr);
    case 5:
      return rondoAllGather(in.data(), out.data(), count, rondoInt32, comm, nullptr);
    case 6:
      return rondoBroadcast(in.data(), out.data(), count, rondoInt32, me.rank, comm, nullptr);
    default:
      return rondoAllToAll(in.data(), out.data(), count, rondoInt32, comm, nullptr);
  }
  return rondoAllReduce(in.data(), out.data(), wrong, rondoInt32, rondoSum, comm, nullptr);
}

void mistake(const Me& me, const Draft& draft) {
  const Ledger ledger;
  rondoComm_t comm = me.join(), rest = nullptr;
  rondoResult_t result = rondoSuccess;
  for (int turn = 0; result == rondoSuccess; ++turn) result = oneCall(me, draft, comm, turn);
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == rondoMismatch || result == rondoRemoteError,
           format("a mistake came to %d: %s", result, sentence.c_str()));
  me.check(sentence.find("rank ") != std::string::npos, "nobody is named: " + sentence);
  ++me.shared->ready;
  // All are alive, and go on together.
  me.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_ABORT), comm, "shrink");
  work(me, rest, draft.seed, 3);
  me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
  leave(me, rest);
  ledger.check(me);
}

void limitJoining(int ms) {
  setenv("RONDO_BOOT_TIMEOUT_MS", std::to_string(ms * slack()).c_str(), 1);
}

void neverComes(const Me& me, const Draft& draft) {
  if (me.rank == draft.victim) return;
  const Ledger ledger;
  // The limit is to count what joining takes, and not who is started when.
  ++me.shared->ready;
  me.check(soon(*me.shared, [&] { return me.shared->ready == me.size - 1; }),
           "the others do not come either");
  limitJoining(150);
  rondoComm_t comm = nullptr;
  const rondoResult_t result = rondoCommInitRank(&comm, me.size, me.id, me.rank);
  const std::string sentence = rondoGetLastError(nullptr);
  me.check(result == rondoSystemError &&
               sentence.find(format("rank %d of %d did not join", draft.victim, me.size)) !=
                   std::string::npos,
           format("gave %d: %s", result, sentence.c_str()));
  ledger.check(me);
}

rondoResult_t awaitEnd(const Me& me, rondoComm_t comm) {
  rondoResult_t state = rondoInProgress;
  me.check(soon(*me.shared,
                [&] {
                  me.ok(rondoCommGetAsyncError(comm, &state), nullptr, "rondoCommGetAsyncError");
                  return state != rondoInProgress;
                }),
           "is still being made");
  return state;
}

void abortInit(const Me& me, const Draft& draft) {
  if (me.rank == draft.victim && !draft.whole) return;
  const Ledger ledger;
  setenv("RONDO_BOOT_TIMEOUT_MS", "500", 1);  // one that is aborted at once never came
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  rondoComm_t comm = nullptr;
  const rondoResult_t begun = rondoCommInitRankConfig(&comm, me.size, me.id, me.rank, &config);
  me.check(begun == rondoInProgress, format("began with %d", begun));
  const bool aborts = !draft.whole || me.rank == draft.victim;
  if (!aborts) {
    const rondoResult_t state = awaitEnd(me, comm);
    me.check(state == rondoSuccess || state == rondoRemoteError || state == rondoSystemError,
             format("became %d: %s", state, rondoGetLastError(comm)));
  } else {
    usleep(static_cast<useconds_t>(draft.delayUs) / 2);
  }
  const int64_t start = nowMs();
  me.ok(rondoCommAbort(comm), nullptr, "rondoCommAbort");
  me.check(nowMs() - start < 2000 * slack() + me.shared->lateMs,
           format("rondoCommAbort took %d ms", static_cast<int>(nowMs() - start)));
  ledger.check(me);
}

/// Ranks from draft.size join those below.
void grow(const Me& me, const Draft& draft) {
  const Ledger ledger;
  const int old = draft.size, all = old + draft.added;
  const bool isNew = me.rank >= old, killed = !draft.whole && me.rank == all - 1;
  limitJoining(draft.whole ? 20000 : 1000);
  rondoComm_t comm = nullptr, grown = nullptr;
  if (!isNew) {
    const Me part{me.rank, old, me.shared, me.id};
    comm = part.join();
    if (me.rank == draft.victim) {
      me.ok(rondoCommGetUniqueId(comm, &me.shared->more), comm, "rondoCommGetUniqueId");
      me.shared->moreMade = 1;
    }
  }
  me.check(soon(*me.shared, [&] { return me.shared->moreMade == 1; }), "no id was made");
  if (killed) {
    std::thread([&] {
      usleep(static_cast<useconds_t>(draft.delayUs) / 3);
      me.die();
    }).detach();
  }
  const rondoUniqueId* const id = isNew || me.rank == draft.victim ? &me.shared->more : nullptr;
  const rondoResult_t result = rondoCommGrow(comm, all, id, isNew ? me.rank : -1, &grown, nullptr);
  if (killed) {
    for (;;) pause();
  }
  const std::string sentence = rondoGetLastError(nullptr);
  if (draft.whole) me.check(result == rondoSuccess, "rondoCommGrow: " + sentence);
  if (result == rondoSuccess) {
    rondoResult_t state = rondoSuccess;
    for (int i = 0; i < 20 && state == rondoSuccess; ++i) state = sum(me, grown, 1000, i);
    me.check(state == rondoSuccess || (!draft.whole && state == rondoRemoteError),
             format("a sum of the grown gave %d: %s", state, rondoGetLastError(nullptr)));
    me.ok(rondoCommDestroy(grown), nullptr, "rondoCommDestroy");
  } else {
    me.check(result == rondoRemoteError || result == rondoSystemError,
             format("rondoCommGrow gave %d: %s", result, sentence.c_str()));
  }
  if (isNew) return;
  work(me, comm, draft.seed, 3);
  leave(me, comm);
  ledger.check(me, me.rank == draft.victim && result != rondoSuccess);
}

void limit(int resource, rlim_t value) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(resource), &now);
  now.rlim_cur = std::min(value, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

rlim_t mappedBytes() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * 4096;
}

void starve(const Me& me, const Draft& draft) {
  if (draft.kind == Kind::Memlock) limit(RLIMIT_MEMLOCK, 64 << 10);
  if (me.rank != draft.victim) return;
  if (draft.kind == Kind::NoMemory) {
    limit(RLIMIT_AS, mappedBytes() + (static_cast<rlim_t>(draft.room) << 20));
  } else if (draft.kind == Kind::Descriptors) {
    limit(RLIMIT_NOFILE,
          static_cast<rlim_t>(draft.whole ? 64 : openDescriptors() - 3 + draft.room / 2));
  }
}

/// With too little of something: works, or fails on all ranks with a sentence.
void scarce(const Me& me, const Draft& draft) {
  const Ledger ledger;
  limitJoining(draft.kind == Kind::Memlock ? 20000 : 1500);
  starve(me, draft);
  rondoComm_t comm = nullptr;
  const rondoResult_t result = rondoCommInitRank(&comm, me.size, me.id, me.rank);
  if (draft.kind == Kind::Memlock) me.ok(result, nullptr, "rondoCommInitRank");
  if (result == rondoSuccess) {
    if (draft.kind == Kind::NoMemory && me.rank == draft.victim) limit(RLIMIT_AS, RLIM_INFINITY);
    work(me, comm, draft.seed, 5);
    me.ok(rondoBarrier(comm, nullptr), comm, "a barrier");
    leave(me, comm);
  } else {
    const std::string sentence = rondoGetLastError(nullptr);
    me.check(result == rondoSystemError || result == rondoOutOfMemory || result == rondoRemoteError,
             format("rondoCommInitRank gave %d: %s", result, sentence.c_str()));
    me.check(!sentence.empty(), "no sentence");
  }
  limit(RLIMIT_AS, RLIM_INFINITY);
  limit(RLIMIT_NOFILE, 1024);
  ledger.check(me);
}

void body(const Me& me, const Draft& draft) {
  switch (draft.kind) {
    case Kind::Stop:
    case Kind::LongStop:
      return stopped(me, draft);
    case Kind::WrongCount:
    case Kind::WrongOrder:
      return mistake(me, draft);
    case Kind::NeverComes:
      return neverComes(me, draft);
    case Kind::AbortInit:
      return abortInit(me, draft);
    case Kind::Grow:
      return grow(me, draft);
    default:
      return scarce(me, draft);
  }
}

std::string runDeath(uint64_t seed, bool byExit, int64_t* lateMs) {
  Plan plan = planOf(seed);
  plan.byExit = byExit;
  Outcome outcome;
  const std::string wrong = runOrdeal(plan, &outcome);
  *lateMs = outcome.lateMs;
  if (!wrong.empty()) return wrong;
  return outcome.errors.empty() ? "" : planText(plan) + ": said " + outcome.errors;
}

std::string runOnce(uint64_t seed, Kind kind, int64_t* lateMs) {
  if (kind == Kind::Kill || kind == Kind::Exit) return runDeath(seed, kind == Kind::Exit, lateMs);
  const Draft draft = draftOf(seed, kind);
  const int ranks = draft.size + (kind == Kind::Grow ? draft.added : 0);
  const bool stops = kind == Kind::Stop || kind == Kind::LongStop;
  const Outcome outcome = run(
      ranks, [&draft](const Me& me) { body(me, draft); },
      stops ? Meddle([&draft](Shared& shared) { stopVictim(shared, draft); }) : Meddle());
  *lateMs = outcome.lateMs;
  if (!outcome.failure.empty()) return draftText(draft) + ": " + outcome.failure;
  const bool stall = outcome.errors.find("rondo: stall: ") != std::string::npos;
  if (kind == Kind::LongStop && !stall) return draftText(draft) + ": no stall was reported";
  if (kind == Kind::LongStop || outcome.errors.empty()) return "";
  return draftText(draft) + ": said " + outcome.errors;
}

/// Of what no lateness of the machine is the cause.
bool isDefect(const std::string& wrong) {
  for (const char* const sign :
       {"returned as success", "(crash)", "in use", "are mapped", "are open", "are running"}) {
    if (wrong.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

const char* kindName(Kind kind) {
  static const char* const names[kKinds] = {
      "kill",        "exit",       "stop", "long stop", "wrong count", "wrong order",
      "never comes", "abort init", "grow", "no memory", "memlock",     "descriptors"};
  return names[static_cast<int>(kind)];
}

Kind kindOf(uint64_t seed) {
  if (seed % 80 == 79) return Kind::LongStop;
  const uint64_t at = seed % 20;
  if (at < 6) return Kind::Kill;
  if (at < 8) return Kind::Exit;
  static constexpr Kind rest[] = {Kind::Stop,       Kind::WrongCount,  Kind::WrongOrder,
                                  Kind::NeverComes, Kind::AbortInit,   Kind::AbortInit,
                                  Kind::Grow,       Kind::Grow,        Kind::NoMemory,
                                  Kind::Memlock,    Kind::Descriptors, Kind::Descriptors};
  return rest[at - 8];
}

std::string runMischief(uint64_t seed, Kind kind, std::vector<std::string>* again) {
  constexpr int kAttempts = 3;
  constexpr int64_t kLateMs = 100;
  for (int attempt = 1;; ++attempt) {
    int64_t lateMs = 0;
    std::string wrong = runOnce(seed, kind, &lateMs);
    const bool final = attempt == kAttempts || lateMs < kLateMs || isDefect(wrong);
    if (wrong.empty() || final) return wrong;
    again->push_back(format("the machine was %d ms late: ", static_cast<int>(lateMs)) + wrong);
  }
}

}  // namespace rondo::chaos
