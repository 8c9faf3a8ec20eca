// Seeded ordeals on device memory: gpu_chaos [--runs N] [--seed FIRST] [--kind NAME] [--slack X].
// Ranks are processes on as many GPUs as there are; this one has no CUDA. By the seed they make
// sums, other collectives, exchanges or launches of graphs, until one is killed, ends, is stopped
// for a while, revokes, aborts, leaves or calls something else. Each must end in right results or
// in the right error within the limit, with CUDA as good as before, and go on with those who are
// left; nothing may stay taken. Exit status 0: none went wrong.

#include <algorithm>
#include <random>
#include <utility>

#include "coll/device_budget.h"
#include "gpu/death_rank.h"
#include "p2p/segment.h"

namespace rondo::chaos {
namespace {

enum class Kind { Kill, Exit, Stop, Revoke, Abort, Leave, Mismatch };
constexpr const char* kKinds[] = {"kill", "exit", "stop", "revoke", "abort", "leave", "mismatch"};
enum class Phase { SmallSums, LargeSums, Collectives, Exchange, Graph, GraphAndSums };
constexpr const char* kPhases[] = {"small sums", "large sums", "collectives",
                                   "exchanges",  "graphs",     "graphs and sums"};

struct Draft {
  uint64_t seed;
  Kind kind;
  Phase phase;
  int size, victim;
  int turn;     ///< Of its own will: in which round.
  int delayUs;  ///< From outside: after so long.
  int stopMs;
};

int gpusHere() {
  int count = 0;
  while (access(format("/dev/nvidia%d", count).c_str(), F_OK) == 0) ++count;
  return std::max(1, count);
}

Draft draftOf(uint64_t seed, int kind) {
  std::mt19937_64 random(seed * 2654435761u + 17);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  Draft draft{};
  draft.seed = seed;
  draft.kind = static_cast<Kind>(below(std::size(kKinds)));
  draft.phase = static_cast<Phase>(below(std::size(kPhases)));
  // Ranks that share a GPU take turns on it, milliseconds each.
  draft.size = 2 + below(gpusHere() > 1 ? 3 : 2);
  draft.victim = below(draft.size);
  draft.turn = below(20);
  draft.delayUs = below(100'000);
  draft.stopMs = below(3) == 0 ? 2000 : 100 + below(400);
  if (kind >= 0) draft.kind = static_cast<Kind>(kind);
  // In graphs and exchanges nobody can tell that a rank has left or calls something else
  // (docs/when-things-go-wrong.md).
  const bool untold = draft.kind == Kind::Leave || draft.kind == Kind::Mismatch;
  if (untold && draft.phase >= Phase::Exchange) draft.phase = static_cast<Phase>(seed % 3);
  return draft;
}

std::string draftText(const Draft& draft) {
  return format("seed %llu: %s in %s, rank %d of %d, round %d, after %d us, %d ms",
                static_cast<unsigned long long>(draft.seed), kKinds[static_cast<int>(draft.kind)],
                kPhases[static_cast<int>(draft.phase)], draft.victim, draft.size, draft.turn,
                draft.delayUs, draft.stopMs);
}

/// What a rank does over and over.
class Work {
 public:
  Work(const Me& me, Gpu& gpu, const Draft& draft) : me_(me), gpu_(gpu), draft_(draft) {
    if (draft.phase >= Phase::Graph) capture();
  }

  /// One round. Success: all is right so far.
  rondoResult_t round(const std::function<void()>& meanwhile) {
    ++turn_;
    switch (draft_.phase) {
      case Phase::SmallSums:
        return sums(8, 1 + shared(4096), meanwhile);
      case Phase::LargeSums:
        return sums(2, kCount - shared(1000), meanwhile);
      case Phase::Collectives:
        return collectives(meanwhile);
      case Phase::Exchange:
        return exchange(1 + shared(kCount), meanwhile);
      default:
        return graphs(meanwhile);
    }
  }
  /// Sums of which one rank's has another count.
  rondoResult_t mismatch() {
    ++turn_;
    return sums(1, me_.rank == draft_.victim ? 100 : kCount, [] {});
  }
  /// What Gpu's own sums are of: `in` as it was.
  void restore() {
    host_.assign(kCount, 1);
    gpu_.ok(cudaMemcpyAsync(gpu_.in, host_.data(), kCount * sizeof(int), cudaMemcpyHostToDevice,
                            gpu_.stream),
            "cudaMemcpyAsync");
    gpu_.end();
  }
  /// The greatest of what the ranks give; of a communicator where all must be well.
  int agree(int mine) {
    int most = -1;
    gpu_.ok(cudaMemcpyAsync(gpu_.in, &mine, sizeof mine, cudaMemcpyHostToDevice, gpu_.stream),
            "cudaMemcpyAsync");
    me_.ok(rondoAllReduce(gpu_.in, gpu_.out, 1, rondoInt32, rondoMax, gpu_.comm, gpu_.stream),
           gpu_.comm, "agreeing");
    gpu_.ok(cudaMemcpyAsync(&most, gpu_.out, sizeof most, cudaMemcpyDeviceToHost, gpu_.stream),
            "cudaMemcpyAsync");
    gpu_.end();
    return most;
  }

 private:
  size_t shared(size_t below) { return random_() % below; }

  void fill(size_t count, int value) {
    host_.assign(count, value);
    gpu_.ok(cudaMemcpyAsync(gpu_.in, host_.data(), count * sizeof(int), cudaMemcpyHostToDevice,
                            gpu_.stream),
            "cudaMemcpyAsync");
    gpu_.end();
  }
  /// The stream has ended; success only if the communicator is sound, and then `want(i)` is there.
  rondoResult_t finish(size_t count, const std::function<int(size_t)>& want) {
    host_.assign(count, -1);
    gpu_.ok(cudaMemcpyAsync(host_.data(), gpu_.out, count * sizeof(int), cudaMemcpyDeviceToHost,
                            gpu_.stream),
            "cudaMemcpyAsync");
    gpu_.end();
    if (gpu_.comm == nullptr) return rondoRemoteError;
    if (const rondoResult_t broken = gpu_.state()) return broken;
    for (size_t i = 0; i < count; ++i) {
      me_.check(host_[i] == want(i),
                format("element %zu of %zu is %d, not %d, and that was returned as success", i,
                       count, host_[i], want(i)));
    }
    return rondoSuccess;
  }
  rondoResult_t failed(rondoResult_t result) const {
    gpu_.end();
    return result;
  }
  int sumOfRanks() const { return me_.size * (me_.size - 1) / 2 + me_.size * turn_; }

  rondoResult_t sums(int times, size_t count, const std::function<void()>& meanwhile) {
    fill(count, me_.rank + turn_);
    for (int i = 0; i < times; ++i) {
      if (const rondoResult_t bad = gpu_.sum(gpu_.comm, count)) return failed(bad);
    }
    meanwhile();
    return finish(count, [this](size_t) { return sumOfRanks(); });
  }

  rondoResult_t collectives(const std::function<void()>& meanwhile) {
    const auto size = static_cast<size_t>(me_.size);
    const size_t part = 1 + shared(kCount / size);
    fill(part * size, me_.rank + turn_);
    rondoResult_t bad = rondoAllGather(gpu_.in, gpu_.out, part, rondoInt32, gpu_.comm, gpu_.stream);
    if (bad == rondoSuccess) {
      bad = finish(part * size,
                   [this, part](size_t i) { return static_cast<int>(i / part) + turn_; });
    }
    if (bad != rondoSuccess) return failed(bad);
    bad = rondoReduceScatter(gpu_.in, gpu_.out, part, rondoInt32, rondoSum, gpu_.comm, gpu_.stream);
    meanwhile();
    if (bad == rondoSuccess) bad = finish(part, [this](size_t) { return sumOfRanks(); });
    if (bad != rondoSuccess) return failed(bad);
    const int root = turn_ % me_.size;
    bad = rondoBroadcast(gpu_.in, gpu_.out, part, rondoInt32, root, gpu_.comm, gpu_.stream);
    if (bad != rondoSuccess) return failed(bad);
    return finish(part, [this, root](size_t) { return root + turn_; });
  }

  /// To the next rank and from the one before.
  rondoResult_t exchange(size_t count, const std::function<void()>& meanwhile) {
    const int next = (me_.rank + 1) % me_.size, before = (me_.rank + me_.size - 1) % me_.size;
    fill(count, me_.rank + turn_);
    rondoGroupStart();
    rondoSend(gpu_.in, count, rondoInt32, next, gpu_.comm, gpu_.stream);
    rondoRecv(gpu_.out, count, rondoInt32, before, gpu_.comm, gpu_.stream);
    if (const rondoResult_t bad = rondoGroupEnd()) return failed(bad);
    meanwhile();
    return finish(count, [this, before](size_t) { return before + turn_; });
  }

  rondoResult_t graphs(const std::function<void()>& meanwhile) {
    fill(kCaptured, me_.rank + turn_);
    for (int i = 0; i < 3; ++i) {
      gpu_.ok(cudaGraphLaunch(graph_, gpu_.stream), "cudaGraphLaunch");
      if (draft_.phase == Phase::Graph) continue;
      if (const rondoResult_t bad = gpu_.sum(gpu_.comm, kCaptured)) return failed(bad);
    }
    meanwhile();
    return finish(kCaptured, [this](size_t) { return sumOfRanks(); });
  }

  void capture() {
    cudaGraph_t graph = nullptr;
    gpu_.ok(cudaStreamBeginCapture(gpu_.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < 4; ++i) {
      me_.ok(gpu_.sum(gpu_.comm, i % 2 == 0 ? kCaptured : 1000), gpu_.comm, "a captured sum");
    }
    me_.ok(gpu_.sum(gpu_.comm, kCaptured), gpu_.comm, "a captured sum");
    gpu_.ok(cudaStreamEndCapture(gpu_.stream, &graph), "cudaStreamEndCapture");
    gpu_.ok(cudaGraphInstantiateWithFlags(&graph_, graph, 0), "cudaGraphInstantiate");
    gpu_.ok(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }

  static constexpr size_t kCaptured = kCount / 4;
  const Me& me_;
  Gpu& gpu_;
  const Draft& draft_;
  std::mt19937_64 random_{draft_.seed};
  cudaGraphExec_t graph_ = nullptr;
  int turn_ = 0;
  std::vector<int> host_;
};

/// What the victim does by itself, in the middle of a round.
void act(const Me& me, Gpu& gpu, const Draft& draft) {
  me.shared->killedAt = nowMs();
  if (draft.kind == Kind::Revoke) me.ok(rondoCommRevoke(gpu.comm), gpu.comm, "rondoCommRevoke");
  if (draft.kind == Kind::Abort) {
    const rondoComm_t comm = std::exchange(gpu.comm, nullptr);
    me.ok(rondoCommAbort(comm), nullptr, "rondoCommAbort");
  }
  if (draft.kind == Kind::Exit) me.die(true);
}

/// Rounds until the communicator is broken (or, beside a stopped rank, until it goes on again).
rondoResult_t workUntilBroken(const Me& me, Gpu& gpu, const Draft& draft, Work& work) {
  const bool byItself = me.rank == draft.victim && draft.kind != Kind::Kill &&
                        draft.kind != Kind::Stop && draft.kind != Kind::Leave;
  for (int turn = 0;; ++turn) {
    const bool now = turn == draft.turn;
    if (now && draft.kind == Kind::Leave && me.rank == draft.victim) {
      me.shared->killedAt = nowMs();
      me.ok(rondoCommDestroy(std::exchange(gpu.comm, nullptr)), nullptr, "rondoCommDestroy");
      return rondoRemoteError;
    }
    if (now && draft.kind == Kind::Mismatch && me.rank == draft.victim) {
      me.shared->killedAt = nowMs();
    }
    const rondoResult_t result =
        now && draft.kind == Kind::Mismatch ? work.mismatch() : work.round([&] {
          if (now && byItself) act(me, gpu, draft);
        });
    if (draft.kind == Kind::Stop) {
      me.ok(result, gpu.comm, "a round beside a stopped rank");
      if (work.agree(me.shared->moreMade == 0 ? 1 : 0) == 0) return rondoSuccess;
    } else if (result != rondoSuccess) {
      return result;
    }
  }
}

/// From the cause to the error.
void checkTime(const Me& me, const Draft& draft) {
  const bool dies = draft.kind == Kind::Kill || draft.kind == Kind::Exit;
  const int64_t now = nowMs();
  // What a process with a context takes to end is its own; the launcher may see that end later
  // than the ranks do.
  if (dies) holdsSoon(*me.shared, 2000, [&me] { return me.shared->diedAt != 0; });
  const int64_t from = dies && me.shared->diedAt != 0 ? me.shared->diedAt : me.shared->killedAt;
  me.note().errorMs = std::max<int64_t>(0, now - from);
  me.check(me.note().errorMs < 3000 * slack() + me.shared->lateMs,
           format("the error came after %d ms", static_cast<int>(me.note().errorMs)));
}

void checkSentence(const Gpu& gpu, const Draft& draft) {
  const std::string who = format("rank %d (host", draft.victim);
  switch (draft.kind) {
    case Kind::Kill:
      return gpu.checkBroken(rondoRemoteError, {who, "was killed by signal 9 (Killed)"});
    case Kind::Exit:
      return gpu.checkBroken(rondoRemoteError, {who, "ended with exit status 3"});
    case Kind::Leave:
      return gpu.checkBroken(rondoRemoteError,
                             {who, "has let go of it and takes no part in this call"});
    case Kind::Mismatch:
      return gpu.checkBroken(rondoMismatch,
                             {"where rank", "with count 100,", "on device memory of communicator"});
    default:
      return gpu.checkBroken(rondoRemoteError,
                             {format("rank %d aborted communicator \"comm\"", draft.victim)});
  }
}

/// Nothing is taken any more, by a process that has destroyed its communicators.
void checkNothingLeft(const Me& me, int device, int descriptors) {
  const auto soon = [&me](const std::function<bool()>& holds) {
    return holdsSoon(*me.shared, 5000, holds);
  };
  me.check(soon([] { return Segment::own().poolUsed() == 0; }), "shared memory is still in use");
  me.check(soon([] { return mappedSegments() <= 1; }),
           format("%d segments are mapped", mappedSegments()));
  me.check(DeviceBudget::room(device, 0).taken == 0, "a part of the device is still promised");
  me.check(soon([descriptors] { return openDescriptors() <= descriptors; }),
           format("%d descriptors are open, before it were %d:%s", openDescriptors(), descriptors,
                  descriptorsText().c_str()));
}

void endure(const Me& me, const Draft& draft) {
  Gpu gpu(me);
  gpu.begin();
  Work work(me, gpu, draft);
  int device = -1;
  me.ok(rondoCommCuDevice(gpu.comm, &device), gpu.comm, "rondoCommCuDevice");
  const int descriptors = openDescriptors();
  ++me.shared->done;
  while (me.shared->done < me.size) usleep(1000);
  const rondoResult_t result = workUntilBroken(me, gpu, draft, work);
  const bool gone = gpu.comm == nullptr;
  if (draft.kind == Kind::Stop) {
    me.ok(result, gpu.comm, "the work");
  } else if (!gone) {
    checkTime(me, draft);
    checkSentence(gpu, draft);
  }
  gpu.checkCuda();
  const bool fewer =
      draft.kind != Kind::Stop && draft.kind != Kind::Revoke && draft.kind != Kind::Mismatch;
  if (gone) {  // the others have what it shared with them
    while (me.shared->ready < 2 * me.size - 1) usleep(1000);
  } else {
    work.restore();
    gpu.goOn(me.size - (fewer ? 1 : 0));
  }
  ++me.shared->ready;
  checkNothingLeft(me, device, descriptors);
}

void meddle(Shared& shared, const Draft& draft) {
  if (!holdsSoon(shared, 50'000, [&] { return shared.done >= draft.size; })) return;
  usleep(static_cast<useconds_t>(draft.delayUs));
  const pid_t victim = shared.pids[draft.victim];
  if (draft.kind == Kind::Kill) {
    shared.killedAt = nowMs();
    kill(victim, SIGKILL);
  } else if (draft.kind == Kind::Stop) {
    kill(victim, SIGSTOP);
    usleep(static_cast<useconds_t>(draft.stopMs) * 1000);
    kill(victim, SIGCONT);
    shared.moreMade = 1;
  }
}

/// What went wrong on every rank; "": nothing. `outcome` is for its figures.
std::string runOnce(const Draft& draft, Outcome* outcome) {
  *outcome = run(
      draft.size, [&draft](const Me& me) { endure(me, draft); },
      [&draft](Shared& shared) { meddle(shared, draft); }, draft.victim);
  std::string wrong = outcome->failure.rfind("the launcher", 0) == 0 ? outcome->failure : "";
  for (const Note& note : outcome->notes) {
    if (note.failure[0] != '\0') wrong += (wrong.empty() ? "" : "; ") + std::string(note.failure);
  }
  if (!outcome->errors.empty()) wrong += (wrong.empty() ? "said " : "; said ") + outcome->errors;
  return wrong;
}

struct Wish {
  uint64_t runs = 40, seed = 1;
  int kind = -1;
};

[[noreturn]] void usage(const char* what) {
  std::fprintf(stderr,
               "gpu_chaos: %s\nusage: gpu_chaos [--runs N] [--seed FIRST] [--kind NAME] [--slack "
               "X], NAME one of kill, exit, stop, revoke, abort, leave, mismatch\n",
               what);
  std::exit(2);
}

Wish read(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage("an option without a value");
    const std::string name = argv[i], value = argv[i + 1];
    char* end = nullptr;
    const uint64_t number = std::strtoull(value.c_str(), &end, 10);
    if (name == "--kind") {
      const auto found = std::find(std::begin(kKinds), std::end(kKinds), value);
      if (found == std::end(kKinds)) usage("no such kind");
      wish.kind = static_cast<int>(found - std::begin(kKinds));
    } else if (*end != '\0') {
      usage("no number");
    } else if (name == "--slack") {
      setenv("RONDO_CHAOS_SLACK", value.c_str(), 1);
    } else if (name == "--runs" || name == "--seed") {
      (name == "--runs" ? wish.runs : wish.seed) = number;
    } else {
      usage("no such option");
    }
  }
  return wish;
}

/// Lateness of the machine is no defect of what ran on it; a wrong result or a leak is.
bool triesAgain(const std::string& wrong, const Outcome& outcome) {
  return outcome.lateMs >= 500 && wrong.find("the error came after") != std::string::npos &&
         wrong.find("returned as success") == std::string::npos;
}

int main(const Wish& wish) {
  const int64_t start = nowMs();
  int wrongs = 0, again = 0;
  int64_t slowest = 0;
  for (uint64_t seed = wish.seed; seed < wish.seed + wish.runs; ++seed) {
    const Draft draft = draftOf(seed, wish.kind);
    Outcome outcome;
    std::string wrong = runOnce(draft, &outcome);
    if (triesAgain(wrong, outcome)) {
      std::printf("AGAIN: %s: %s\n", draftText(draft).c_str(), wrong.c_str());
      ++again;
      wrong = runOnce(draft, &outcome);
    }
    int64_t most = 0;
    for (const Note& note : outcome.notes) most = std::max(most, note.errorMs);
    slowest = std::max(slowest, most);
    if (wrong.empty()) {
      std::printf("%s: good, %d ms to the last error\n", draftText(draft).c_str(),
                  static_cast<int>(most));
    } else {
      std::printf("WRONG: %s: %s\n", draftText(draft).c_str(), wrong.c_str());
      ++wrongs;
    }
    std::fflush(stdout);
  }
  std::printf(
      "gpu_chaos: %llu runs from seed %llu in %.1f s, %d wrong, %d tried again, at most "
      "%d ms to an error\n",
      static_cast<unsigned long long>(wish.runs), static_cast<unsigned long long>(wish.seed),
      static_cast<double>(nowMs() - start) / 1000, wrongs, again, static_cast<int>(slowest));
  return wrongs == 0 && wish.runs > 0 ? 0 : 1;
}

}  // namespace
}  // namespace rondo::chaos

int main(int argc, char** argv) {
  rondo::chaos::prepareCuda();
  return rondo::chaos::main(rondo::chaos::read(argc, argv));
}
