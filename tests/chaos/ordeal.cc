#include "chaos/ordeal.h"

#include <algorithm>
#include <thread>

#include "p2p/segment.h"

namespace rondo::chaos {
namespace {

/// From the kill to the error of every survivor.
constexpr int64_t kMostErrorMs = 1000;

bool soon(const Me& me, const std::function<bool()>& condition) {
  return holdsSoon(*me.shared, 3000, condition);
}

/// Work of one phase; every call's result is checked, and the first that is no success returned.
class Work {
 public:
  Work(const Me& me, rondoComm_t comm, uint64_t seed) : me_(me), comm_(comm), random_(seed) {}

  rondoResult_t allReduce(size_t count) {
    in_.assign(count, me_.rank + turn_);
    out_.assign(count, -1);
    const rondoResult_t result =
        rondoAllReduce(in_.data(), out_.data(), count, rondoInt32, rondoSum, comm_, nullptr);
    if (result == rondoSuccess) {
      const int n = me_.size;
      const int sum = n * (n - 1) / 2 + n * turn_;
      const bool right = std::all_of(out_.begin(), out_.end(), [sum](int v) { return v == sum; });
      me_.check(right, "a wrong sum was returned as success");
    }
    ++turn_;
    return result;
  }

  /// To the next rank and from the one before.
  rondoResult_t exchange(size_t count) {
    start(count);
    if (const rondoResult_t bad = rondoGroupEnd()) return bad;
    checkExchange();
    return rondoSuccess;
  }

  rondoResult_t requests(size_t count) {
    rondoRequest_t requests[2] = {};
    start(count);
    rondoResult_t first = rondoGroupEndAsync(&requests[0]);
    if (first != rondoSuccess) return first;
    std::vector<int> one(count, 1), sum(count, 0);
    rondoGroupStart();
    rondoAllReduce(one.data(), sum.data(), count, rondoInt32, rondoSum, comm_, nullptr);
    first = rondoGroupEndAsync(&requests[1]);
    const rondoResult_t second = rondoWaitAll(2, requests);
    if (first != rondoSuccess || second != rondoSuccess)
      return first != rondoSuccess ? first : second;
    checkExchange();
    me_.check(std::all_of(sum.begin(), sum.end(), [this](int v) { return v == me_.size; }),
              "a wrong sum of a request was returned as success");
    return rondoSuccess;
  }

  rondoResult_t step(Phase phase) {
    switch (phase) {
      case Phase::Before:
        return allReduce(1 + random_() % 3000);
      case Phase::LargeAllReduce:
        return allReduce((1u << 20) + random_() % 1000);
      case Phase::Barrier:
        return rondoBarrier(comm_, nullptr);
      case Phase::SendRecv:
        return exchange(1 + random_() % (random_() % 4 == 0 ? 500000 : 500));
      case Phase::Requests:
        return requests(1 + random_() % 60000);
      case Phase::Mixed:
        return step(static_cast<Phase>(random_() % (kPhases - 1)));
    }
    return rondoInternalError;
  }

 private:
  void start(size_t count) {
    in_.assign(count, me_.rank * 1000 + turn_);
    out_.assign(count, -1);
    const int next = (me_.rank + 1) % me_.size, before = (me_.rank + me_.size - 1) % me_.size;
    rondoGroupStart();
    rondoSend(in_.data(), count, rondoInt32, next, comm_, nullptr);
    rondoRecv(out_.data(), count, rondoInt32, before, comm_, nullptr);
  }
  void checkExchange() {
    const int want = (me_.rank + me_.size - 1) % me_.size * 1000 + turn_++;
    me_.check(std::all_of(out_.begin(), out_.end(), [want](int v) { return v == want; }),
              "a wrong message was returned as success");
  }

