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

/// Where each rank is shown one GPU, as launchers do it, there is nothing to copy between.
void checkUntried(Report* report, const HostFacts& host) {
  const Facts& facts = *host.facts;
  if (facts.gpus.size() < 2 || facts.nvidiaDriver.empty()) return;
  for (const Facts* rank : host.ranks) {
    if (!rank->pairs.empty()) return;
  }
  report->add(Level::Note, "peer-access", placeText(host.ranks),
              format("%zu GPUs are here, but none of these processes may use two of them, so that "
                     "no copy was tried",
                     facts.gpus.size()),
              "copies that do not arrive would not be found",
              "run it without CUDA_VISIBLE_DEVICES");
}

void checkCopies(Report* report, const HostFacts& host) {
  for (const Facts* rank : host.ranks) {
    for (const PeerPair& pair : rank->pairs) {
      if (pair.verified) continue;
      const std::string gpus = format("GPU %d to GPU %d: ", pair.from, pair.to);
      if (!pair.access && !pair.why.empty()) {
        report->add(Level::Warning, "peer-access", placeText({rank}),
                    gpus + "no copy could be tried (" + pair.why + ")",
                    "whether they reach each other is not known; communicators on a GPU that "
                    "cannot be used have host memory only",
                    "nvidia-smi shows whose processes and what fault it has; then again");
        continue;
      }
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
  if (facts.acsUnread) {
    report->add(Level::Note, "acs", placeText(host.ranks),
                "what PCI bridges do with requests between devices is shown to root only",
                "access control that slows copies between GPUs would not be found",
                "sudo rondo-doctor");
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
  const bool old = before512(facts.kernel);
  // Without /proc/driver/nvidia nothing is known of the driver.
  const bool closed = !facts.nvidiaDriver.empty() && !facts.openDriver;
  if (facts.peermem || (!old && !closed)) return;
  const std::string who = old ? "Linux " + facts.kernel : "the driver " + facts.nvidiaDriver;
  report->add(Level::Warning, "gpu-direct", placeText(host.ranks),
              "nvidia_peermem is not loaded, and " + who + " cannot share GPU memory with " +
                  facts.rdmaDevices[0] + " as dma-buf either (" +
                  (old ? "from 5.12)" : "its kernel modules are not the open ones)"),
              "what GPUs send to other hosts is copied through host memory",
              "modprobe nvidia_peermem, or a kernel from 5.12 with the open driver");
}

}  // namespace

void checkDevices(Report* report) {
  for (const char* const check : {"peer-access", "iommu", "acs", "gpu-direct"}) {
    report->begin(check);
  }
  for (const HostFacts& host : byHost(report->ranks())) {
    checkUntried(report, host);
    checkCopies(report, host);
    checkIsolation(report, host);
    checkDirect(report, host);
  }
}

}  // namespace rondo::doctor
