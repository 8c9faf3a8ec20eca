#include "timing.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace rondo::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kCheckedSets = 8;

double microseconds(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

}  // namespace

size_t contenderAt(size_t round, size_t place, size_t contenders, size_t sets) {
  const size_t turn = round * contenders / sets;
  const bool backwards = sets % contenders == 0 && turn % 2 == 1;
  return backwards ? contenders - 1 - place : place;
}

GraphTurns graphTurns(size_t sets, size_t calls) {
  GraphTurns best{};
  // Of four sets and an odd number of calls only three will do.
  for (size_t used = sets; 8 * used >= 7 * sets || best.graphs == 0; --used) {
    const size_t graphs = used / std::gcd(used, calls);
    if (graphs % 4 != 0 && (best.graphs == 0 || graphs < best.graphs)) best = {used, graphs};
  }
  return best;
}

void Trial::pause() const {
  if (pauseMs > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pauseMs));
}

void HostTimer::check(const Trial& trial, std::vector<Samples>& samples) {
  const size_t sets = std::min(trial.ring.sets(), kCheckedSets);
  for (size_t c = 0; c < trial.contenders.size(); ++c) {
    for (size_t set = 0; set < sets; ++set) {
      trial.ring.prepare(set);
      if (trial.check) trial.ring.guard(set);
    }
    trial.session.barrier();
    for (size_t set = 0; set < sets; ++set) trial.contenders[c].call(trial.onSet(set));
    if (!trial.check) continue;
    for (size_t set = 0; set < sets; ++set) {
      samples[c].wrong += trial.ring.countWrong(set) + trial.ring.countStrays(set);
    }
  }
}

/// Brings the ranks together before a call.
void HostTimer::gather(const Trial& trial) const {
  if (meeting_ != nullptr) {
    meeting_->meet();
    return;
  }
  trial.session.barrier();
  trial.session.meet(trial.ring.layout().peer, trial.ring.layout().leads);
}

double HostTimer::rounds(const Trial& trial, int iterations, bool keep, const OnProgress& progress,
                         std::vector<Samples>& samples) {
  const size_t contenders = trial.contenders.size();
  const size_t sets = trial.ring.sets();
  const size_t total = static_cast<size_t>(iterations) * contenders;
  const size_t firstChecked = total - contenders;
  const bool check = keep && trial.check;
  const Clock::time_point start = Clock::now();

  for (size_t at = 0; at < total; ++at) {
    const size_t place = at % contenders;
    const size_t c = contenderAt(at / contenders, place, contenders, sets);
    const size_t set = at % sets;
    const CallArgs args = trial.onSet(set);
    if (place == 0) progress(static_cast<int>(at / contenders), iterations);

    trial.pause();
    gather(trial);
    const Clock::time_point before = Clock::now();
    trial.contenders[c].call(args);
    const Clock::time_point after = Clock::now();
    // The meeting makes no call of MPI's, which may have left something to do.
    if (meeting_ != nullptr && trial.contenders[c].library == kMpiName) trial.session.barrier();

    if (keep) samples[c].usec.push_back(microseconds(after - before));
    if (check && at >= firstChecked) samples[c].wrong += trial.ring.countWrong(set);
    // A set that the last round will use gets its inputs and a wrong result one turn of the ring
    // before, so that the last round is checked for what it did and still finds its data cold.
    if (check && at + sets >= firstChecked && at + sets < total) trial.ring.prepare(set);
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace rondo::bench
