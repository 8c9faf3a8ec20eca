#include "lost_cores.h"

#include <fstream>

#include "base/turns_lost.h"
#include "text.h"

namespace rondo::bench {
namespace {

/// What less than one iteration in a hundred has met stands in no percentile, and what is less than
/// a hundredth of the time in no mean.
constexpr double kLeast = 0.01;

/// For how many seconds this thread could have run and had no core; negative: nobody says.
double secondsWaited() {
  std::ifstream file("/proc/thread-self/schedstat");
  double ran = 0, waited = -1e9;
  file >> ran >> waited;
  return file ? waited * 1e-9 : -1;
}

}  // namespace

CoreClock::CoreClock()
    : start_(std::chrono::steady_clock::now()), turns_(turnsLost()), waited_(secondsWaited()) {}

CoreLoss CoreClock::lost() const {
  CoreLoss loss;
  loss.turns = turnsLost() - turns_;
  const double waited = secondsWaited();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  if (waited_ >= 0 && waited >= waited_ && passed.count() > 0) {
    loss.share = (waited - waited_) / passed.count();
  }
  return loss;
}

void LostCores::add(const std::string& what, const CoreLoss& loss, int iterations) {
  ++measurements_;
  const double often = static_cast<double>(loss.turns) / iterations;
  if (often < kLeast || (loss.share >= 0 && loss.share < kLeast)) return;
  ++disturbed_;
  if (often <= most_) return;
  most_ = often;
  worst_ = what + format(": %ld times in %d iterations", loss.turns, iterations);
  if (loss.share >= 0) worst_ += format(", %.0f %% of a rank's time", 100 * loss.share);
}

std::string LostCores::text() const {
  if (disturbed_ == 0) return "";
  return format(
             "cores     other processes had ranks' cores in %d of %d measurements, most often in ",
             disturbed_, measurements_) +
         worst_ +
         " (calls, and what is between them); of short calls usec_p99 and usec_max hold it, of "
         "long "
         "ones usec_p50 too";
}

}  // namespace rondo::bench
