#include "coll/communicator.h"

#include <cstdio>

#include "api/types.h"
#include "base/error.h"
#include "coll/pair_counts.h"

namespace rondo {
namespace {

/// Without hwloc's word on the last-level cache.
constexpr uint64_t kUsualL3 = 32u << 20;

/// Idle polls of a group's collective before this rank's call is compared with those of its peers.
constexpr uint32_t kPollsBeforeComparing = 1024;

}  // namespace

Communicator::Communicator(Parts parts)
    : parts_(std::move(parts)), runner_(parts_.place.size, channels_.stamp.get()) {
  nothing_.algorithm = registry().data();
  if (parts_.shm) {
    channels_ = parts_.shm->makeChannels();
    runner_ = Runner(parts_.place.size, channels_.stamp.get());
    if (parts_.decorate) parts_.decorate(channels_, parts_.place.rank);
    parts_.wait.aborted = [shm = parts_.shm.get()] { return shm->aborted() != 0; };
  } else {
    channels_.chunkBytes = ShmLayout::kMostArea / 2;
    parts_.wait.aborted = [] { return false; };
  }
  groupWait_ = parts_.wait;
  if (parts_.shm) parts_.wait.mismatch = [this] { return someoneElsewhere(); };
  parts_.facts.lanes = channels_.lanes;
  parts_.facts.chunkBytes = channels_.chunkBytes;
  // Source and destination of all ranks together no longer fit the last-level cache.
  const uint64_t l3 = parts_.facts.l3Bytes != 0 ? parts_.facts.l3Bytes : kUsualL3;
  streamBytes_ = l3 / (2 * static_cast<uint64_t>(parts_.place.localSize));
}

const BoundPlan* Communicator::makePlan(const PlanKey& key) {
  const Request request{key.collective, key.count, typeSize(key.type), key.root, key.uneven};
  const std::vector<Candidate> ranking = rankCandidates(request, parts_.facts, parts_.tune);
  if (parts_.explain && parts_.place.rank == 0) {
    std::fputs(explainChoice(request, ranking).c_str(), stderr);
  }
  if (ranking.empty()) {
    throw Error(rondoInvalidUsage,
                format("no algorithm for %s is left: RONDO_TUNE (or config.tune) asks for one that "
                       "cannot be reproducible; allowed: rules that leave another one",
                       collectiveName(key.collective)));
  }
  const Candidate& best = ranking.front();
  const algo::Group group{parts_.place.rank, parts_.place.size, key.root};
  const Plan plan = recordPlan(*best.algorithm, group, best.geometry);
  const ScaledOp* scaled = isReduction(key.collective) ? scaledOps_.evenDestroyed(key.op) : nullptr;
  const rondoRedOp_t op = scaled != nullptr ? static_cast<rondoRedOp_t>(rondoSum) : key.op;
  BoundPlan bound = bindPlan(plan, key.type, op, {&channels_, parts_.cpu});
  bound.tree = parts_.facts.reproducible;
  if (scaled != nullptr) {
    bound.scale = findScale(key.type, parts_.cpu);
    bound.scalar = scaled->scalar;
  }
  const uint64_t choice = static_cast<uint64_t>(best.algorithm - registry().data()) * 64 +
                          static_cast<uint64_t>(best.geometry.lanes);
  const uint64_t mixed =
      (key.hash() ^ (choice * 0xff51afd7ed558ccdu)) + best.geometry.chunk * 0xc4ceb9fe1a85ec53u;
  bound.stamp = static_cast<uint32_t>(mixed ^ (mixed >> 32));
  return plans_.insert(key, std::move(bound));
}

namespace {

Call callOf(const PlanKey& key, uint64_t sequence) {
  Call call;
  call.sequence = sequence;
  call.words[0] = key.count;
  call.words[1] = static_cast<uint64_t>(key.collective) | (key.uneven ? 256u : 0u) |
                  static_cast<uint64_t>(static_cast<uint32_t>(key.type)) << 32;
  call.words[2] =
      static_cast<uint32_t>(key.op) | static_cast<uint64_t>(static_cast<uint32_t>(key.root)) << 32;
  return call;
}

Collective collectiveOf(const Call& call) { return static_cast<Collective>(call.words[1] & 255); }
bool isUneven(const Call& call) { return (call.words[1] & 256) != 0; }

std::string textOf(const Call& call) {
  const Collective collective = collectiveOf(call);
  const bool uneven = isUneven(call);
  std::string out = format("%s%s", collectiveName(collective), uneven ? "v" : "");
  if (collective == Collective::Barrier) return out;
  if (!uneven) out += format(" with count %llu", static_cast<unsigned long long>(call.words[0]));
  out += format(", datatype %s", typeName(static_cast<rondoDataType_t>(call.words[1] >> 32)));
  const auto op = static_cast<rondoRedOp_t>(call.words[2] & 0xffffffffu);
  if (isReduction(collective)) out += format(", op %s", opName(op));
  if (isRooted(collective)) out += format(", root %d", static_cast<int>(call.words[2] >> 32));
  return out;
}

std::string unevenText(const Call& call, const std::string& where) {
  return format(" in %s, %s; allowed: equal counts on both", textOf(call).c_str(), where.c_str());
}

}  // namespace

void Communicator::announce(const PlanKey& key) {
  const int me = parts_.place.rank;
  CallRecord& record = parts_.shm->record(me, ++sequence_);
  if (uneven_ == nullptr) return record.write(callOf(key, sequence_));
  record.write(callOf(key, sequence_), [&] {
    PairCounts* const pairs = parts_.shm->pairCounts(me, sequence_);
    silent_.clear();
    for (int r = 0; r < parts_.place.size; ++r) {
      const PairCounts mine = pairCountsOf(key.collective, *uneven_, key.root, me, r);
      pairs[r].store(mine);
      if (mine.taken == 0 && canTake(key.collective, key.root, me, r)) silent_.push_back(r);
    }
  });
}

/// What `rank` called as collective number `sequence`, and its counts with rank `of` if asked;
/// false where that is not known.
bool Communicator::readCall(int rank, uint64_t sequence, Call* call, int of,
                            PairCounts* counts) const {
  if (sequence == 0) return false;
  const auto more = [&] {
    if (counts != nullptr) *counts = parts_.shm->pairCounts(rank, sequence)[of].load();
  };
  return parts_.shm->record(rank, sequence).read(call, more) && call->sequence == sequence;
}

/// Whether the peers from which nothing came in a v-collective meant to send nothing. What a
/// message would have said is in their records, once they call.
Communicator::Progress Communicator::askSilent() const {
  Call theirs;
  PairCounts counts;
  for (const int r : silent_) {
    if (!readCall(r, sequence_, &theirs, parts_.place.rank, &counts)) {
      // Not there yet, or eight calls ahead: then the stamp of its next message tells.
      if (theirs.sequence <= sequence_) return Progress::Busy;
    } else if (counts.sent != 0) {
      return Progress::Mismatch;
    }
  }
  return Progress::Done;
}

RunResult Communicator::awaitSilent() {
  Waiter waiter(parts_.wait);
  for (;;) {
    const Progress progress = askSilent();
    if (progress == Progress::Done) return RunResult::Ok;
    if (progress == Progress::Mismatch) return RunResult::Mismatch;
    const RunResult result = waiter.wait();
    if (result != RunResult::Ok) return result;
  }
}

/// Whether a peer made another call where this rank makes its current one.
bool Communicator::someoneElsewhere() const {
  Call mine, theirs;
  const int me = parts_.place.rank;
  Pair pair{me, me, {}, {}};
  for (int r = 0; r < parts_.place.size; ++r) {
    if (r == me || !readCall(me, sequence_, &mine, r, &pair.ofA)) continue;
    if (!readCall(r, sequence_, &theirs, me, &pair.ofB)) continue;
    if (!theirs.sameWords(mine) || (uneven_ != nullptr && !pair.agrees())) return true;
  }
  return false;
}

/// The first two ranks whose collective number `sequence` differs, as a sentence; empty: none.
std::string Communicator::mismatchAt(uint64_t sequence) const {
  Call theirs, other;
  Pair pair{};
  std::string whole;  // arrays that differ at the entry of a rank that has not called yet
  for (pair.b = 1; pair.b < parts_.place.size; ++pair.b) {
    for (pair.a = 0; pair.a < pair.b; ++pair.a) {
      if (!readCall(pair.a, sequence, &other, pair.b, &pair.ofA)) continue;
      if (!readCall(pair.b, sequence, &theirs, pair.a, &pair.ofB)) continue;
      const std::string where =
          format("collective %llu of communicator \"%s\"",
                 static_cast<unsigned long long>(sequence), parts_.name.c_str());
      if (other.words[1] != theirs.words[1] || other.words[2] != theirs.words[2] ||
          (!isUneven(other) && !other.sameWords(theirs))) {
        return format(
            "rank %d calls %s where rank %d calls %s: both are %s; allowed: the same call on every "
            "rank",
            pair.a, textOf(other).c_str(), pair.b, textOf(theirs).c_str(), where.c_str());
      }
      if (!isUneven(other)) continue;
      if (!pair.agrees()) return pairText(collectiveOf(other), pair) + unevenText(other, where);
      if (!other.sameWords(theirs) && whole.empty()) {
        whole = format("the sums of rank %d's and rank %d's recvcounts differ", pair.a, pair.b) +
                unevenText(other, where);
      }
    }
  }
  return whole;
}

std::string Communicator::mismatchText() const {
  if (!parts_.shm) return "";
  const uint64_t first =
      sequence_ < ShmLayout::kCallRecords ? 1 : sequence_ + 1 - ShmLayout::kCallRecords;
  for (uint64_t s = first; s <= sequence_ + ShmLayout::kCallRecords; ++s) {
    std::string text = mismatchAt(s);
    if (!text.empty()) return text;
  }
  return "";
}

Communicator::Progress Communicator::poll(bool* moved) {
  if (runner_.poll(moved)) {
    const bool settled = uneven_ == nullptr || !parts_.shm;
    const Progress progress = settled ? Progress::Done : askSilent();
    if (progress != Progress::Busy) return progress;
  }
  if (runner_.mismatch()) return Progress::Mismatch;
  idlePolls_ = *moved ? 0 : idlePolls_ + 1;
  if (idlePolls_ % kPollsBeforeComparing == kPollsBeforeComparing - 1 && parts_.shm &&
      someoneElsewhere()) {
    return Progress::Mismatch;
  }
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

void Communicator::beginExchange(const std::vector<Transfer>& transfers) {
  exchange_.begin(channels_, parts_.place.rank, transfers,
                  ExchangeContext{findCopy(parts_.cpu), channels_.stamp.get(), streamBytes_});
}

Communicator::Progress Communicator::pollExchange(bool* moved) {
  if (exchange_.poll(moved)) return Progress::Done;
  if (exchange_.mismatch()) return Progress::Mismatch;
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

}  // namespace rondo
