#include "coll/sim/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "coll/sim/routes.h"

namespace rondo::sim {
namespace {

constexpr Time kNever = ~Time{0};

size_t at(int64_t i) { return static_cast<size_t>(i); }

/// A micro-batch in a chunk.
struct Piece {
  int microBatch, chunk;
  bool forward;
};

/// Forwards as a stage meets them: `stages` micro-batches of a chunk, the same of the next one.
std::vector<Piece> forwardsOf(const Pipeline& p) {
  std::vector<Piece> out;
  for (int first = 0; first < p.microBatches; first += p.stages) {
    const int end = std::min<int>(p.microBatches - first, p.stages) + first;
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      for (int m = first; m < end; ++m) out.push_back({m, chunk, true});
    }
  }
  return out;
}

/// In which order a stage works; `allFirst`: all forwards come before all backwards.
std::vector<Piece> orderOf(const Pipeline& p, int stage, bool allFirst) {
  const std::vector<Piece> forwards = forwardsOf(p);
  const auto all = static_cast<int64_t>(forwards.size());
  const int64_t behind = p.stages - stage - 1;
  int64_t ahead = p.chunks == 1 ? behind : 2 * behind + int64_t{p.chunks - 1} * p.stages;
  if (allFirst) ahead = all;
  ahead = std::min(ahead, all);
  const auto backward = [&](int64_t i) {
    const Piece& same = forwards[at(i)];
    return Piece{same.microBatch, p.chunks - 1 - same.chunk, false};
  };
  std::vector<Piece> out(forwards.begin(), forwards.begin() + ahead);
  for (int64_t i = ahead; i < all; ++i) {
    out.push_back(forwards[at(i)]);
    out.push_back(backward(i - ahead));
  }
  for (int64_t i = all - ahead; i < all; ++i) out.push_back(backward(i));
  return out;
}

/// Stages that go on as far as they can, until all are done or none can.
class Stages {
 public:
  Stages(const Pipeline& pipeline, bool allFirst)
      : p_(pipeline), done_(at(2) * at(p_.stages) * pieces(), kNever) {
    for (int s = 0; s < p_.stages; ++s) stages_.push_back({orderOf(p_, s, allFirst)});
  }

  /// False: they wait for each other.
  bool run() {
    // There, for what goes forwards, and back, for what goes backwards.
    for (bool moved = true; moved;) {
      moved = false;
      for (int s = 0; s < p_.stages; ++s) moved |= advance(s);
      for (int s = p_.stages; s-- > 0;) moved |= advance(s);
    }
    return std::all_of(stages_.begin(), stages_.end(),
                       [](const Stage& s) { return s.next == s.order.size(); });
  }

  PipelineRun take() {
    PipelineRun out;
    unsigned __int128 work = 0;
    for (int s = 0; s < p_.stages; ++s) {
      out.ends.push_back(stages_[at(s)].free);
      out.end = std::max(out.end, out.ends.back());
      work += static_cast<unsigned __int128>(p_.of(s).forward) + p_.of(s).backward;
    }
    for (Stage& stage : stages_) {
      out.work.insert(out.work.end(), stage.work.begin(), stage.work.end());
    }
    out.messages = std::move(messages_);
    out.bubble = out.end - static_cast<Time>(work / at(p_.stages));
    return out;
  }

 private:
  struct Stage {
    std::vector<Piece> order;
    size_t next = 0;
    Time free = 0;
    Time links[2] = {0, 0};  ///< When its last message is there, forwards and backwards.
    std::vector<StageWork> work = {};
  };

  size_t pieces() const { return at(p_.microBatches) * at(p_.chunks); }

  /// When what `piece` needs is at the stage.
  Time& arrival(const Piece& piece, int stage) {
    const size_t number = at(piece.microBatch) * at(p_.chunks) + at(piece.chunk);
    return done_[(at(stage) * 2 + (piece.forward ? 0 : 1)) * pieces() + number];
  }

  Time lengthOf(const Piece& piece, int stage) const {
    const auto n = static_cast<unsigned __int128>(pieces());
    const auto i =
        static_cast<unsigned __int128>(piece.microBatch) * at(p_.chunks) + at(piece.chunk);
    const Time whole = piece.forward ? p_.of(stage).forward : p_.of(stage).backward;
    return static_cast<Time>(whole * (i + 1) / n - whole * i / n);
  }

  bool advance(int stage) {
    Stage& self = stages_[at(stage)];
    bool moved = false;
    for (; self.next < self.order.size(); ++self.next) {
      const Piece& piece = self.order[self.next];
      const bool first = piece.forward && stage == 0 && piece.chunk == 0;
      const Time there = first ? 0 : arrival(piece, stage);
      if (there == kNever) return moved;
      const Time start = std::max(self.free, there), end = start + lengthOf(piece, stage);
      self.work.push_back(
          {stage, piece.microBatch, piece.chunk, piece.forward, self.free, start, end});
      self.free = end;
      handOn(piece, stage);
      moved = true;
    }
    return moved;
  }

  /// To the next stage, or round to the first one's next chunk; backwards the same the other way.
  void handOn(const Piece& piece, int stage) {
    const int last = p_.stages - 1, lastChunk = p_.chunks - 1;
    Piece next = piece;
    int to = piece.forward ? stage + 1 : stage - 1;
    if (piece.forward && stage == last) {
      to = 0;
      if (piece.chunk == lastChunk) {
        next.forward = false;  // its own backward
        arrival(next, stage) = stages_[at(stage)].free;
        return;
      }
      ++next.chunk;
    } else if (!piece.forward && stage == 0) {
      if (piece.chunk == 0) return;
      to = last;
      --next.chunk;
    }
    arrival(next, to) = send(piece.forward, stage, to);
  }