  const Me& me_;
  rondoComm_t comm_;
  std::mt19937_64 random_;
  int turn_ = 0;
  std::vector<int> in_, out_;
};

void dieLater(const Me& me, int delayUs, bool byExit) {
  std::thread([&me, delayUs, byExit] {
    usleep(static_cast<useconds_t>(delayUs));
    me.die(byExit);
  }).detach();
}

rondoResult_t workUntilError(const Me& me, const Plan& plan, rondoComm_t comm) {
  Work work(me, comm, plan.seed);
  const bool victim = me.rank == plan.victim;
  if (victim && plan.phase != Phase::Before) dieLater(me, plan.delayUs, plan.byExit);
  for (int call = 0;; ++call) {
    if (victim && plan.phase == Phase::Before && call == plan.calls) me.die(plan.byExit);
    const rondoResult_t result = work.step(plan.phase);
    if (result != rondoSuccess) return result;
  }
}

void checkError(const Me& me, const Plan& plan, rondoComm_t comm, rondoResult_t result) {
  const std::string sentence = rondoGetLastError(nullptr);
  sentence.copy(me.note().sentence, sizeof me.note().sentence - 1);
  const int64_t erredAt = nowMs();
  me.check(soon(me, [&] { return me.shared->diedAt != 0; }), "the launcher has seen no death");
  me.note().errorMs = std::max<int64_t>(0, erredAt - me.shared->diedAt);
  me.check(result == rondoRemoteError,
           format("the error after the death is %d: %s", result, sentence.c_str()));
  const char* const how = plan.byExit ? "ended with exit status 3" : "was killed by signal 9";
  me.check(sentence.find(format("rank %d (host \"", plan.victim)) != std::string::npos &&
               sentence.find(how) != std::string::npos,
           "the sentence does not name the dead: " + sentence);
  me.check(me.note().errorMs <= kMostErrorMs * slack() + me.shared->lateMs,
           format("the error came after %d ms", static_cast<int>(me.note().errorMs)));
  me.check(rondoBarrier(comm, nullptr) == rondoRemoteError, "a later call did not fail");
  rondoResult_t state = rondoSuccess;
  me.ok(rondoCommGetAsyncError(comm, &state), comm, "rondoCommGetAsyncError");
  me.check(state == rondoRemoteError, "rondoCommGetAsyncError knows of no error");
}

/// Who is in `comm`, by their first ranks, and whether its sum is theirs. RemoteError: another
/// death.
rondoResult_t checkRest(const Me& me, const Plan& plan, rondoComm_t comm) {
  int size = 0;
  me.ok(rondoCommCount(comm, &size), comm, "rondoCommCount");
  std::vector<int> who(static_cast<size_t>(size), -1);
  if (const rondoResult_t bad = rondoAllGather(&me.rank, who.data(), 1, rondoInt32, comm, nullptr))
    return bad;
  std::vector<int> in(70000, me.rank), out(70000, -1);
  if (const rondoResult_t bad =
          rondoAllReduce(in.data(), out.data(), in.size(), rondoInt32, rondoSum, comm, nullptr))
    return bad;
  int sum = 0;
  for (const int r : who) sum += r;
  me.check(std::is_sorted(who.begin(), who.end()), "the survivors are not in order");
  me.check(std::count(who.begin(), who.end(), me.rank) == 1, "a survivor is not in its own group");
  me.check(std::count(who.begin(), who.end(), plan.victim) == 0, "the dead is in the group");
  me.check(std::all_of(out.begin(), out.end(), [sum](int v) { return v == sum; }),
           "a wrong sum after the shrink was returned as success");
  me.note().rest = size;
  return rondoSuccess;
}

/// Shrinks until nobody is missing but those who were to die.
void recover(const Me& me, const Plan& plan, std::vector<rondoComm_t>& comms) {
  const int rest = plan.size - (plan.second < 0 ? 1 : 2);
  if (me.rank == plan.second) dieLater(me, plan.secondDelayUs, plan.byExit);
  for (;;) {
    rondoComm_t comm = nullptr;
    const int64_t start = nowMs();
    me.ok(rondoCommShrink(comms.back(), nullptr, 0, &comm, nullptr, RONDO_SHRINK_DEFAULT), nullptr,
          "rondoCommShrink");
    me.note().shrinkMs = nowMs() - start;
    comms.push_back(comm);
    rondoResult_t result = checkRest(me, plan, comm);
    // The second death may be yet to come.
    while (result == rondoSuccess && me.note().rest > rest) result = rondoBarrier(comm, nullptr);
    if (result == rondoSuccess) return;
    me.check(result == rondoRemoteError,
             format("after a shrink: %d: %s", result, rondoGetLastError(nullptr)));
  }
}

void checkNothingLeft(const Me& me, const Plan& plan, const std::vector<rondoComm_t>& comms,
                      int descriptors) {
  for (rondoComm_t comm : comms) me.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
  ++me.shared->done;
  const int survivors = plan.size - (plan.second < 0 ? 1 : 2);
  me.check(soon(me, [&] { return me.shared->done == survivors; }),
           "not all survivors came to the end");
  me.check(soon(me, [] { return Segment::own().poolUsed() == 0; }),
           "shared memory is still in use");
  me.check(mappedSegments() == 1, format("%d segments are mapped", mappedSegments()));
  me.check(runningThreads() <= 2, format("%d threads are running", runningThreads()));
  // The progress thread may be holding one for a moment.
  me.check(soon(me, [&] { return openDescriptors() == descriptors; }),
           format("%d descriptors are open, not %d:%s", openDescriptors(), descriptors,
                  descriptorsText().c_str()));
}

}  // namespace

const char* phaseName(Phase phase) {
  static const char* const names[] = {"before a call", "in large all-reduces", "in barriers",
                                      "in send/recv",  "with requests",        "in mixed calls"};
  return names[static_cast<int>(phase)];
}

Plan planOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  Plan plan{};
  plan.seed = seed;
  plan.phase = static_cast<Phase>(seed % kPhases);
  plan.size = 2 + static_cast<int>(random() % 4);
  plan.victim = static_cast<int>(random() % static_cast<uint64_t>(plan.size));
  plan.second = -1;
  if (plan.size >= 4 && random() % 3 == 0) plan.second = (plan.victim + 1) % plan.size;
  plan.calls = static_cast<int>(random() % 30);
  plan.delayUs = static_cast<int>(random() % 30000);
  plan.secondDelayUs = static_cast<int>(random() % 20000);
  return plan;
}

