#include "sweep.h"

#include <algorithm>

#include "buffers.h"
#include "progress.h"
#include "report.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

constexpr int kFewest = 8;            // timed iterations, whatever the budget
constexpr double kWarmupShare = 0.2;  // of the budget

std::string join(const auto& entries) {
  std::string text;
  for (const auto* entry : entries) text += (text.empty() ? "" : ", ") + std::string(entry->name);
  return text;
}

class Sweep {
 public:
  Sweep(const Environment& environment, const Subject& subject)
      : environment_(environment),
        options_(environment.options()),
        session_(environment.session()),
        subject_(subject),
        progress_(options_.progress, session_.isRoot()) {}

  int run();

 private:
  void openReports();
  RunInfo describe() const;
  void runKind(const ElementType& type, const Operator& op, const Block& block);
  std::vector<Samples> measure(const Trial& trial, size_t bytes, const std::string& what);
  int fitting(double secondsPerRound, double share, int least, int most) const;
  void report(const std::vector<Samples>& samples, Row row, double busBytes);
  size_t blockBytes() const;

  const Environment& environment_;
  const Options& options_;
  const Session& session_;
  const Subject& subject_;
  Progress progress_;
  std::vector<std::unique_ptr<Reporter>> reporters_;  // rank 0 only
  uint64_t wrong_ = 0;
};

int Sweep::run() {
  session_.onRoot([this] { openReports(); });
  {
    const Block block(environment_.memory(), blockBytes());
    for (const ElementType* type : options_.types) {
      for (const Operator* op : options_.ops) runKind(*type, *op, block);
    }
    session_.barrier();  // no rank frees what another may still read
  }
  progress_.clear();
  session_.onRoot([this] {
    for (const auto& reporter : reporters_) reporter->end();
  });
  return wrong_ == 0 ? 0 : 1;
}

void Sweep::openReports() {
  if (!options_.csvPath.empty()) reporters_.push_back(makeCsvReporter(options_.csvPath));
  if (!options_.jsonPath.empty()) reporters_.push_back(makeJsonReporter(options_.jsonPath));
  reporters_.push_back(makeTableReporter(progress_.active() && reachesTerminal(1)));
  const RunInfo info = describe();
  for (const auto& reporter : reporters_) reporter->begin(info);
}

RunInfo Sweep::describe() const {
  RunInfo info;
  info.collective = subject_.name;
  info.memory = memoryName(options_.memory);
  info.ranks = session_.ranks();
  if (subject_.contenders.size() > 1) info.peer = subject_.contenders[1].library;
  info.manyKinds = options_.types.size() * options_.ops.size() > 1;
  std::string run = subject_.name + ", " + std::to_string(info.ranks) +
                    (info.ranks == 1 ? " rank, " : " ranks, ") + info.memory + " memory, " +
                    (options_.inPlace ? "in place, " : "out of place, ") +
                    (options_.hot ? "one hot set of buffers" : "rotating buffers");
  if (options_.graph) run += ", graphs of " + std::to_string(options_.callsPerSample) + " calls";
  if (options_.noCheck) run += ", results not checked";
  info.facts = {{"run", run},
                {"data", join(options_.types) + "; " + join(options_.ops)},
                {"versions", environment_.versions()},
                {"machine", environment_.machine()},
                {"times", environment_.timer().across() == AcrossRanks::kMean
                              ? "us; p50, p99 of the mean over ranks; min, max over all ranks"
                              : "us a call; of the slowest rank"}};
  return info;
}

/// The most that any size of any type needs.
size_t Sweep::blockBytes() const {
  size_t most = 0;
  for (const ElementType* type : options_.types) {
    const auto collective = subject_.collective(*type, *options_.ops.front());
    for (size_t bytes :
         sweepSizes(options_.minBytes, options_.maxBytes, options_.step, type->size)) {
      const RingPlan plan = planRing(collective->sendBytes(bytes), collective->recvBytes(bytes),
                                     options_.inPlace, options_.hot);
      most = std::max(most, plan.blockBytes());
    }
  }
  return most;
}

