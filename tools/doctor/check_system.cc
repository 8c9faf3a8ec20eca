// The kernel's settings, and what a process may have.

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/options.h"
#include "doctor/report.h"
#include "drop_in/mpi/option_rows.h"

namespace rondo::doctor {
namespace {

constexpr int64_t kMiB = 1 << 20;

/// "5.10.0-8-amd64" is before (5, 12).
bool kernelBefore(const std::string& kernel, int major, int minor) {
  int a = 0, b = 0;
  if (std::sscanf(kernel.c_str(), "%d.%d", &a, &b) != 2) return false;
  return a < major || (a == major && b < minor);
}

void checkMemoryPolicy(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.numaNodes > 1 && facts.numaBalancing > 0) {
    report->add(Level::Warning, "numa-balancing", placeText(host.ranks),
                format("the kernel balances %d NUMA nodes by unmapping pages now and then to see "
                       "who touches them (kernel.numa_balancing is %d)",
                       facts.numaNodes, facts.numaBalancing),
                "page faults in the middle of calls, and pages of shared memory that wander "
                "between nodes: single calls of a benchmark that take many times the usual",
                "sysctl -w kernel.numa_balancing=0, and bind ranks (mpirun --bind-to core)");
  }
  if (facts.hugePages == "always" && facts.hugePagesDefrag == "always") {
    report->add(Level::Warning, "huge-pages", placeText(host.ranks),
                "transparent huge pages are always used, and a page fault waits for memory to be "
                "compacted (transparent_hugepage/defrag is always)",
                "the first touch of a large buffer may take milliseconds on a machine whose memory "
                "is in pieces",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag");
  }
}

void checkObservation(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.ptraceScope > 0) {
    const bool nobody = facts.ptraceScope >= 3;
    report->add(facts.ptraceScope > 1 ? Level::Warning : Level::Note, "ptrace-scope",
                placeText(host.ranks),
                format("a process may not look into another one of the same user "
                       "(kernel.yama.ptrace_scope is %d)",
                       facts.ptraceScope),
                "rondo-status cannot show where a rank's threads stand, nor can a debugger attach",
                nobody ? "kernel.yama.ptrace_scope=0 in /etc/sysctl.d, and a reboot (3 cannot be "
                         "taken back)"
                       : "sysctl -w kernel.yama.ptrace_scope=0, or sudo rondo-status");
  }
  if (kernelBefore(facts.kernel, 5, 3)) {
    report->add(Level::Note, "kernel", placeText(host.ranks),
                format("Linux %s has no descriptors of processes (from 5.3)", facts.kernel.c_str()),
                "the death of a rank is noticed, but not how it ended", "a kernel from 5.3");
  }
}

/// The least limit of the host's ranks; -1: none has one.
int64_t leastLimit(const HostFacts& host, int64_t Facts::*limit) {
  int64_t least = -1;
  for (const Facts* rank : host.ranks) {
    const int64_t value = rank->*limit;
    if (value >= 0 && (least < 0 || value < least)) least = value;
  }
  return least;
}

void checkDescriptors(Report* report, const HostFacts& host) {
  const auto peers = static_cast<int64_t>(host.ranks.size()) - 1;
  // Of the program, of MPI, and three for each peer: segment on arrival, process, MPI's own.
  const int64_t needed = 64 + 3 * peers;
  const int64_t have = leastLimit(host, &Facts::descriptors);
  if (have < 0 || have >= std::max<int64_t>(1024, 2 * needed)) return;
  const bool little = have < needed;
  report->add(
      little ? Level::Error : Level::Warning, "descriptors", placeText(host.ranks),
      format("a process may have %lld open files, and %zu ranks here need about %lld each",
             static_cast<long long>(have), host.ranks.size(), static_cast<long long>(needed)),
      little ? "communicators cannot be made: \"the descriptor of rank 2 did not fit\""
             : "little is left for the program's own files and sockets",
      "ulimit -n 65536 before the job (LimitNOFILE in the batch system's unit)");
}

void checkLocked(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  const int64_t memlock = leastLimit(host, &Facts::memlock);
  if (memlock < 0 || memlock >= 1024 * kMiB) return;
  if (facts.rdmaDevices.empty()) return;  // nothing is locked over TCP and shared memory
  const bool little = memlock < 64 * kMiB;
  report->add(little ? Level::Error : Level::Warning, "memlock", placeText(host.ranks),
              format("a process may lock %lld KiB of memory, and %s needs buffers to be locked",
                     static_cast<long long>(memlock >> 10), facts.rdmaDevices[0].c_str()),
              little ? "UCX cannot use the card, and goes over TCP, at a tenth of its speed, or "
                       "fails"
                     : "registering large buffers fails, and they are copied",
              "ulimit -l unlimited before the job (memlock in /etc/security/limits.d, LimitMEMLOCK "
              "in the batch system's unit)");
}

void checkSharedMemory(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.shmBytes < 0) {
    report->add(Level::Warning, "shared-memory", placeText(host.ranks), "there is no /dev/shm",
                "MPI and UCX put their shared memory there, and fall back on files or TCP (Rondo's "
                "own is anonymous and needs none)",
                "mount -t tmpfs -o size=8G tmpfs /dev/shm");
    return;
  }
  const int64_t needed = 64 * kMiB + 16 * kMiB * static_cast<int64_t>(host.ranks.size());
  if (facts.shmFree >= needed) return;
  report->add(Level::Warning, "shared-memory", placeText(host.ranks),
              format("/dev/shm has %lld MiB, %lld of them free",
                     static_cast<long long>(facts.shmBytes / kMiB),
                     static_cast<long long>(facts.shmFree / kMiB)),
              "MPI and UCX put their shared memory there: a rank may die with SIGBUS when it is "
              "full (Rondo's own is anonymous and not counted there)",
              facts.shmBytes < needed
                  ? "docker run --shm-size=8g (Kubernetes: an emptyDir of medium "
                    "Memory at /dev/shm), or mount -o remount,size=8G /dev/shm"
                  : "remove what jobs that were killed left in /dev/shm");
}

