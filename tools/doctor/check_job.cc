// What must be alike on all ranks, Open MPI's settings, and ways between hosts.

#include <map>

#include "base/error.h"
#include "doctor/report.h"
#include "found_library.h"

namespace rondo::doctor {
namespace {

std::string param(const Facts& facts, const std::string& name) {
  if (const auto at = facts.env.find("OMPI_MCA_" + name); at != facts.env.end()) return at->second;
  const auto at = facts.ompiParams.find(name);
  return at == facts.ompiParams.end() ? "" : at->second;
}

/// Of the library that a job would run with; where the loader finds none, a program knows where
/// its own is, of which the doctor's is the best guess.
int jobsVersion(const Facts& facts) {
  return facts.libraryVersion != 0 ? facts.libraryVersion : facts.rondoVersion;
}

void checkLibrary(Report* report, const HostFacts& host) {
  std::vector<const Facts*> others;
  for (const Facts* rank : host.ranks) {
    if (jobsVersion(*rank) != rank->rondoVersion) others.push_back(rank);
  }
  if (others.empty()) return;
  const Facts& first = *others.front();
  report->add(Level::Warning, "rondo-version", placeText(others),
              format("programs run with Rondo %s (%s), and this rondo-doctor is of %s",
                     versionText(first.libraryVersion).c_str(), first.libraryPath.c_str(),
                     versionText(first.rondoVersion).c_str()),
              "what the tools say of options, costs and choices need not hold for the job",
              "the tools of the same installation (PATH), or its library (LD_LIBRARY_PATH)");
}

/// One finding if `valueOf` differs between ranks; "" counts as a value.
template <class ValueOf>
void mustAgree(Report* report, Level level, const char* check, const char* subject,
               const char* cost, const char* remedy, ValueOf valueOf) {
  std::map<std::string, std::vector<const Facts*>> ranks;
  for (const Facts& each : report->ranks()) ranks[valueOf(each)].push_back(&each);
  if (ranks.size() < 2) return;
  std::string values;
  std::vector<const Facts*> all;
  for (const auto& [value, who] : ranks) {
    values +=
        (values.empty() ? "" : "; ") + placeText(who) + ": " + (value.empty() ? "none" : value);
  }
  for (const Facts& each : report->ranks()) all.push_back(&each);
  report->add(level, check, placeText(all), std::string(subject) + " differs: " + values, cost,
              remedy);
}

/// "^a,b" excludes, "a,b" includes only.
bool allows(const std::string& list, const std::string& component) {
  const bool excludes = list.rfind('^', 0) == 0;
  const std::string padded = "," + list.substr(excludes ? 1 : 0) + ",";
  return list.empty() || excludes != (padded.find("," + component + ",") != std::string::npos);
}

void checkComponents(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (!facts.job) return;
  if (facts.ofiComponent && allows(param(facts, "btl"), "ofi")) {
    report->add(Level::Warning, "ompi-btl-ofi", placeText(host.ranks),
                "Open MPI loads its btl/ofi component, though nothing here needs it",
                "one second in MPI_Finalize of every job",
                "mpirun --mca btl ^ofi,openib (or btl = ^ofi,openib in openmpi-mca-params.conf)");
  }
  const std::string pml = param(facts, "pml");
  if (!facts.rdmaDevices.empty() && !allows(pml, "ucx")) {
    report->add(Level::Warning, "ompi-pml", placeText(host.ranks),
                format("Open MPI may not use pml/ucx (pml is \"%s\"), though there is %s",
                       pml.c_str(), facts.rdmaDevices[0].c_str()),
                "MPI's own messages between hosts go over TCP or the retired openib component",
                "mpirun --mca pml ucx");
  }
}

}  // namespace

void checkVersions(Report* report) {
  for (const char* const check :
       {"rondo-version", "mpi-version", "ucx-version", "driver-version"}) {
    report->begin(check);
  }
  mustAgree(report, Level::Error, "rondo-version", "the version of Rondo",
            "no communicator can be made of these ranks",
            "the same librondo on all hosts (LD_LIBRARY_PATH on each; ldd shows which)",
            [](const Facts& f) { return versionText(jobsVersion(f)); });
  for (const HostFacts& host : byHost(report->ranks())) checkLibrary(report, host);
  mustAgree(report, Level::Error, "mpi-version", "the version of MPI",
            "MPI may hang or crash at any call", "the same MPI on all hosts, mpirun's own",
            [](const Facts& f) { return f.mpiVersion; });
  mustAgree(report, Level::Warning, "ucx-version", "the version of UCX",
            "hosts may fail to connect: what one version tells of its devices another may not read",
            "the same UCX on all hosts (ldd librondo.so shows which)",
            [](const Facts& f) { return f.ucxVersion; });
  mustAgree(report, Level::Warning, "driver-version", "the NVIDIA driver",
            "functions of the newer one are not there on all hosts, and speeds differ",
            "the same driver on all hosts", [](const Facts& f) { return f.nvidiaDriver; });
}

void checkMpi(Report* report) {
  report->begin("ompi-btl-ofi");
  report->begin("ompi-pml");
  for (const HostFacts& host : byHost(report->ranks())) checkComponents(report, host);
}

void checkNetwork(Report* report) {
  report->begin("interfaces");
  report->begin("reachability");
  const std::vector<HostFacts> hosts = byHost(report->ranks());
  for (const HostFacts& host : hosts) {
    if (hosts.size() > 1 && host.facts->interfaces.empty()) {
      report->add(Level::Error, "interfaces", placeText(host.ranks),
                  "no network interface but the loopback is up and has an address",
                  "no other host can be reached", "ip link set DEVICE up; ip addr show");
    }
    for (const Reach& reach : host.facts->reach) {
      if (reach.ok) continue;
      report->add(Level::Error, "reachability", placeText({host.facts}),
                  format("host %s cannot be reached at %s (%s)", reach.to.c_str(),
                         reach.address.c_str(), reach.why.c_str()),
                  "communicators over these two hosts cannot be made",
                  "RONDO_NET_IF and UCX_NET_DEVICES choose a network that both are on; a firewall "
                  "must let the hosts of a job connect to each other's ephemeral ports");
    }
  }
}

}  // namespace rondo::doctor