  Time send(bool forward, int from, int to) {
    Stage& self = stages_[at(from)];
    if (from == to || p_.send == 0) return self.free;
    Time& link = self.links[forward ? 0 : 1];
    const Time start = std::max(self.free, link);
    link = start + p_.send;
    messages_.push_back({from, to, start, link});
    return link;
  }

  const Pipeline& p_;
  std::vector<Time> done_;
  std::vector<Stage> stages_;
  std::vector<StageMessage> messages_;
};

double micro(Time time) { return static_cast<double>(time) * 1e-6; }

}  // namespace

PipelineRun runPipeline(const Pipeline& p) {
  const auto most = static_cast<unsigned __int128>(kMostStageWork);
  const auto work =
      static_cast<unsigned __int128>(2) * at(p.stages) * at(p.chunks) * at(p.microBatches);
  if (work > most) {
    throw Error(rondoInvalidArgument,
                format("a pipeline of pp %d, vpp %d and ga %d; allowed: %llu forwards and "
                       "backwards of all stages together",
                       p.stages, p.chunks, p.microBatches,
                       static_cast<unsigned long long>(kMostStageWork)));
  }
  for (const bool allFirst : {false, true}) {
    Stages stages(p, allFirst);
    // Rests of micro-batches may not fit into the interleaved order.
    if (stages.run()) return stages.take();
  }
  throw Error(rondoInternalError, "stages of a pipeline wait for each other");
}

double idealBubble(const Pipeline& p) {
  const double more = p.stages - 1;
  return more / (static_cast<double>(p.microBatches) * p.chunks + more);
}

std::string traceJson(const PipelineRun& run) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* comma = "";
  int stages = 0;
  const auto slice = [&](const StageWork& w, const std::string& name, Time start, Time end) {
    out += format(
        "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":0,\"ts\":%.6f,\"dur\":%.6f,"
        "\"args\":{\"microbatch\":%d,\"chunk\":%d}}",
        comma, name.c_str(), w.stage, micro(start), micro(end - start), w.microBatch, w.chunk);
    comma = ",";
  };
  for (const StageWork& w : run.work) {
    stages = std::max(stages, w.stage + 1);
    if (w.start > w.ready) slice(w, "waits", w.ready, w.start);
    slice(w, format("%s %d", w.forward ? "forward" : "backward", w.microBatch), w.start, w.end);
  }
  for (int s = 0; s < stages; ++s) {
    out += format(
        "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"stage %d\"}}",
        comma, s, s);
  }
  return out + "\n]}\n";
}

namespace {

/// Messages take their links evenly, from when they begin until their last byte has left, a latency
/// before it is there.
class StageCourses {
 public:
  StageCourses(const topo::Graph& graph, const Routes& routes)
      : routes_(routes), courses_(graph.arcs()) {}

  void add(const StageMessage& message, uint64_t bytes, int route) {
    const Time left = message.end - std::min(routes_.at(route).latency, message.end);
    const Time end = std::max(left, message.start + 1);
    const double rate = static_cast<double>(bytes) / static_cast<double>(end - message.start);
    changes_.push_back({message.start, rate, route});
    changes_.push_back({end, -rate, route});
  }
  std::vector<LinkCourse> take() {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change& a, const Change& b) { return a.time < b.time; });
    std::vector<Rate> rates(courses_.size());
    for (const Change& change : changes_) {
      for (const topo::Arc arc : routes_.at(change.route).arcs) {
        Rate& rate = rates[at(arc)];
        rate.sum += change.more;
        rate.messages += change.more > 0 ? 1 : -1;
        if (rate.messages == 0) rate.sum = 0;  // not what sums of fractions leave
        courses_[at(arc)].change(change.time, rate.sum);
      }
    }
    return std::move(courses_);
  }

 private:
  struct Change {
    Time time;
    double more;  ///< Bytes per picosecond.
    int route;
  };
  struct Rate {
    double sum = 0;
    int messages = 0;
  };
  const Routes& routes_;
  std::vector<Change> changes_;
  std::vector<LinkCourse> courses_;
};

}  // namespace

Result stageTransfers(const Rehearsal& on, const Pipeline& p, const PipelineRun& run,
                      uint64_t bytes) {
  const int stage = on.ranks() / p.stages;
  const double all = static_cast<double>(run.messages.size()) * stage;
  if (all > on.settings().mostKept) {
    throw Error(rondoInvalidArgument,
                format("the stages send %.0f million messages; allowed for a picture: up to %.0f "
                       "million",
                       all * 1e-6, on.settings().mostKept * 1e-6));
  }
  Result out;
  out.picoseconds = run.end;
  out.arcBytes.resize(on.graph().arcs());
  Routes routes(on.graph(), on.places());
  StageCourses courses(on.graph(), routes);
  const auto ranks = static_cast<uint64_t>(on.ranks());
  std::vector<bool> known;
  for (const StageMessage& m : run.messages) {
    for (int i = 0; i < stage; ++i) {
      const int from = m.from * stage + i, to = m.to * stage + i;
      out.transfers.push_back({from, to, 0, 0, bytes, m.start, m.end, -1});
      const int route = routes.find(from, to);
      courses.add(m, bytes, route);
      for (const topo::Arc arc : routes.at(route).arcs) out.arcBytes[at(arc)] += bytes;
      if (at(route) >= known.size()) known.resize(at(route) + 1);
      if (known[at(route)]) continue;
      known[at(route)] = true;
      out.routes.emplace_back(at(from) * ranks + at(to), routes.at(route).arcs);
    }
  }
  out.courses = courses.take();
  out.messages = out.transfers.size();
  return out;
}

}  // namespace rondo::sim
