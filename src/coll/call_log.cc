#include "coll/call_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "coll/joint_call.h"
#include "p2p/host_circle.h"

namespace rondo {
namespace {

/// Where the number of calls that run as one stands in a record, in words[1].
constexpr int kPassShift = 16;
constexpr uint64_t kPassMask = uint64_t{0xff} << kPassShift;
static_assert(JointCall::kMostCalls <= 0xff);
static_assert(2 * JointCall::kMostCalls <= ShmLayout::kCallRecords);

/// How long a rank that cannot go on waits to hear what ranks of other hosts called, and how long
/// once the communicator is aborted: who knew, told before.
constexpr std::chrono::milliseconds kHearsay{300}, kLateHearsay{50};

Collective collectiveOf(const Call& call) { return static_cast<Collective>(call.words[1] & 255); }
bool isUneven(const Call& call) { return (call.words[1] & 256) != 0; }

/// Of v-collectives the counts may differ: pairs of them are compared.
bool sameCall(const Call& a, const Call& b) {
  return ((a.words[1] ^ b.words[1]) & ~kPassMask) == 0 && a.words[2] == b.words[2] &&
         (isUneven(a) || a.words[0] == b.words[0]);
}

std::string unevenText(const Call& call, const std::string& where) {
  return format(" in %s, %s; allowed: equal counts on both", callText(call).c_str(), where.c_str());
}

}  // namespace

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

uint64_t callPass(const Call& call) { return (call.words[1] & kPassMask) >> kPassShift; }

std::string callText(const Call& call) {
  const Collective collective = collectiveOf(call);
  const bool uneven = isUneven(call);
  std::string out = format("%s%s", collectiveName(collective), uneven ? "v" : "");
  if (collective == Collective::Barrier) return out;
  if (!uneven) out += format(" with count %llu", static_cast<unsigned long long>(call.words[0]));
  out += format(", datatype %s", typeName(static_cast<rondoDataType_t>(call.words[1] >> 32)));
  const auto op = static_cast<rondoRedOp_t>(call.words[2] & 0xffffffffu);
  if (isReduction(collective)) out += format(", op %s", opName(op));
  if (isRooted(collective)) out += format(", root %d", static_cast<int>(call.words[2] >> 32));
  const uint64_t pass = callPass(call);
  if (pass > 1) out += format(", one of %d of a group that run as one", static_cast<int>(pass));
  return out;
}

void CallLog::announce(const HostRequest& request, size_t pass, OpOrigin origin, uint32_t choice) {
  const PlanKey& key = request.key;
  const UnevenSlots* const uneven = request.uneven;
  ++sequence_;
  waits_ = 0;
  pass_ = pass;
  uneven_ = uneven;
  OpFacts facts;
  facts.collective = static_cast<uint8_t>(key.collective);
  facts.uneven = key.uneven;
  facts.pass = static_cast<uint8_t>(pass);
  facts.origin = origin;
  facts.choice = choice;
  facts.type = key.type;
  facts.op = key.op;
  facts.root = key.root;
  facts.count = key.count;
  facts.sequence = sequence_;
  recorder_.begin(facts, request.enqueued);
  if (fabric_ == nullptr) return;
  CallRecord& record = fabric_->record(place_.rank, sequence_);
  const Call call = callOf(key, sequence_, pass);
  if (uneven == nullptr) {
    record.write(call);
    // No message will tell that there is none.
    if (key.nothing()) [[unlikely]]
      tellFarRanks(Whom::All, place_.size);
    return;
  }
  record.write(call, [&] {
    silent_.clear();
    for (int r = 0; r < place_.size; ++r) {
      const PairCounts mine = pairCountsOf(key.collective, *uneven, key.root, place_.rank, r);
      fabric_->ownPairCounts(sequence_, r).store(mine);
      if (mine.taken == 0 && canTake(key.collective, key.root, place_.rank, r))
        silent_.push_back(r);
    }
  });
  if (silent_.empty()) uneven_ = nullptr;  // nobody to ask
  if (fabric_->spansHosts()) [[unlikely]]
    tellTakers(key);
}

/// Far ranks that might take something learn at once what this rank means to send, also where that
/// is nothing: they cannot read it, and this rank may be elsewhere by the time they ask.
void CallLog::tellTakers(const PlanKey& key) {
  for (int r = 0; r < place_.size; ++r) {
    if (!fabric_->near(r) && canTake(key.collective, key.root, r, place_.rank)) {
      fabric_->tell(r, sequence_, sequence_);
    }
  }
}

/// What `rank` called as collective number `sequence`, and its counts with rank `of`; false where
/// that is not known.
bool CallLog::read(int rank, uint64_t sequence, Call* call, int of, PairCounts* counts) const {
  if (sequence == 0) return false;
  return fabric_->record(rank, sequence).read(call, [&] {
    if (!fabric_->pairCounts(rank, sequence, of, counts)) *counts = kUntold;
  }) && call->sequence == sequence;
}

CallLog::Answer CallLog::askSilent() const {
  Call theirs;
  PairCounts counts;
  for (const int r : silent_) {
    if (!read(r, sequence_, &theirs, place_.rank, &counts)) {
      // Not there yet, or so far ahead that the record is gone: the stamp of its next message
      // tells.
      if (theirs.sequence <= sequence_) {
        fabric_->progress();
        return Answer::Later;
      }
    } else if (counts == kUntold) {  // others have told that it has come
      fabric_->progress();
      return Answer::Later;
    } else if (counts.sent != 0) {
      return Answer::Something;
    }
  }
  return Answer::Nothing;
}

/// Whether a peer made another call as collective number `sequence` than this rank.
bool CallLog::differs(uint64_t sequence) const {
  const int me = place_.rank;
  Call mine, theirs;
  Pair pair{me, me, {}, {}};
  for (int r = 0; r < place_.size; ++r) {
    if (r == me || !read(me, sequence, &mine, r, &pair.ofA)) continue;
    if (!read(r, sequence, &theirs, me, &pair.ofB)) continue;
    if (!theirs.sameWords(mine) || (isUneven(mine) && !pair.agrees())) return true;
  }
  return false;
}

/// From those behind this one on, so that not all tell the same.
void CallLog::orderFarRanks() {
  const std::vector<HostStanding> standings = hostStandings(fabric_->hostOf(), place_.rank);
  const bool few = fewInTouch(place_.size);
  std::vector<int> further;
  for (int k = 1; k < place_.size; ++k) {
    const int r = (place_.rank + k) % place_.size;
    if (fabric_->near(r)) continue;
    const HostStanding& standing = standings[static_cast<size_t>(r)];
    const bool early = !few || (standing.next && standing.opposite);
    (early ? farOrder_ : further).push_back(r);
  }
  fewFar_ = farOrder_.size();
  farOrder_.insert(farOrder_.end(), further.begin(), further.end());
}

/// All calls since the last time: where this rank waits now may not be where it differs. At most so
/// many ranks.
void CallLog::tellFarRanks(Whom whom, int most) {
  if (told_ == sequence_ || !fabric_->spansHosts()) return;
  if (farOrder_.empty()) orderFarRanks();
  const size_t among = whom == Whom::Few ? fewFar_ : farOrder_.size();
  nextTold_ %= among;
  const uint64_t oldest =
      sequence_ < ShmLayout::kCallRecords ? 1 : sequence_ + 1 - ShmLayout::kCallRecords;
  int told = 0;
  for (size_t looked = 0; looked < among; ++looked, nextTold_ = (nextTold_ + 1) % among) {
    const int r = farOrder_[nextTold_];
    uint64_t& last = toldTo_[static_cast<size_t>(r)];
    if (last == sequence_) continue;
    if (whom == Whom::InTouch && nextTold_ >= fewFar_ && !fabric_->inTouch(r)) continue;
    if (told++ == most) return;
    fabric_->tell(r, std::max(oldest, last + 1), sequence_);
    last = sequence_;
  }
  if (among == farOrder_.size() && whom != Whom::InTouch) told_ = sequence_;
}

/// What ranks of this host called last goes round among the hosts: all will know who has come.
void CallLog::tellRound() {
  for (int r = 0; r < place_.size; ++r) {
    if (!fabric_->near(r)) continue;
    const Call last = lastCall(r);
    if (last.sequence != 0) fabric_->noteCome(r, last);
  }
  fabric_->passOn();
}

bool CallLog::someoneElsewhere(bool late) {
  if (fabric_ == nullptr) return false;
  if (late) {
    tellFarRanks(Whom::Few, kMostToldAtOnce);
    const bool round =
        ++waits_ >= kWaitsBeforeAll && (waits_ - kWaitsBeforeAll) % kWaitsBetweenRounds == 0;
    if (round && fabric_->speaksToFew()) tellRound();
  }
  for (uint64_t back = 0; back < pass_ && back < sequence_; ++back) {
    if (differs(sequence_ - back)) return true;
  }
  return false;
}

/// The first two ranks whose collective number `sequence` differs, as a sentence; empty: none.
/// Without `passes` it does not count what runs as one with what.
std::string CallLog::mismatchAt(uint64_t sequence, bool passes, const std::string& name,
                                bool* vague) const {
  Call theirs, other;
  Pair pair{};
  std::string whole;  // arrays that differ at the entry of a rank that has not called yet
  for (pair.b = 1; pair.b < place_.size; ++pair.b) {
    for (pair.a = 0; pair.a < pair.b; ++pair.a) {
      if (!read(pair.a, sequence, &other, pair.b, &pair.ofA)) continue;
      if (!read(pair.b, sequence, &theirs, pair.a, &pair.ofB)) continue;
      const std::string where = format("collective %llu of communicator \"%s\"",
                                       static_cast<unsigned long long>(sequence), name.c_str());
      const bool samePass = ((other.words[1] ^ theirs.words[1]) & kPassMask) == 0;
      if (!sameCall(other, theirs) || (passes && !samePass)) {
        return format(
            "rank %d calls %s where rank %d calls %s: both are %s; allowed: the same call on every "
            "rank",
            pair.a, callText(other).c_str(), pair.b, callText(theirs).c_str(), where.c_str());
      }
      if (!isUneven(other)) continue;
      if (!pair.agrees()) return pairText(collectiveOf(other), pair) + unevenText(other, where);
      if (!other.sameWords(theirs) && whole.empty()) {
        whole = format("the sums of rank %d's and rank %d's recvcounts differ", pair.a, pair.b) +
                unevenText(other, where);
      }
    }
  }
  *vague = !whole.empty();
  return whole;
}

std::string CallLog::mismatchText(const std::string& name, bool* vague) {
  *vague = false;
  if (fabric_ == nullptr) return "";
  std::string text = visibleMismatch(name, vague);
  if (!fabric_->spansHosts()) return text;
  tellFarRanks(Whom::InTouch, place_.size);
  if (fabric_->speaksToFew() && text.empty()) tellRound();
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + kHearsay;
  bool aborted = false;
  while (text.empty() && Clock::now() < until) {
    fabric_->progress();
    text = visibleMismatch(name, vague);
    if (!aborted && fabric_->aborted() != 0) {
      aborted = true;
      until = std::min(until, Clock::now() + kLateHearsay);
    }
  }
  return text;
}

/// The earliest. From the latest back, because what ranks of other hosts called comes in while this
/// looks, in the order of the calls: whoever sees a later one finds the earlier ones there.
std::string CallLog::visibleMismatch(const std::string& name, bool* vague) const {
  const uint64_t first =
      sequence_ < ShmLayout::kCallRecords ? 1 : sequence_ + 1 - ShmLayout::kCallRecords;
  for (const bool passes : {false, true}) {
    std::string earliest;
    for (uint64_t s = sequence_ + ShmLayout::kCallRecords; s >= first; --s) {
      bool vagueHere = false;
      std::string text = mismatchAt(s, passes, name, &vagueHere);
      if (text.empty()) continue;
      earliest = std::move(text);
      *vague = vagueHere;
    }
    if (!earliest.empty()) return earliest;
  }
  return "";
}

}  // namespace rondo
