// GPUs: whether they reach each other, and what stands in their way.

#include "base/error.h"
#include "doctor/report.h"

namespace rondo::doctor {
namespace {

bool before512(const std::string& kernel) {
  int major = 0, minor = 0;
  return std::sscanf(kernel.c_str(), "%d.%d", &major, &minor) == 2 &&
         (major < 5 || (major == 5 && minor < 12));
}

void checkCopies(Report* report, const HostFacts& host) {
  for (const Facts* rank : host.ranks) {
    for (const PeerPair& pair : rank->pairs) {
      if (pair.verified) continue;
      const std::string gpus = format("GPU %d to GPU %d: ", pair.from, pair.to);
      if (!pair.access) {
        report->add(Level::Warning, "peer-access", placeText({rank}),
                    gpus + "the driver allows no peer access",
                    "communicators whose ranks are on these two have host memory only",
                    "use GPUs under one PCIe switch or with NVLink (rondo-topo shows them)");
        continue;
      }
      report->add(Level::Error, "peer-access", placeText({rank}),
                  gpus + "a copy did not arrive as it was sent (" + pair.why + ")",
                  "wrong results, or kernels that wait for ever",
                  "turn the IOMMU and PCIe access control off (below), or give the virtual machine "
                  "devices whose peer traffic is let through");
    }
  }
}

void checkIsolation(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.gpus.size() < 2) return;
  if (facts.iommuGroups > 0 && !facts.iommuPassthrough) {
    report->add(Level::Warning, "iommu", placeText(host.ranks),
                format("the IOMMU translates what %zu GPUs send (%d groups, and no iommu=pt on the "
                       "kernel's command line)",
                       facts.gpus.size(), facts.iommuGroups),
                "copies between GPUs over PCIe go through the root complex, at half the speed or "
                "less, and on some boards do not arrive",
                "iommu=pt (or intel_iommu=off, amd_iommu=off) on the kernel's command line, and a "
                "reboot");
  }
  if (!facts.acsBridges.empty()) {
    report->add(
        Level::Warning, "acs", placeText(host.ranks),
        format("access control (ACS) sends requests between devices upwards at %zu PCI "
               "bridges, the first %s",
               facts.acsBridges.size(), facts.acsBridges[0].c_str()),
        "GPUs under one switch reach each other, and their network card, through the root "
        "complex only, at half the speed or less",
        format("setpci -s %s ECAP_ACS+6.w=0000, and the same for the other bridges, at each "
               "boot; or off in the firmware",
               facts.acsBridges[0].c_str()));
  }
}

void checkDirect(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.gpus.empty() || facts.rdmaDevices.empty()) return;
  if (facts.peermem || !before512(facts.kernel)) return;
  report->add(Level::Warning, "gpu-direct", placeText(host.ranks),
              "nvidia_peermem is not loaded, and Linux " + facts.kernel +
                  " cannot share GPU memory with " + facts.rdmaDevices[0] +
                  " as dma-buf either (from 5.12)",
              "what GPUs send to other hosts is copied through host memory",
              "modprobe nvidia_peermem, or a kernel from 5.12 with the open driver");
}

}  // namespace

void checkDevices(Report* report) {
  for (const char* const check : {"peer-access", "iommu", "acs", "gpu-direct"}) {
    report->begin(check);
  }
  for (const HostFacts& host : byHost(report->ranks())) {
    checkCopies(report, host);
    checkIsolation(report, host);
    checkDirect(report, host);
  }
}

}  // namespace rondo::doctor