std::string planText(const Plan& plan) {
  std::string text =
      format("seed %llu: rank %d of %d %s %s", static_cast<unsigned long long>(plan.seed),
             plan.victim, plan.size, plan.byExit ? "exits" : "is killed", phaseName(plan.phase));
  if (plan.second >= 0) text += format(", and rank %d while the others shrink", plan.second);
  return text;
}

void endure(const Me& me, const Plan& plan) {
  rondoComm_t comm = me.join();
  me.ok(rondoBarrier(comm, nullptr), comm, "the first barrier");
  // One descriptor a peer watches it, until the communicator ends.
  const int descriptors = openDescriptors() - (plan.size - 1);
  // Nobody dies before all have counted: a dead one is no longer watched.
  me.ok(rondoBarrier(comm, nullptr), comm, "the second barrier");
  const rondoResult_t result = workUntilError(me, plan, comm);
  checkError(me, plan, comm, result);
  std::vector<rondoComm_t> comms{comm};
  recover(me, plan, comms);
  checkNothingLeft(me, plan, comms, descriptors);
}

std::string runOrdeal(const Plan& plan, Outcome* outcome) {
  *outcome = run(
      plan.size, [&plan](const Me& me) { endure(me, plan); }, {}, plan.victim);
  return outcome->failure.empty() ? "" : planText(plan) + ": " + outcome->failure;
}

}  // namespace rondo::chaos
