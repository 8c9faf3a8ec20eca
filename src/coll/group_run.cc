#include "coll/group_run.h"

#include <sched.h>

#include <algorithm>

#include "api/types.h"
#include "base/error.h"
#include "coll/mixed_pass.h"

namespace rondo {

GroupRun::Part& GroupRun::partOf(Communicator& comm) {
  for (size_t i = used_; i-- > 0;) {
    if (parts_[i].comm == &comm) return parts_[i];
  }
  if (used_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[used_++];
  part.comm = &comm;
  return part;
}

void GroupRun::addCollective(Communicator& comm, const char* call, const HostRequest& request) {
  Part& part = partOf(comm);
  part.requests.push_back(request);
  part.requests.back().enqueued = ticks();
  part.calls.push_back(call);
  longest_ = std::max(longest_, request.key.count * typeSize(request.key.type));
  if (isReduction(request.key.collective)) keepScaled(comm, &part.requests.back());
  if (request.uneven == nullptr) return;
  if (unevenUsed_ == uneven_.size()) uneven_.emplace_back();
  UnevenSlots& kept = uneven_[unevenUsed_++];
  kept = *request.uneven;
  part.requests.back().uneven = &kept;
}

void GroupRun::keepScaled(Communicator& comm, HostRequest* request) {
  if (request->key.op < ScaledOps::kFirst) [[likely]]
    return;
  const ScaledOp* const op = comm.scaledOps().find(request->key.op);
  if (op == nullptr) return;
  if (scaledUsed_ == scaled_.size()) scaled_.emplace_back();
  ScaledOp& kept = scaled_[scaledUsed_++];
  op->copyTo(&kept);
  request->scaled = &kept;
}

void GroupRun::addTransfers(Communicator& comm, const char* call,
                            std::span<const Transfer> transfers) {
  Part& part = partOf(comm);
  if (!part.exchanges()) {
    part.transferCall = call;
    part.enqueued = ticks();
  }
  for (const Transfer& t : transfers) {
    part.transfers.push_back(t);
    longest_ = std::max(longest_, t.bytes);
  }
}

std::string GroupRun::faultOf(const Communicator& comm) {
  const auto end = parts_.begin() + static_cast<ptrdiff_t>(used_);
  const auto part =
      std::find_if(parts_.begin(), end, [&comm](const Part& p) { return p.comm == &comm; });
  if (part == end) return "a communicator of the group was destroyed before its end";
  const std::string fault = Exchange::selfFault(comm.place().rank, part->transfers);
  return fault.empty() ? clashOf(*part) : fault;
}

/// Calls of one kind that would run as one and need each other's results.
std::string GroupRun::clashOf(const Part& part) {
  const RankPlace& place = part.comm->place();
  std::span<const HostRequest> waiting = part.requests;
  for (size_t before = 0; before < part.requests.size();) {
    const size_t pass = JointCall::passOf(waiting, place.size);
    if (pass > 1 && !MixedPass::differ(waiting.first(pass))) {
      const JointCall::Clash clash = checker_.findClash(waiting.first(pass), place);
      if (clash.found) {
        return format(
            "collective %zu of the group on communicator \"%s\" (%s) writes memory that collective "
            "%zu reads or writes, and the two may run as one; allowed: buffers that do not "
            "overlap, or another group for one of them",
            before + clash.writer + 1, part.comm->name().c_str(), part.calls[before + clash.writer],
            before + clash.other + 1);
      }
    }
    before += pass;
    waiting = waiting.subspan(pass);
  }
  return "";
}

void GroupRun::issue(OpOrigin origin) {
  origin_ = origin;
  for (size_t i = 0; i < used_; ++i) parts_[i].number = parts_[i].comm->takeNumber();
  if (used_ == 0) done_.store(true, std::memory_order_relaxed);
  owner_.store(0, std::memory_order_release);
}

bool GroupRun::tryPoll() {
  if (done() || owner_.exchange(1, std::memory_order_acquire) != 0) return false;
  bool moved = false;
  if (!done()) moved = poll();
  owner_.store(0, std::memory_order_release);
  return moved;
}

void GroupRun::giveUp() {
  while (owner_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  for (size_t i = 0; i < used_; ++i) {
    Part& part = parts_[i];
    if (part.ended) continue;
    if (fault_.call == nullptr) {  // for who asks once more
      fault_ = {part.exchanging ? part.transferCall : part.calls[part.next], part.comm,
                rondoRemoteError, "was given up"};
    }
    end(part);
  }
  done_.store(true, std::memory_order_release);
  owner_.store(0, std::memory_order_release);
}

void GroupRun::close() {
  // Whoever still polls is out when the word is free; it stays taken until the next issue().
  if (done()) {
    while (owner_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  for (size_t i = 0; i < used_; ++i) {
    Part& part = parts_[i];
    part.transfers.clear();
    part.requests.clear();
    part.calls.clear();
    part.next = part.running = 0;
    part.exchanging = part.ended = part.shifted = false;
    part.comm = nullptr;
  }
  used_ = unevenUsed_ = scaledUsed_ = 0;
  longest_ = 0;
  fault_ = {};
  done_.store(false, std::memory_order_relaxed);
}

bool GroupRun::poll() {
  bool moved = false, done = true;
  for (size_t i = 0; i < used_; ++i) {
    Part& part = parts_[i];
    if (part.ended) continue;
    moved |= pollPart(part);
    done &= part.ended;
  }
  if (done) done_.store(true, std::memory_order_release);
  return moved || done;
}

uint64_t GroupRun::foretell(const Communicator& comm) const {
  uint64_t time = 0;
  for (size_t i = 0; i < used_; ++i) {
    const Part& part = parts_[i];
    if (part.comm != &comm) continue;
    if (part.exchanges()) {
      throw Error(rondoUnsupported,
                  "nothing predicts sends and receives on host memory; allowed: rondoGroupEnd, "
                  "which runs the group");
    }
    for (std::span<const HostRequest> left = part.waiting(); !left.empty();) {
      const size_t pass = JointCall::passOf(left, comm.place().size);
      time += comm.foretell(JointCall::keyOf(left.first(pass), comm.place()));
      left = left.subspan(pass);
    }
  }
  return time;
}

void GroupRun::start(Part& part) {
  part.exchanging = part.exchanges();
  if (part.exchanging) {
    part.running = 1;
    part.comm->beginExchange(part.transfers, origin_, part.enqueued);
    return;
  }
  part.running = JointCall::passOf(part.waiting(), part.comm->place().size);
  if (part.shifted && !MixedPass::differ(part.waiting().first(part.running))) part.running = 1;
  part.comm->begin(part.waiting().first(part.running), origin_);
}

/// Whether that was the part's last one.
bool GroupRun::finishOperation(Part& part) {
  if (part.exchanging) {
    part.transfers.clear();
  } else {
    const size_t ended = part.comm->endedOfPass();
    part.shifted |= ended < part.running;
    part.next += ended;
  }
  part.running = 0;
  return !part.exchanges() && part.next == part.requests.size();
}

bool GroupRun::pollPart(Part& part) {
  using Progress = Communicator::Progress;
  if (!part.comm->served(part.number)) return false;
  bool moved = false;
  for (;;) {
    Progress progress = Progress::Busy;
    try {
      if (part.running == 0) start(part);
      progress = part.exchanging ? part.comm->pollExchange(&moved) : part.comm->poll(&moved);
    } catch (const std::exception& error) {
      fail(part, Progress::Mismatch, sentenceOf(error), resultOf(error));
      return true;
    }
    if (progress == Progress::Busy) return moved;
    if (progress != Progress::Done) {
      const bool differ = progress == Progress::Mismatch;
      fail(part, progress, differ && part.exchanging ? part.comm->exchangeMismatch() : "",
           differ ? rondoMismatch : rondoRemoteError);
      return true;
    }
    moved = true;
    if (!finishOperation(part)) continue;
    end(part);
    return true;
  }
}

/// The next one's turn on this communicator.
void GroupRun::end(Part& part) {
  part.ended = true;
  part.comm->finishNumber(part.number);
}

/// What follows on this communicator cannot run any more; other communicators go on.
/// `code`: what it comes to, unless an abort has another cause.
void GroupRun::fail(Part& part, Communicator::Progress how, const std::string& what,
                    rondoResult_t code) {
  const char* const call = part.exchanging ? part.transferCall : part.calls[part.next];
  std::string why;
  try {
    if (what.empty() && how == Communicator::Progress::Aborted) {
      Communicator::End end = part.comm->endOf();
      code = end.code;
      why = std::move(end.why);
    } else {
      why = what.empty() ? part.comm->mismatchText() : what;
      if (why.empty()) why = part.comm->differText();
    }
    if (fault_.call == nullptr) fault_ = {call, part.comm, code, why};
    part.comm->noteFault({call, code, why});
  } catch (const std::bad_alloc&) {  // there is no memory for the sentence
    fault_.call = call;
    fault_.comm = part.comm;
    fault_.code = code;
  }
  if (how == Communicator::Progress::Mismatch) {
    if (code == rondoMismatch) {
      part.comm->abortDiffering(why);  // what this rank knows, the others may not
    } else {
      part.comm->abort();  // a trouble of its own, of which they know nothing
    }
  }
  end(part);
}

}  // namespace rondo
