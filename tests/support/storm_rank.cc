#include "support/storm_rank.h"

#include <cstdlib>
#include <thread>

namespace rondo::testing {
namespace {

uint32_t stampOf(const StormCall& call, int replay) {
  return static_cast<uint32_t>(call.serial + 64 * replay) & 0xff;
}

}  // namespace

StormRank::StormRank(StormShared& shared, const FarRank& me)
    : shared_(shared),
      plan_(shared.plan),
      me_(me),
      own_(plan_.seed * 31 + static_cast<uint32_t>(me.rank)) {
  comms_[0] = {me.comm, me.rank, me.size, rondoSum, {}};
  begin();
}

void StormRank::begin() {
  if (!plan_.colors.empty()) makeChild();
  me_.barrier.arrive_and_wait();
  for (Comm& each : comms_) {
    if (each.comm == nullptr) continue;
    if (plan_.counters != 0) each.comm->impl->deviceRunner()->startEpochsAt(plan_.counters);
    const int32_t scalar = stormScalar(each.rank);
    EXPECT_EQ(rondoRedOpCreatePreMulSum(&each.scaled, &scalar, rondoInt32, rondoScalarHostImmediate,
                                        each.comm),
              rondoSuccess);
    shared_.watch.add(each.comm);
  }
  me_.barrier.arrive_and_wait();
}

void StormRank::makeChild() {
  const auto me = static_cast<size_t>(me_.rank);
  const int color = plan_.colors[me];
  const std::vector<int> members = stormMembers(plan_, color);
  Comm& child = comms_[1];
  if (color >= 0) {
    child.rank =
        static_cast<int>(std::find(members.begin(), members.end(), me_.rank) - members.begin());
    child.size = static_cast<int>(members.size());
    *me_.nearPlaces = {&shared_.childHosts[color],
                       LevelsLayout::of(hostsOfMembers(plan_, members), child.rank)};
  }
  me_.good(rondoCommSplit(me_.comm, color, plan_.keys[me], &child.comm, nullptr));
}

StormRank::~StormRank() {
  me_.stream.synchronize();
  me_.other.synchronize();
  for (Comm& each : comms_) shared_.watch.remove(each.comm);
  me_.barrier.arrive_and_wait();  // nobody leaves who might be asked
  for (Comm& each : comms_) {
    if (each.comm != nullptr) rondoRedOpDestroy(each.scaled, each.comm);
  }
  if (comms_[1].comm != nullptr) rondoCommDestroy(comms_[1].comm);
}

void StormRank::dawdle() {
  const auto sleep = [&](unsigned most) {
    std::this_thread::sleep_for(std::chrono::microseconds(own_() % most));
  };
  const unsigned how = static_cast<unsigned>(own_() % 40);
  if (how < 4) return sleep(300);
  if (how == 4) return sleep(20'000);
  if (how < 8) return std::this_thread::yield();
  if (how > 10) return;
  const unsigned late = static_cast<unsigned>(own_() % 1000);
  stream(static_cast<int>(own_() % 2)).enqueue([late] {
    std::this_thread::sleep_for(std::chrono::microseconds(late));
  });
}

/// What is issued on these streams next waits for what was issued on the communicator before.
void StormRank::join(Comm& comm, std::vector<int> streams) {
  for (const int later : streams) {
    for (const int first : comm.streams) {
      if (first != later) orderPretended(stream(first), stream(later));
    }
  }
  comm.streams = std::move(streams);
}

StormHeld& StormRank::hold(std::deque<StormHeld>& held, const StormCall& call) {
  const Comm& comm = commOf(call);
  StormHeld& out = held.emplace_back(call, comm.rank, comm.size, own_);
  out.fill(stampOf(call, 0));
  return out;
}

void StormRank::check(std::deque<StormHeld>& held) {
  if (shared_.watch.gaveUp() || failed_) return;
  for (const StormHeld& each : held) {
    const std::string wrong = each.wrong();
    constexpr int kMostShown = 6;
    if (wrong.empty() || shared_.shown++ >= kMostShown) continue;
    const Comm& comm = commOf(each.call);
    ADD_FAILURE() << plan_.text() << ": rank " << me_.rank << ", there " << comm.rank << " of "
                  << comm.size << ", " << each.call.text(comm.size) << ", stamp " << each.stamp
                  << wrong;
  }
}

bool StormRank::finish() {
  for (const Comm& each : comms_) {
    for (const int last : each.streams) stream(last).synchronize();
  }
  check(held_);
  me_.stream.synchronize();
  me_.other.synchronize();
  held_.clear();
  for (const Comm& each : comms_) {
    rondoResult_t state = rondoSuccess;
    if (each.comm == nullptr || failed_ || shared_.watch.gaveUp()) continue;
    EXPECT_EQ(rondoCommGetAsyncError(each.comm, &state), rondoSuccess);
    if (state == rondoSuccess) continue;
    failed_ = true;
    ADD_FAILURE() << plan_.text() << ": rank " << me_.rank << ": " << rondoGetLastError(each.comm);
  }
  return !failed_ && !shared_.watch.gaveUp();
}

bool StormRank::good(rondoResult_t result, const StormHeld& held) {
  if (result == rondoSuccess) return true;
  const Comm& comm = comms_[held.call.comm];
  if (!failed_ && !shared_.watch.gaveUp()) {
    ADD_FAILURE() << plan_.text() << ": rank " << me_.rank << ", " << held.call.text(comm.size)
                  << ": " << rondoGetLastError(nullptr);
  }
  failed_ = true;
  for (const Comm& each : comms_) {
    if (each.comm != nullptr) rondoCommRevoke(each.comm);
  }
  if (groupOpen()) rondoGroupEnd();
  return false;
}

void StormRank::run() {
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    const StormStep& step = plan_.steps[k];
    shared_.watch.at(me_.rank, static_cast<int>(k));
    dawdle();
    const bool graphed = step.how == StormStep::kGraph || step.how == StormStep::kGroupInGraph;
    if (!(graphed ? graph(step) : step.how == StormStep::kGroup ? group(step) : alone(step)))
      return;
    if (step.finish && !finish()) return;
  }
  finish();
  shared_.watch.at(me_.rank, -1);
}

bool StormRank::alone(const StormStep& step) {
  for (const StormCall& call : step.calls) {
    if (commOf(call).comm == nullptr) continue;
    StormHeld& held = hold(held_, call);
    if (step.calls.size() > 1) dawdle();
    if (!call.onHost) join(commOf(call), streamsOf(held, false));
    if (!good(issue(held, StormStep::kAlone), held)) return false;
  }
  return true;
}

/// Any of the streams of a group's transfers waits for all of them, which its collectives' do not.
void StormRank::leaveGroup(const std::vector<StormHeld*>& all) {
  for (int c : {0, 1}) {
    std::vector<int> ends;
    bool ordered = true;
    for (const StormHeld* each : all) {
      if (each->call.comm != c || each->call.onHost) continue;
      ordered = ordered && each->call.transfers;
      for (const StormMessage& message : each->messages) {
        const bool takesPart = message.from == comms_[c].rank || message.to == comms_[c].rank;
        if (takesPart && message.bytes > 0) ends.push_back(message.stream);
      }
    }
    if (!ordered || ends.empty() || plan_.streams != StormStreams::kBoth) continue;
    comms_[c].streams = {ends[own_() % ends.size()]};
  }
}

bool StormRank::group(const StormStep& step) {
  std::vector<StormHeld*> all;
  std::vector<int> streams[2];
  for (const StormCall& call : step.calls) {
    if (commOf(call).comm == nullptr) continue;
    all.push_back(&hold(held_, call));
    if (call.onHost) continue;
    for (const int each : streamsOf(*all.back(), true)) {
      auto& of = streams[call.comm];
      if (std::find(of.begin(), of.end(), each) == of.end()) of.push_back(each);
    }
  }
  if (all.empty()) return true;
  for (int c : {0, 1}) {
    if (!streams[c].empty()) join(comms_[c], streams[c]);
  }
  if (!good(rondoGroupStart(), *all.front())) return false;
  for (StormHeld* each : all) {
    if (own_() % 16 == 0) dawdle();
    if (!good(issue(*each, StormStep::kGroup), *each)) return false;
  }
  if (!good(rondoGroupEnd(), *all.front())) return false;
  leaveGroup(all);
  return true;
}

bool StormRank::graph(const StormStep& step) {
  std::deque<StormHeld> held;
  for (const StormCall& call : step.calls) {
    if (commOf(call).comm != nullptr) hold(held, call);
  }
  const int number = step.calls.front().stream;
  std::vector<PretendedStream::Work> works;
  stream(number).captureInto(&works);
  const bool grouped = step.how == StormStep::kGroupInGraph && !held.empty();
  bool all = !grouped || good(rondoGroupStart(), held.front());
  for (StormHeld& each : held) all = all && good(issue(each, step.how), each);
  if (grouped) all = good(rondoGroupEnd(), held.front()) && all;
  stream(number).captureInto(nullptr);
  for (int replay = 0; all && replay < step.replays; ++replay) {
    for (StormHeld& each : held) {
      each.fill(stampOf(each.call, replay));
      join(commOf(each.call), {number});
    }
    dawdle();
    stream(number).replay(works);
    const auto next = static_cast<size_t>(replay);
    if (next < step.between.size()) {
      StormStep between;
      between.calls = {step.between[next]};
      all = alone(between);
      if (!finish()) all = false;  // it knows its call by reference
    }
    stream(number).synchronize();
    check(held);
    all = all && !shared_.watch.gaveUp();
  }
  stream(number).synchronize();
  return all;
}

/// A group's messages may be on both.
std::vector<int> StormRank::streamsOf(const StormHeld& held, bool grouped) const {
  const bool both = grouped && held.call.transfers && plan_.streams == StormStreams::kBoth;
  return both ? std::vector<int>{0, 1} : std::vector<int>{held.call.stream};
}

}  // namespace rondo::testing
