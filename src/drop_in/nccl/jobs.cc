#include "drop_in/nccl/jobs.h"

#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"

namespace rondo::nccl {
namespace {

void letGo(const Job& job) {
  if (job.holds != nullptr) finishHandle(job.holds, job.holds->inner, ncclSuccess);
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
  letGo(job);
  if (job.makes != nullptr) finishHandle(job.makes, made, result);
  return result;
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

void performOnThread(const Job& job, Together& together, size_t index) {
  together.word.wait(Together::kWait);
  if (together.word.load() == Together::kStop) return;
  enter(job.place);
  Together::Outcome& outcome = together.outcomes[index];
  outcome.result = perform(job);
  if (outcome.result != ncclSuccess) outcome.sentence = lastSentence();
}

/// Threads for all jobs, or for none: they wait for each other.
std::string start(const std::vector<Job>& jobs, const std::shared_ptr<Together>& together,
                  std::vector<std::thread>* threads) {
  try {
    for (size_t i = 0; i < jobs.size(); ++i) {
      threads->emplace_back([job = jobs[i], together, i] { performOnThread(job, *together, i); });
    }
    return "";
  } catch (const std::system_error& error) {
    return format("thread %zu of %zu could not be started: %s", threads->size() + 1, jobs.size(),
                  error.what());
  }
}

}  // namespace

void discard(const Job& job) {
  letGo(job);
  if (job.makes == nullptr) return;
  retireHandle(job.makes);
  if (job.written != nullptr) *job.written = nullptr;
}

ncclResult_t runTogether(std::vector<Job> jobs) {
  const auto together = std::make_shared<Together>();
  together->outcomes.resize(jobs.size());
  std::vector<std::thread> threads;
  const std::string failure = start(jobs, together, &threads);
  together->word.store(failure.empty() ? Together::kGo : Together::kStop);
  together->word.notify_all();
  bool inProgress = false;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (jobs[i].blocking || !failure.empty()) {
      threads[i].join();
    } else {
      threads[i].detach();
      inProgress = true;
    }
  }
  if (!failure.empty()) {
    for (const Job& job : jobs) discard(job);
    return fail(nullptr, ncclSystemError, std::string(jobs.front().name) + ": " + failure);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Together::Outcome& outcome = together->outcomes[i];
    if (jobs[i].blocking && outcome.result != ncclSuccess) {
      return fail(nullptr, outcome.result, outcome.sentence);
    }
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
