// rondo-doctor: what on this machine, or in this job, makes MPI and Rondo slow or fail, what it
// costs, and what to do. Exit status 0: fine, 1: warnings, 2: errors, 3: the doctor itself failed.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "command_line.h"
#include "doctor/job.h"
#include "doctor/reach.h"
#include "doctor/report.h"

namespace {

using namespace rondo::doctor;

/// The doctor itself failed: findings have 1 and 2.
constexpr int kFailed = 3;

/// One rank's facts for each tree: tests.
std::vector<Facts> factsOfTrees(const std::vector<std::string>& roots) {
  std::vector<Facts> ranks;
  for (const std::string& root : roots) {
    ranks.push_back(readFacts(root));
    ranks.back().rank = static_cast<int>(ranks.size()) - 1;
  }
  return ranks;
}

std::vector<Facts> factsOfJob(const Job& job) {
  Facts mine = readFacts("/");
  addProcessFacts(&mine);
  mine.rank = job.rank();
  mine.job = job.launched();
  std::vector<Facts> ranks;
  for (const std::string& text : job.gather(nlohmann::json(mine).dump())) {
    ranks.push_back(nlohmann::json::parse(text).get<Facts>());
  }
  tryReach(job, &ranks);
  return ranks;
}

/// For all ranks, of which the launcher tells one's status.
int printed(int status) { return rondo::statusOfOutput("rondo-doctor", status, kFailed); }

int run(const Job& job, const std::vector<std::string>& roots, bool json, bool facts) {
  const std::vector<Facts> ranks = roots.empty() ? factsOfJob(job) : factsOfTrees(roots);
  if (job.rank() != 0) return job.share(0);
  if (facts) {
    std::fputs((nlohmann::json(ranks).dump(2) + "\n").c_str(), stdout);
    return job.share(printed(0));
  }
  const Report report = examine(ranks);
  std::fputs((json ? report.json() : report.text()).c_str(), stdout);
  return job.share(printed(report.exitCode()));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> roots;
  bool json = false, facts = false;
  CLI::App app(
      "Says what on this machine, or in the job that mpirun starts of it, makes MPI and Rondo slow "
      "or fail. Exit status 0: fine, 1: warnings, 2: errors.",
      "rondo-doctor");
  app.add_flag("--json", json, "Print the findings as JSON");
  app.add_flag("--facts", facts, "Print what the findings are made from instead, as JSON");
  app.add_option("--root", roots)->group("");
  return rondo::runTool(app, argc, argv, {kFailed, kFailed, kFailed, kFailed}, [&] {
    const Job job(&argc, &argv);
    return run(job, roots, json, facts);
  });
}
