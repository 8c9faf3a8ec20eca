#include "overlap.h"

#include <algorithm>

#include "commands.h"
#include "computation.h"
#include "library_mpi.h"
#include "library_rondo.h"

namespace rondo::bench {
namespace {

/// The libraries, each with work of its own to do while its collective is under way.
class Overlapped {
 public:
  Overlapped(const Environment& environment, const Benchmark& benchmark) {
    const Session& session = environment.session();
    const Options& options = environment.options();
    const bool alone = options.library == Library::kMpi;
    const bool both = options.peer == Peer::kMpi;
    // Kept at fixed addresses: the contenders hold on to them.
    work_.resize(both ? 2 : 1, Computation());
    const auto during = [this](size_t which) {
      return [this, which](const std::function<void()>& poll) { work_[which].run(poll); };
    };
    if (!alone) contenders_ = {rondoOverlapped(benchmark, session.rondo(), during(0))};
    if (alone || both) {
      contenders_.push_back(mpiOverlapped(benchmark, session.mpi(), during(work_.size() - 1)));
    }
  }
  Overlapped(const Overlapped&) = delete;
  Overlapped& operator=(const Overlapped&) = delete;

  const std::vector<Contender>& contenders() const { return contenders_; }
  Computation& work(size_t which) { return work_[which]; }

 private:
  std::vector<Computation> work_;
  std::vector<Contender> contenders_;
};

Summary overRanks(const std::vector<double>& usec, const Session& session) {
  return summarizeOverRanks(usec, AcrossRanks::kMean, session.mpi());
}

void measureSpot(const Environment& environment, const Spot& spot, Overlapped& overlapped,
                 Output& output) {
  const Session& session = environment.session();
  const Trial trial{session,
                    overlapped.contenders(),
                    spot.ring,
                    spot.args(environment),
                    !environment.options().noCheck,
                    environment.options().pauseMs};
  const size_t libraries = overlapped.contenders().size();
  const auto run = [&](const char* stage) {
    return measure(environment, trial, spot.callBytes(), spot.name() + stage, output);
  };

  for (size_t c = 0; c < libraries; ++c) overlapped.work(c).setWork(0, 1);
  const std::vector<Samples> alone = run(", alone");
  std::vector<double> communication;
  for (size_t c = 0; c < libraries; ++c) {
    communication.push_back(session.fromRoot(overRanks(alone[c].usec, session).p50));
    overlapped.work(c).setWork(communication[c], environment.options().polls + 1);
    overlapped.work(c).forget();
  }
  const std::vector<Samples> both = run(", with computation");

  std::vector<Row> rows;
  for (size_t c = 0; c < libraries; ++c) {
    Row row = spot.row();
    row.collective = "overlap_" + row.collective;
    row.library = overlapped.contenders()[c].library;
    row.iterations = both[c].usec.size();
    row.usec = overRanks(both[c].usec, session);
    const double compute = overRanks(overlapped.work(c).last(both[c].usec.size()), session).p50;
    row.busbw = row.usec.p50 > 0 ? spot.busBytes() / row.usec.p50 / 1000 : 0;
    row.wrong = session.sum(alone[c].wrong + both[c].wrong);
    row.extras = {{"usec_comm", communication[c]},
                  {"usec_compute", compute},
                  {"overlap_pct", overlapPercent(row.usec.p50, compute, communication[c])}};
    rows.push_back(row);
  }
  output.add(std::move(rows));
}

}  // namespace

void measureOverlap(const Environment& environment, const Benchmark& benchmark, Output& output) {
  Overlapped overlapped(environment, benchmark);
  forEachSpot(environment, benchmark,
              [&](const Spot& spot) { measureSpot(environment, spot, overlapped, output); });
}

int runOverlap(const Options& options) {
  const Benchmark& benchmark = *findBenchmark(options.collective);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  requirePossible(benchmark, options, ranks);
  const Environment environment(options);
  RunInfo info = describe(environment, benchmark);
  info.facts.front().second = "overlap of " + info.facts.front().second;
  if (options.polls > 0)
    info.facts.front().second += ", " + std::to_string(options.polls) + " polls";
  info.extraColumns = {"usec_comm", "usec_compute", "overlap_pct"};
  Output output(environment, info);
  measureOverlap(environment, benchmark, output);
  return output.finish();
}

}  // namespace rondo::bench
