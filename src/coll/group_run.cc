#include "coll/group_run.h"

#include <sched.h>

#include <algorithm>

#include "base/error.h"

namespace rondo {

void GroupRun::add(Communicator& comm, Operation operation) {
  auto part = std::find_if(parts_.begin(), parts_.end(),
                           [&comm](const Part& p) { return p.comm == &comm; });
  if (part == parts_.end()) {
    parts_.push_back({&comm, comm.takeNumber(), {}, false});
    part = parts_.end() - 1;
  }
  auto& operations = part->operations;
  if (operation.transfers.empty()) {
    operations.push_back(std::move(operation));
    return;
  }
  if (operations.empty() || operations.front().transfers.empty()) {
    operations.push_front(std::move(operation));
    return;
  }
  auto& all = operations.front().transfers;
  all.insert(all.end(), operation.transfers.begin(), operation.transfers.end());
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
  for (Part& part : parts_) {
    if (part.operations.empty()) continue;
    part.operations.clear();
    part.comm->finishNumber(part.number);
  }
  done_.store(true, std::memory_order_release);
  owner_.store(0, std::memory_order_release);
}

bool GroupRun::poll() {
  bool moved = false, done = true;
  for (Part& part : parts_) {
    if (part.operations.empty()) continue;
    moved |= pollPart(part);
    done &= part.operations.empty();
  }
  if (done) done_.store(true, std::memory_order_release);
  return moved || done;
}

void GroupRun::start(Part& part) {
  Operation& operation = part.operations.front();
  part.running = true;
  if (operation.transfers.empty()) {
    part.comm->begin(operation.request);
  } else {
    part.comm->beginExchange(operation.transfers);
  }
}

bool GroupRun::pollPart(Part& part) {
  using Progress = Communicator::Progress;
  if (!part.comm->served(part.number)) return false;
  bool moved = false;
  while (!part.operations.empty()) {
    const bool exchange = !part.operations.front().transfers.empty();
    Progress progress = Progress::Busy;
    try {
      if (!part.running) start(part);
      progress = exchange ? part.comm->pollExchange(&moved) : part.comm->poll(&moved);
    } catch (const std::exception& error) {
      fail(part, Progress::Mismatch, error.what());
      return true;
    }
    if (progress == Progress::Busy) return moved;
    if (progress != Progress::Done) {
      const bool own = progress == Progress::Mismatch && exchange;
      fail(part, progress, own ? part.comm->exchangeMismatch() : "");
      return true;
    }
    part.operations.pop_front();
    part.running = false;
    moved = true;
  }
  part.comm->finishNumber(part.number);
  return true;
}

/// What follows on this communicator cannot run any more; other communicators go on.
void GroupRun::fail(Part& part, Communicator::Progress how, const std::string& what) {
  if (fault_.call == nullptr) {
    std::string why = what.empty() ? part.comm->mismatchText() : what;
    const bool remote = why.empty() && how == Communicator::Progress::Aborted;
    if (remote) {
      why = format("rank %u aborted communicator \"%s\"", part.comm->aborted() - 1,
                   part.comm->name().c_str());
    } else if (why.empty()) {
      why = "a message of another call came: the ranks make different calls";
    }
    fault_ = {part.operations.front().call, part.comm, remote, why};
  }
  // What this rank knows, the others may not.
  if (how == Communicator::Progress::Mismatch) part.comm->abort();
  part.operations.clear();
  part.comm->finishNumber(part.number);
}

}  // namespace rondo
