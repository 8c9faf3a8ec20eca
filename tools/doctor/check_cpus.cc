// Where ranks may run, and how much of the time.

#include <algorithm>
#include <set>

#include "base/error.h"
#include "doctor/report.h"

namespace rondo::doctor {
namespace {

std::string param(const Facts& facts, const std::string& name) {
  if (const auto at = facts.env.find("OMPI_MCA_" + name); at != facts.env.end()) return at->second;
  const auto at = facts.ompiParams.find(name);
  return at == facts.ompiParams.end() ? "" : at->second;
}

bool isOn(const std::string& value) {
  return value == "1" || value == "true" || value == "yes" || value == "enabled";
}

std::set<int> cpusOf(const HostFacts& host) {
  std::set<int> all;
  for (const Facts* rank : host.ranks) all.insert(rank->cpus.begin(), rank->cpus.end());
  return all;
}

/// Each rank's progress thread needs a core of its own for what runs while the rank computes.
void checkOwnCore(Report* report, const HostFacts& host) {
  std::vector<const Facts*> bound;
  for (const Facts* rank : host.ranks) {
    if (rank->job && rank->cpus.size() == 1) bound.push_back(rank);
  }
  if (bound.empty()) return;
  const bool roomy = static_cast<int>(host.ranks.size()) * 2 <= host.facts->onlineCpus;
  report->add(roomy ? Level::Warning : Level::Note, "cpu-binding", placeText(bound),
              "each of these ranks may run on one CPU only, so that its progress thread has none "
              "but the rank's own",
              "operations that should run while the rank computes (rondoGroupEndAsync) only move "
              "while it waits; between hosts messages may lie until the next call",
              roomy
                  ? "mpirun --map-by slot:PE=2 --bind-to core (two CPUs a rank), or --bind-to none"
                  : "fewer ranks on this host, where such operations matter");
}

void checkSharedCore(Report* report, const HostFacts& host) {
  std::vector<const Facts*> same;
  for (const Facts* one : host.ranks) {
    const bool shared = std::any_of(host.ranks.begin(), host.ranks.end(), [&](const Facts* other) {
      return other != one && one->cpus.size() == 1 && other->cpus == one->cpus;
    });
    if (shared) same.push_back(one);
  }
  const std::set<int> cpus = cpusOf(host);
  if (!same.empty() && cpus.size() < static_cast<size_t>(host.facts->onlineCpus)) {
    report->add(Level::Warning, "cpu-sharing", placeText(same),
                format("several of these ranks are bound to the same CPU, though the host has %d",
                       host.facts->onlineCpus),
                "a rank that waits has to give its core away first: a hop takes a switch of "
                "processes, some 2 to 5 us, or a whole time slice",
                "mpirun --bind-to core --map-by core (one CPU a rank), or --bind-to none");
  }
}

void checkCrowd(Report* report, const HostFacts& host) {
  const std::set<int> cpus = cpusOf(host);
  if (cpus.empty()) return;
  const bool crowded = host.ranks.size() > cpus.size();
  const bool yields = isOn(param(*host.facts, "mpi_yield_when_idle"));
  if (crowded) {
    report->add(Level::Warning, "oversubscription", placeText(host.ranks),
                format("%zu ranks may run on %zu CPUs", host.ranks.size(), cpus.size()),
                "every wait for a peer costs switches of processes, and on busy cores whole time "
                "slices of some milliseconds",
                "fewer ranks on this host, or more CPUs for them (mpirun --bind-to none, the batch "
                "system's CPUs per task)");
  }
  if (crowded && host.facts->job && !yields) {
    report->add(Level::Warning, "yield-when-idle", placeText(host.ranks),
                "ranks outnumber CPUs, and Open MPI is told to spin (mpi_yield_when_idle is not 1)",
                "a rank that waits in MPI keeps the core that the awaited one needs, for its whole "
                "time slice (Rondo's own waits yield)",
                "mpirun --mca mpi_yield_when_idle 1");
  }
  if (!crowded && yields) {
    report->add(Level::Note, "yield-when-idle", placeText(host.ranks),
                "every rank has a CPU, but Open MPI is told to yield (mpi_yield_when_idle is 1)",
                "a system call at every look of a wait in MPI: some tenths of a microsecond more",
                "mpirun --mca mpi_yield_when_idle 0");
  }
}

void checkQuota(Report* report, const HostFacts& host) {
  const double quota = host.facts->quotaCpus;
  const auto ranks = static_cast<double>(host.ranks.size());
  if (quota <= 0 || quota >= 2 * ranks) return;
  const bool little = quota < ranks;
  report->add(little ? Level::Error : Level::Warning, "cpu-quota", placeText(host.ranks),
              format("the control group of these %zu ranks may use %.2f CPUs' worth of time (%s)",
                     host.ranks.size(), quota, host.facts->quotaFile.c_str()),
              little
                  ? "waiting ranks use up the time: then all of them stand still for the rest of "
                    "each period, most often 100 ms"
                  : "a rank and its progress thread may use more than one CPU together; when the "
                    "time is used up all stand still for the rest of the period",
              format("raise it to %d CPUs (docker --cpus %d, the pod's CPU limit, echo max > %s)",
                     2 * static_cast<int>(ranks), 2 * static_cast<int>(ranks),
                     host.facts->quotaFile.c_str()));
}

}  // namespace

void checkCpus(Report* report) {
  for (const char* const check :
       {"cpu-binding", "cpu-sharing", "oversubscription", "yield-when-idle", "cpu-quota"}) {
    report->begin(check);
  }
  for (const HostFacts& host : byHost(report->ranks())) {
    checkOwnCore(report, host);
    checkSharedCore(report, host);
    checkCrowd(report, host);
    checkQuota(report, host);
  }
}

}  // namespace rondo::doctor
