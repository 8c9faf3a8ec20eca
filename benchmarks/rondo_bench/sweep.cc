#include "sweep.h"

#include <algorithm>
#include <optional>

#include "kinds.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

/// What there is to go through; benchmarks without data have one size of nothing.
class Range {
 public:
  Range(const Environment& environment, const Benchmark& benchmark)
      : options_(environment.options()),
        benchmark_(benchmark),
        seat_(seatOf(options_, environment.session())),
        inPlace_(benchmark.has(kOneBuffer) || (benchmark.has(kInPlace) && options_.inPlace)) {}

  const Seat& seat() const { return seat_; }
  bool inPlace() const { return inPlace_; }

  std::vector<Kind> kinds() const { return kindsOf(benchmark_, options_, seat_.ranks); }
  std::vector<size_t> sizes(const ElementType& type) const {
    if (benchmark_.has(kNoData)) return {0};
    return sweepSizes(options_.minBytes, options_.maxBytes, options_.step,
                      benchmark_.quantum(seat_, type.size));
  }
  RingPlan plan(const ElementType& type, size_t bytes) const {
    return planRing(extentOf(benchmark_, seat_, bytes, type.size, inPlace_), inPlace_, options_.hot,
                    options_.align, options_.offsets);
  }
  /// The most that any size of any type needs.
  size_t blockBytes() const {
    size_t most = 1;
    for (const Kind& kind : kinds()) {
      for (size_t bytes : sizes(*kind.type)) {
        most = std::max(most, plan(*kind.type, bytes).blockBytes());
      }
    }
    return most;
  }

 private:
  const Options& options_;
  const Benchmark& benchmark_;
  Seat seat_;
  bool inPlace_;
};

/// An operator's handle: a pre-multiplied sum is made for the type, and freed again.
class RondoOperator {
 public:
  RondoOperator(const Session& session, const ElementType& type, const Operator& op)
      : comm_(session.rondo()), id_(op.id), made_(op.id == kPreMulSum) {
    if (!made_) return;
    char scalar[16];
    storeValue(type, {kPreMulScalar}, scalar);
    checkRondo(rondoRedOpCreatePreMulSum(&id_, scalar, type.id, rondoScalarHostImmediate, comm_),
               "rondoRedOpCreatePreMulSum", comm_);
  }
  ~RondoOperator() {
    if (made_) rondoRedOpDestroy(id_, comm_);
  }
  RondoOperator(const RondoOperator&) = delete;
  RondoOperator& operator=(const RondoOperator&) = delete;

  rondoRedOp_t id() const { return id_; }

 private:
  rondoComm_t comm_;
  rondoRedOp_t id_;
  bool made_;
};

}  // namespace

CallArgs Spot::args(const Environment& environment) const {
  CallArgs args;
  args.layout = &ring.layout();
  args.type = type.id;
  args.elementSize = type.size;
  args.op = handle;
  args.group = seat.group;
  args.root = seat.root;
  args.window = seat.window;
  args.inPlace = ring.inPlace();
  args.stream = environment.stream();
  return args;
}

std::string Spot::name() const {
  std::string text = benchmark.name;
  if (!benchmark.has(kNoData)) text += " " + std::string(type.name);
  if (benchmark.has(kReduces)) text += " " + std::string(op.name);
  return benchmark.has(kNoData) ? text : text + " " + formatSize(bytes);
}

Row Spot::row() const {
  Row row;
  row.collective = benchmark.name;
  if (seat.group > 1) row.collective += "_x" + std::to_string(seat.group);
  row.ranks = seat.ranks;
  row.bytes = bytes;
  row.type = type.name;
  row.op = op.name;
  return row;
}

size_t Spot::callBytes() const {
  const size_t calls = static_cast<size_t>(seat.group);
  return benchmark.has(kWindow) ? bytes * static_cast<size_t>(seat.window) : bytes * calls;
}

std::vector<Contender> Spot::able(const std::vector<Contender>& contenders) const {
  if (peer) return contenders;
  return {contenders.front()};
}

double Spot::busBytes() const {
  return benchmark.busElements(bytes / type.size, seat) * static_cast<double>(type.size);
}

void forEachSpot(const Environment& environment, const Benchmark& benchmark,
                 const std::function<void(const Spot&)>& visit) {
  const Range range(environment, benchmark);
  const Block block(environment.memory(), range.blockBytes(), environment.options().align);
  for (const auto& [type, op, peer] : range.kinds()) {
    const PatternSet patterns({type, op, range.seat().ranks});
    const RondoOperator handle(environment.session(), *type, *op);
    for (size_t bytes : range.sizes(*type)) {
      const Layout layout = benchmark.place(range.seat(), bytes / type->size, range.inPlace());
      const BufferRing ring(block, patterns, layout, range.plan(*type, bytes), range.inPlace());
      visit({benchmark, range.seat(), bytes, *type, *op, handle.id(), peer, ring});
    }
  }
  environment.session().barrier();  // no rank frees what another may still read
}

void runSweep(const Environment& environment, const Benchmark& benchmark,
              const std::vector<Contender>& libraries, Output& output) {
  const Session& session = environment.session();
  const AcrossRanks across =
      environment.options().memory == MemoryKind::kDevice ? AcrossRanks::kMax : benchmark.across;
  forEachSpot(environment, benchmark, [&](const Spot& spot) {
    const std::vector<Contender> contenders = spot.able(libraries);
    const Trial trial{session,
                      contenders,
                      spot.ring,
                      spot.args(environment),
                      !environment.options().noCheck,
                      environment.options().pauseMs};
    std::vector<Samples> samples =
        measure(environment, trial, spot.callBytes(), spot.name(), output);
    const int times = benchmark.timesPerCall(spot.seat);
    std::vector<Row> rows;
    for (size_t c = 0; c < contenders.size(); ++c) {
      for (double& usec : samples[c].usec) usec /= times;
      Row row = spot.row();
      row.library = contenders[c].library;
      row.iterations = samples[c].usec.size();
      row.usec = summarizeOverRanks(samples[c].usec, across, session.mpi());
      const double moved = spot.seat.group * spot.busBytes();
      row.busbw = row.usec.p50 > 0 ? moved / row.usec.p50 / 1000 : 0;
      row.wrong = session.sum(samples[c].wrong);
      if (benchmark.has(kWindow) && row.busbw > 0) {
        const double atOnce = moved / static_cast<double>(spot.bytes);
        row.extras = {{"msg_per_s", atOnce / row.usec.p50 * 1e6}};
      }
      rows.push_back(row);
    }
    output.add(std::move(rows));
  });
}

}  // namespace rondo::bench