bool isKnown(const std::string& name) {
  const auto named = [&name](const OptionRow& row) { return name == row.name; };
  const auto in = [&named](const auto& rows) {
    return std::any_of(std::begin(rows), std::end(rows), named);
  };
  return in(optionTable()) || in(drop_in::kOptionRows) || in(drop_in::kRehearsalRows) ||
         name.rfind("RONDO_TEST_", 0) == 0;
}

/// Mostly they are misspelt.
void checkNames(Report* report, const Facts& rank) {
  for (const auto& [name, value] : rank.env) {
    if (name.rfind("RONDO_", 0) != 0 || isKnown(name)) continue;
    report->add(Level::Note, "rondo-options", placeText({&rank}),
                name + " is set, which nothing of Rondo reads",
                "if it is another one's name misspelt, that one has its default",
                "see rondo-info --options, or unset " + name);
  }
}

void checkOptions(Report* report, const HostFacts& host) {
  for (const Facts* rank : host.ranks) {
    checkNames(report, *rank);
    const auto bound = rank->env.find("RONDO_SPIN_BOUND_MS");
    if (bound != rank->env.end() && bound->second != "0" && !bound->second.empty()) {
      report->add(Level::Warning, "rondo-options", placeText({rank}),
                  "RONDO_SPIN_BOUND_MS is " + bound->second + ", which is for tests",
                  "a rank that is slower than that ends the communicator with an error",
                  "unset RONDO_SPIN_BOUND_MS");
    }
    const auto stall = rank->env.find("RONDO_STALL_SECONDS");
    if (stall != rank->env.end() && stall->second == "0") {
      report->add(Level::Note, "rondo-options", placeText({rank}), "RONDO_STALL_SECONDS is 0",
                  "nobody says which rank is missing when a job hangs",
                  "unset RONDO_STALL_SECONDS (30)");
    }
  }
}

}  // namespace

void checkSystem(Report* report) {
  for (const char* const check : {"numa-balancing", "huge-pages", "ptrace-scope", "kernel"}) {
    report->begin(check);
  }
  for (const HostFacts& host : byHost(report->ranks())) {
    checkMemoryPolicy(report, host);
    checkObservation(report, host);
  }
}

void checkLimits(Report* report) {
  for (const char* const check : {"descriptors", "memlock", "shared-memory", "rondo-options"}) {
    report->begin(check);
  }
  for (const HostFacts& host : byHost(report->ranks())) {
    checkDescriptors(report, host);
    checkLocked(report, host);
    checkSharedMemory(report, host);
    checkOptions(report, host);
  }
}

}  // namespace rondo::doctor
