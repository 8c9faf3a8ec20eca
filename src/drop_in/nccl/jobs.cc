#include "drop_in/nccl/jobs.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "base/own_thread.h"
#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"

namespace rondo::nccl {
namespace {

constexpr const char* kThread = "a thread for operations that belong together";

void letGo(const Job& job) {
  if (job.frees) finishHandle(job.on, job.on->inner, ncclSuccess);
}

/// Indices of jobs that run one after the other, because they use one communicator.
using Chain = std::vector<size_t>;

std::vector<Chain> chainsOf(const std::vector<Job>& jobs) {
  std::vector<Chain> chains;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto same = std::find_if(chains.begin(), chains.end(), [&](const Chain& chain) {
      return jobs[i].on != nullptr && jobs[chain.front()].on == jobs[i].on;
    });
    if (same == chains.end()) {
      chains.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  return chains;
}

bool inBackground(const std::vector<Job>& jobs, const Chain& chain) {
  return std::none_of(chain.begin(), chain.end(), [&](size_t i) { return jobs[i].blocking; });
}

/// What jobs in the background use is busy until the last of them is done.
ncclResult_t hold(std::vector<Job>* jobs, const std::vector<Chain>& chains) {
  for (const Chain& chain : chains) {
    Job& last = (*jobs)[chain.back()];
    if (last.on == nullptr || !inBackground(*jobs, chain)) continue;
    if (const ncclResult_t bad = holdHandle(last.on, last.name)) return bad;
    last.frees = true;
  }
  return ncclSuccess;
}

/// The job to its end. The sentence of a failure is the calling thread's, and the handle's.
ncclResult_t perform(const Job& job) {
  rondoComm_t made = nullptr;
  ncclResult_t result = guarded(job.name, [&] {
    const rondoResult_t code = job.run(&made);
    return code == rondoSuccess ? ncclSuccess : failAs(job.makes, job.name, code);
  });
  if (result != ncclSuccess && job.blocking) {
    discard(job);
    return result;
  }
  if (result != ncclSuccess && job.on != nullptr) noteFailure(job.on, result);
  if (result != ncclSuccess && job.makes != nullptr) job.makes->setCause(lastSentence());
  // What was made can be used once what it was made of is ready again.
  const bool there = job.makes == nullptr || finishHandle(job.makes, made, result);
  letGo(job);
  if (there || result != ncclSuccess) return result;
  if (job.blocking && job.written != nullptr) *job.written = nullptr;
  return fail(nullptr, ncclInvalidUsage,
              format("%s: the communicator was aborted while it was made", job.name));
}

/// What the threads of a group share with the one that waits for them.
struct Together {
  enum Word : int { kWait, kGo, kStop };
  std::atomic<int> word{kWait};
  struct Outcome {
    ncclResult_t result = ncclSuccess;
    std::string sentence;
  };
  std::vector<Outcome> outcomes;
};

void performOnThread(const std::vector<Job>& jobs, const Chain& chain, Together& together) {
  together.word.wait(Together::kWait);
  if (together.word.load() == Together::kStop) return;
  for (const size_t index : chain) {
    enter(jobs[index].place);
    Together::Outcome& outcome = together.outcomes[index];
    outcome.result = perform(jobs[index]);
    if (outcome.result != ncclSuccess) outcome.sentence = lastSentence();
  }
}

/// A thread for each chain, or none at all: they wait for each other.
std::string start(const std::shared_ptr<const std::vector<Job>>& jobs,
                  const std::vector<Chain>& chains, const std::shared_ptr<Together>& together,
                  std::vector<std::thread>* threads) {
  try {
    for (const Chain& chain : chains) {
      threads->push_back(ownThread(kThread, [=] { performOnThread(*jobs, chain, *together); }));
    }
    return "";
  } catch (const Error& error) {
    return format("thread %zu of %zu: %s", threads->size() + 1, chains.size(), error.what());
  }
}

ncclResult_t discardAll(const std::vector<Job>& jobs, ncclResult_t why) {
  for (const Job& job : jobs) discard(job);
  return why;
}

}  // namespace

void discard(const Job& job) {
  letGo(job);
  if (job.makes == nullptr) return;
  retireHandle(job.makes);
  if (job.written != nullptr) *job.written = nullptr;
}

ncclResult_t runTogether(std::vector<Job> given) {
  const std::vector<Chain> chains = chainsOf(given);
  if (const ncclResult_t bad = hold(&given, chains)) return discardAll(given, bad);
  const auto jobs = std::make_shared<const std::vector<Job>>(std::move(given));
  const auto together = std::make_shared<Together>();
  together->outcomes.resize(jobs->size());
  std::vector<std::thread> threads;
  const std::string failure = start(jobs, chains, together, &threads);
  together->word.store(failure.empty() ? Together::kGo : Together::kStop);
  together->word.notify_all();
  bool inProgress = false;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (failure.empty() && inBackground(*jobs, chains[i])) {
      threads[i].detach();
      inProgress = true;
    } else {
      threads[i].join();
    }
  }
  if (!failure.empty()) {
    const char* name = jobs->front().name;
    return discardAll(*jobs,
                      fail(nullptr, ncclSystemError, format("%s: %s", name, failure.c_str())));
  }
  for (size_t i = 0; i < jobs->size(); ++i) {
    if (!(*jobs)[i].blocking) continue;
    const Together::Outcome& outcome = together->outcomes[i];
    if (outcome.result != ncclSuccess) return fail(nullptr, outcome.result, outcome.sentence);
  }
  return inProgress ? ncclInProgress : ncclSuccess;
}

ncclResult_t submit(Job job) {
  if (groupOpen()) {
    addToGroup(std::move(job));
    return ncclSuccess;
  }
  if (job.blocking) return perform(job);
  std::vector<Job> alone;
  alone.push_back(std::move(job));
  return runTogether(std::move(alone));
}

}  // namespace rondo::nccl
