#include "output.h"

#include "sizes.h"

namespace rondo::bench {
namespace {

std::string join(const auto& entries) {
  std::string text;
  for (const auto* entry : entries) text += (text.empty() ? "" : ", ") + std::string(entry->name);
  return text;
}

/// Of the sets of buffers, and where they begin if it is not where they usually do.
std::string ofBuffers(const Options& options) {
  std::string text = options.hot ? ", one hot set of buffers" : ", rotating buffers";
  if (options.align != Options().align) text += ", aligned to " + formatSize(options.align);
  const Offsets& offsets = options.offsets;
  if (offsets.send + offsets.recv == 0) return text;
  text += ", " + std::to_string(offsets.send);
  if (offsets.recv != offsets.send) text += " and " + std::to_string(offsets.recv);
  return text + " bytes behind";
}

/// Of how calls on device memory are made.
std::string ofCalls(const Options& options) {
  std::string text;
  if (options.graph) text += ", graphs of " + std::to_string(options.callsPerSample) + " calls";
  if (options.awaited) text += ", each call waited for";
  if (options.registered) text += ", buffers registered";
  if (options.copyEngines) text += " for copy engines";
  if (options.windows) text += " as windows";
  return text;
}

}  // namespace

Output::Output(const Environment& environment, const RunInfo& info)
    : environment_(environment),
      progress_(environment.options().progress, environment.session().isRoot()) {
  environment.session().onRoot([&] { open(info); });
}

void Output::open(const RunInfo& info) {
  const Options& options = environment_.options();
  if (!options.csvPath.empty()) reporters_.push_back(makeCsvReporter(options.csvPath));
  if (!options.jsonPath.empty()) reporters_.push_back(makeJsonReporter(options.jsonPath));
  if (!options.plotPath.empty()) reporters_.push_back(makePlotReporter(options.plotPath));
  reporters_.push_back(makeTableReporter(progress_.active() && reachesTerminal(1)));
  for (const auto& reporter : reporters_) reporter->begin(info);
}

void Output::add(std::vector<Row> rows) {
  for (const Row& row : rows) wrong_ += row.wrong;
  if (rows.size() > 1 && rows[1].usec.min > 0) {
    rows[0].ratioP50 = rows[0].usec.p50 / rows[1].usec.p50;
    rows[0].ratioMin = rows[0].usec.min / rows[1].usec.min;
  }
  progress_.clear();
  for (const auto& reporter : reporters_) {
    for (const Row& row : rows) reporter->row(row);
  }
}

void Output::note(const std::string& text) {
  progress_.clear();
  for (const auto& reporter : reporters_) reporter->note(text);
}

void Output::addLoss(const std::string& what, const CoreLoss& mine, int iterations) {
  const Session& session = environment_.session();
  CoreLoss all;
  all.turns = static_cast<long>(session.sum(static_cast<uint64_t>(mine.turns)));
  all.share = session.largest(mine.share);
  // More ranks than cores take them from each other all the time, as the head says.
  if (!environment_.crowded()) lost_.add(what, all, iterations);
}

int Output::finish() {
  if (const std::string text = lost_.text(); !text.empty()) note(text);
  progress_.clear();
  environment_.session().onRoot([this] {
    for (const auto& reporter : reporters_) reporter->end();
  });
  return wrong_ == 0 ? 0 : 1;
}

RunInfo describe(const Environment& environment, const std::string& what) {
  const Options& options = environment.options();
  RunInfo info;
  info.command = options.command;
  info.memory = memoryName(options.memory);
  info.ranks = environment.session().ranks();
  info.peer = peerName(options.peer);
  std::string run = what + ", " + std::to_string(info.ranks) +
                    (info.ranks == 1 ? " rank, " : " ranks, ") + info.memory + " memory";
  if (options.noCheck) run += ", results not checked";
  if (options.pauseMs > 0)
    run += ", " + std::to_string(options.pauseMs) + " ms of rest before samples";
  info.facts = {{"run", run},
                {"versions", environment.versions()},
                {"machine", environment.machine()},
                {"meeting", environment.meeting()},
                {"times", "us; p50, p99 of the mean over ranks; min, max over all ranks"}};
  return info;
}

RunInfo describe(const Environment& environment, const Benchmark& benchmark) {
  const Options& options = environment.options();
  RunInfo info = describe(environment, benchmark.name);
  std::string run = info.facts.front().second;
  if (!benchmark.has(kNoData)) {
    const bool inPlace = options.inPlace || benchmark.has(kOneBuffer);
    if (!benchmark.has(kPairs)) run += inPlace ? ", in place" : ", out of place";
    run += ofBuffers(options);
    std::string data = join(options.types);
    if (benchmark.has(kReduces)) data += "; " + join(options.ops);
    if (*benchmark.size != '\0') data += "; bytes " + std::string(benchmark.size);
    info.facts.insert(info.facts.begin() + 1, {"data", data});
    info.manyKinds = options.types.size() * (benchmark.has(kReduces) ? options.ops.size() : 1) > 1;
  }
  if (benchmark.has(kRooted)) run += ", root " + std::to_string(options.root);
  if (options.group > 1) run += ", groups of " + std::to_string(options.group) + " calls";
  if (benchmark.has(kWindow)) {
    run += ", windows of " + std::to_string(options.window);
    info.extraColumns = {"msg_per_s"};
  }
  info.facts.front().second = run + ofCalls(options);
  std::string& times = info.facts.back().second;
  if (benchmark.across == AcrossRanks::kFirst) {
    times = benchmark.has(kWindow) ? "us a message, rank 0's" : "us one way, rank 0's";
  }
  if (benchmark.across == AcrossRanks::kMax) times = "us a message, the slowest rank's";
  if (options.memory == MemoryKind::kDevice) times = "us a call; of the slowest rank";
  if (options.group > 1) times += "; of a whole group, bytes of one call";
  return info;
}

RunInfo describeAll(const Environment& environment) {
  const Options& options = environment.options();
  RunInfo info = describe(environment, "all benchmarks");
  std::string& run = info.facts.front().second;
  run += options.inPlace ? ", in place where it is allowed" : ", out of place";
  run += ofBuffers(options) + ", root " + std::to_string(options.root) + ", windows of " +
         std::to_string(options.window) + ofCalls(options);
  info.facts.insert(info.facts.begin() + 1, {"data", join(options.types) + "; sum"});
  info.manyBenchmarks = true;
  info.manyKinds = options.types.size() > 1;
  if (options.memory == MemoryKind::kDevice) {
    info.facts.back().second = "us a call; of the slowest rank";
  } else {
    info.extraColumns = {"msg_per_s", "overlap_pct"};
  }
  return info;
}

}  // namespace rondo::bench