void Sweep::runKind(const ElementType& type, const Operator& op, const Block& block) {
  const auto collective = subject_.collective(type, op);
  for (size_t bytes : sweepSizes(options_.minBytes, options_.maxBytes, options_.step, type.size)) {
    const BufferRing ring(block, *collective, bytes, options_.inPlace, options_.hot);
    const CallArgs args{nullptr, nullptr, bytes / type.size, type.id, op.id, environment_.stream()};
    const Trial trial{session_, subject_.contenders, ring, args, !options_.noCheck};
    const std::string what =
        subject_.name + " " + type.name + " " + op.name + " " + formatSize(bytes);
    const std::vector<Samples> samples = measure(trial, bytes, what);
    Row row;
    row.bytes = bytes;
    row.type = type.name;
    row.op = op.name;
    report(samples, row, collective->busBytes(bytes));
  }
}

/// The number of rounds that `share` of the budget holds; the same on all ranks.
int Sweep::fitting(double secondsPerRound, double share, int least, int most) const {
  const auto libraries = static_cast<double>(subject_.contenders.size());
  const double budget = options_.budgetSeconds * share * libraries;
  const double slowest = session_.largest(secondsPerRound);
  return static_cast<int>(std::clamp(budget / std::max(slowest, 1e-9), 1.0 * least, 1.0 * most));
}

std::vector<Samples> Sweep::measure(const Trial& trial, size_t bytes, const std::string& what) {
  Timer& timer = environment_.timer();
  std::vector<Samples> samples(subject_.contenders.size());
  const auto show = [&](const char* stage) {
    return [this, &what, stage](int done, int total) { progress_.show(what + stage, done, total); };
  };
  progress_.show(what + ": checking", 0, 1);
  timer.check(trial, samples);

  const Iterations usual = defaultIterations(bytes, options_.memory == MemoryKind::kDevice);
  constexpr int kProbes = 2;
  const double probe = timer.rounds(trial, kProbes, false, show(": probing"), samples) / kProbes;
  const int warmup =
      options_.warmup ? *options_.warmup : fitting(probe, kWarmupShare, 1, usual.warmup);
  const double warm = timer.rounds(trial, warmup, false, show(": warm-up"), samples);
  const double round = warmup > 0 ? warm / warmup : probe;
  const int timed = options_.iterations ? *options_.iterations
                                        : fitting(round, 1 - kWarmupShare, kFewest, usual.timed);
  trial.ring.prepareAll();
  timer.rounds(trial, timed, true, show(": timing"), samples);
  return samples;
}

void Sweep::report(const std::vector<Samples>& samples, Row row, double busBytes) {
  std::vector<Row> rows;
  for (size_t c = 0; c < samples.size(); ++c) {
    row.library = subject_.contenders[c].library;
    row.iterations = samples[c].usec.size();
    row.usec = summarizeOverRanks(samples[c].usec, environment_.timer().across(), session_.mpi());
    row.busbw = row.usec.p50 > 0 ? busBytes / row.usec.p50 / 1000 : 0;
    row.wrong = session_.sum(samples[c].wrong);
    wrong_ += row.wrong;
    rows.push_back(row);
  }
  if (rows.size() > 1 && rows[1].usec.min > 0) {
    rows[0].ratioP50 = rows[0].usec.p50 / rows[1].usec.p50;
    rows[0].ratioMin = rows[0].usec.min / rows[1].usec.min;
  }
  progress_.clear();
  for (const auto& reporter : reporters_) {
    for (const Row& each : rows) reporter->row(each);
  }
}

}  // namespace

Iterations defaultIterations(size_t bytes, bool device) {
  if (device) return {5, 100};  // samples of many calls each
  if (bytes <= size_t{8} << 10) return {200, 2000};
  if (bytes <= size_t{1} << 20) return {50, 500};
  return {10, 100};
}

int runSweep(const Environment& environment, const Subject& subject) {
  return Sweep(environment, subject).run();
}

}  // namespace rondo::bench
