#include "coll/communicator.h"

#include <cstdio>

#include "api/types.h"
#include "base/error.h"

namespace rondo {
namespace {

/// Without hwloc's word on the last-level cache.
constexpr uint64_t kUsualL3 = 32u << 20;

/// Idle polls of a group's collective before this rank's call is compared with those of its peers.
constexpr uint32_t kPollsBeforeComparing = 1024;

}  // namespace

Communicator::Communicator(Parts parts)
    : parts_(std::move(parts)), runner_(parts_.place.size, channels_.stamp.get()) {
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
  const algo::Group group{parts_.place.rank, parts_.place.size, key.root,
                          parts_.facts.groups.placement()};
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

/// Where the number of calls that run as one stands in a record, in words[1].
constexpr int kPassShift = 16;
constexpr uint64_t kPassMask = uint64_t{0xff} << kPassShift;
static_assert(JointCall::kMostCalls <= 0xff);
static_assert(2 * JointCall::kMostCalls <= ShmLayout::kCallRecords);

Call callOf(const PlanKey& key, uint64_t sequence, size_t pass) {
  Call call;
  call.sequence = sequence;
  call.words[0] = key.count;
  call.words[1] = static_cast<uint64_t>(key.collective) | (key.uneven ? 256u : 0u) |
                  pass << kPassShift | static_cast<uint64_t>(static_cast<uint32_t>(key.type)) << 32;
  call.words[2] =
      static_cast<uint32_t>(key.op) | static_cast<uint64_t>(static_cast<uint32_t>(key.root)) << 32;
  return call;
}

std::string textOf(const Call& call) {
  const auto collective = static_cast<Collective>(call.words[1] & 255);
  const bool uneven = (call.words[1] & 256) != 0;
  std::string out = format("%s%s", collectiveName(collective), uneven ? "v" : "");
  if (collective == Collective::Barrier) return out;
  if (!uneven) out += format(" with count %llu", static_cast<unsigned long long>(call.words[0]));
  out += format(", datatype %s", typeName(static_cast<rondoDataType_t>(call.words[1] >> 32)));
  const auto op = static_cast<rondoRedOp_t>(call.words[2] & 0xffffffffu);
  if (isReduction(collective)) out += format(", op %s", opName(op));
  if (isRooted(collective)) out += format(", root %d", static_cast<int>(call.words[2] >> 32));
  const uint64_t pass = (call.words[1] & kPassMask) >> kPassShift;
  if (pass > 1) out += format(", one of %d of a group that run as one", static_cast<int>(pass));
  return out;
}

}  // namespace

/// Tells the peers what this rank is at: `key`'s call, one of `pass`.
void Communicator::announce(const PlanKey& key, size_t pass) {
  ++sequence_;
  pass_ = pass;
  parts_.shm->record(parts_.place.rank, sequence_).write(callOf(key, sequence_, pass));
}

/// What `rank` called as collective number `sequence`; false where that is not known.
bool Communicator::readCall(int rank, uint64_t sequence, Call* call) const {
  return sequence != 0 && parts_.shm->record(rank, sequence).read(call) &&
         call->sequence == sequence;
}

/// Whether a peer made another call as collective number `sequence` than this rank.
bool Communicator::differs(uint64_t sequence) const {
  Call mine, theirs;
  if (!readCall(parts_.place.rank, sequence, &mine)) return false;
  for (int r = 0; r < parts_.place.size; ++r) {
    if (readCall(r, sequence, &theirs) && !theirs.sameWords(mine)) return true;
  }
  return false;
}

/// Whether a peer made another call where this rank makes its current ones.
bool Communicator::someoneElsewhere() const {
  for (uint64_t back = 0; back < pass_ && back < sequence_; ++back) {
    if (differs(sequence_ - back)) return true;
  }
  return false;
}

/// The first two ranks whose collective number `sequence` differs, as a sentence; empty: none.
/// Without `passes` it does not count what runs as one with what.
std::string Communicator::mismatchAt(uint64_t sequence, bool passes) const {
  Call theirs, other;
  for (int r = 1; r < parts_.place.size; ++r) {
    if (!readCall(r, sequence, &theirs)) continue;
    for (int q = 0; q < r; ++q) {
      if (!readCall(q, sequence, &other) || theirs.sameWords(other)) continue;
      const bool sameCall = ((theirs.words[1] ^ other.words[1]) | kPassMask) == kPassMask &&
                            theirs.words[0] == other.words[0] && theirs.words[2] == other.words[2];
      if (sameCall && !passes) continue;
      return format(
          "rank %d calls %s where rank %d calls %s: both are collective %llu of "
          "communicator \"%s\"; allowed: the same call on every rank",
          q, textOf(other).c_str(), r, textOf(theirs).c_str(),
          static_cast<unsigned long long>(sequence), parts_.name.c_str());
    }
  }
  return "";
}

std::string Communicator::mismatchText() const {
  if (!parts_.shm) return "";
  const uint64_t first =
      sequence_ < ShmLayout::kCallRecords ? 1 : sequence_ + 1 - ShmLayout::kCallRecords;
  for (const bool passes : {false, true}) {
    for (uint64_t s = first; s <= sequence_ + ShmLayout::kCallRecords; ++s) {
      std::string text = mismatchAt(s, passes);
      if (!text.empty()) return text;
    }
  }
  return "";
}

Communicator::Progress Communicator::poll(bool* moved) {
  if (runner_.poll(moved)) {
    if (joint_.active()) joint_.finish();
    return Progress::Done;
  }
  if (runner_.mismatch()) return Progress::Mismatch;
  idlePolls_ = *moved ? 0 : idlePolls_ + 1;
  if (idlePolls_ % kPollsBeforeComparing == kPollsBeforeComparing - 1 && parts_.shm &&
      someoneElsewhere()) {
    return Progress::Mismatch;
  }
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

void Communicator::begin(std::span<const HostRequest> pass) {
  if (pass.size() == 1) {
    joint_.drop();
    const HostCall call = prepare(pass[0], pass);
    runner_.begin(*plan_, call);
    return;
  }
  HostCall call = prepare(joint_.begin(pass, parts_.place), pass);
  call.stamp ^= static_cast<uint32_t>(JointCall::countsHash(pass) >> 32);
  runner_.begin(*plan_, call);
}

void Communicator::beginExchange(std::span<const Transfer> transfers) {
  exchange_.begin(channels_, parts_.place.rank, transfers,
                  ExchangeContext{findCopy(parts_.cpu), channels_.stamp.get(), streamBytes_});
}

RunResult Communicator::runExchange(std::span<const Transfer> transfers) {
  beginExchange(transfers);
  Waiter waiter(groupWait_);
  for (;;) {
    bool moved = false;
    if (exchange_.poll(&moved)) return RunResult::Ok;
    if (exchange_.mismatch()) [[unlikely]]
      return RunResult::Mismatch;
    if (moved) {
      waiter.reset();
      continue;
    }
    const RunResult result = waiter.wait();
    if (result != RunResult::Ok) return result;
  }
}

Communicator::Progress Communicator::pollExchange(bool* moved) {
  if (exchange_.poll(moved)) return Progress::Done;
  if (exchange_.mismatch()) return Progress::Mismatch;
  return parts_.wait.aborted() ? Progress::Aborted : Progress::Busy;
}

}  // namespace rondo
