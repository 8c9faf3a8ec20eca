// Facts from files: /proc, /sys, Open MPI's settings.

#include <algorithm>
#include <sstream>

#include "base/cpu_list.h"
#include "doctor/facts.h"
#include "doctor/files.h"

namespace rondo::doctor {
namespace {

/// "always [madvise] never": madvise.
std::string chosenWord(const std::string& line) {
  const size_t from = line.find('['), to = line.find(']');
  return from == std::string::npos || to < from ? "" : line.substr(from + 1, to - from - 1);
}

/// The soft limit of a row of /proc/self/limits; -1: unlimited or unknown.
int64_t softLimit(const std::string& limits, const std::string& row) {
  for (const std::string& line : lines(limits)) {
    if (line.rfind(row, 0) != 0) continue;
    std::istringstream in(line.substr(row.size()));
    int64_t value = -1;
    return in >> value ? value : -1;
  }
  return -1;
}

void readCpus(const Tree& tree, Facts* facts) {
  const std::string key = "Cpus_allowed_list:";
  for (const std::string& line : lines(tree.read("proc/self/status"))) {
    if (line.rfind(key, 0) == 0) facts->cpus = parseCpuList(line.substr(key.size()));
  }
  const std::string online = tree.line("sys/devices/system/cpu/online");
  if (!online.empty()) facts->onlineCpus = static_cast<int>(parseCpuList(online).size());
  const std::string nodes = tree.line("sys/devices/system/node/online");
  if (!nodes.empty()) facts->numaNodes = static_cast<int>(parseCpuList(nodes).size());
  facts->numaBalancing = static_cast<int>(tree.number("proc/sys/kernel/numa_balancing", -1));
}

void useQuota(Facts* facts, const std::string& file, double quota, double period) {
  if (quota <= 0 || period <= 0) return;
  const double cpus = quota / period;
  if (facts->quotaCpus > 0 && facts->quotaCpus <= cpus) return;
  facts->quotaCpus = cpus;
  facts->quotaFile = "/" + file;
}

/// The least of the quotas on the way from this process's control group up.
void readQuota(const Tree& tree, Facts* facts) {
  for (const std::string& line : lines(tree.read("proc/self/cgroup"))) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string mount = v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/" + controllers;
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (!path.empty() && path.back() == '/') path.pop_back();
      const std::string dir = mount + path + "/";
      if (v2) {
        std::istringstream in(tree.line(dir + "cpu.max"));
        double quota = 0, period = 0;
        if (in >> quota >> period) useQuota(facts, dir + "cpu.max", quota, period);
      } else {
        useQuota(facts, dir + "cpu.cfs_quota_us",
                 static_cast<double>(tree.number(dir + "cpu.cfs_quota_us", -1)),
                 static_cast<double>(tree.number(dir + "cpu.cfs_period_us", -1)));
      }
      if (path.empty()) break;
    }
  }
}

uint32_t word(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

/// Whether a PCI bridge's configuration space says that access control redirects requests between
/// its devices (PCI Express, extended capability 0x0d: request redirect, completion redirect).
bool redirects(const std::string& config) {
  constexpr uint32_t kAcs = 0x0d, kRedirect = 0x04 | 0x08;
  constexpr size_t kFirst = 0x100, kMost = 64;
  size_t at = kFirst;
  for (size_t i = 0; i < kMost && at >= kFirst && at + 8 <= config.size(); ++i) {
    const uint32_t header = word(config, at);
    if ((header & 0xffff) == kAcs) return (word(config, at + 4) >> 16 & kRedirect) != 0;
    at = header >> 20;
  }
  return false;
}

void readPci(const Tree& tree, Facts* facts) {
  const std::string devices = "sys/bus/pci/devices/";
  for (const std::string& name : tree.list(devices)) {
    const std::string type = tree.line(devices + name + "/class");
    const bool gpu = type.rfind("0x0302", 0) == 0 || type.rfind("0x0300", 0) == 0;
    if (gpu && tree.line(devices + name + "/vendor") == "0x10de") facts->gpus.push_back(name);
    if (type.rfind("0x0604", 0) != 0) continue;
    constexpr size_t kShownToAnybody = 64;
    const std::string config = tree.read(devices + name + "/config");
    facts->acsUnread |= config.size() == kShownToAnybody;
    if (redirects(config)) facts->acsBridges.push_back(name);
  }
  facts->iommuGroups = static_cast<int>(tree.list("sys/kernel/iommu_groups").size());
  const std::string commands = " " + tree.line("proc/cmdline") + " ";
  facts->iommuPassthrough = commands.find(" iommu=pt ") != std::string::npos ||
                            commands.find(" iommu.passthrough=1 ") != std::string::npos;
}

void readDrivers(const Tree& tree, Facts* facts) {
  const std::string driver = tree.line("proc/driver/nvidia/version");
  facts->openDriver = driver.find("Open Kernel Module") != std::string::npos;
  std::istringstream version(driver);
  for (std::string part; version >> part;) {
    if (part.find('.') != std::string::npos && part[0] >= '0' && part[0] <= '9') {
      facts->nvidiaDriver = part;
      break;
    }
  }
  for (const std::string& line : lines(tree.read("proc/modules"))) {
    facts->peermem |= line.rfind("nvidia_peermem ", 0) == 0;
  }
  facts->rdmaDevices = tree.list("sys/class/infiniband");
}

/// "name = value" lines; those that come later win.
void readParams(const std::string& text, std::map<std::string, std::string>* params) {
  const auto trimmed = [](std::string part) {
    const char* const blank = " \t\r";
    part.erase(0, part.find_first_not_of(blank));
    part.resize(part.find_last_not_of(blank) + 1);
    return part;
  };
  for (const std::string& line : lines(text)) {
    const size_t equals = line.find('=');
    const std::string name = trimmed(line.substr(0, equals));
    if (equals == std::string::npos || name.empty() || name[0] == '#') continue;
    (*params)[name] = trimmed(line.substr(equals + 1));
  }
}

void readOpenMpi(const Tree& tree, Facts* facts) {
  for (const std::string& library : tree.list("usr/lib")) {
    facts->ofiComponent |=
        tree.exists("usr/lib/" + library + "/openmpi/lib/openmpi3/mca_btl_ofi.so");
  }
  for (const char* const place :
       {"usr/lib/openmpi", "usr/lib64/openmpi", "usr/local/lib/openmpi"}) {
    facts->ofiComponent |= tree.exists(std::string(place) + "/mca_btl_ofi.so");
  }
  readParams(tree.read("etc/openmpi/openmpi-mca-params.conf"), &facts->ompiParams);
}

}  // namespace

void readUserParams(const std::string& home, Facts* facts) {
  readParams(Tree(home).read(".openmpi/mca-params.conf"), &facts->ompiParams);
}

Facts readFacts(const std::string& root) {
  const Tree tree(root);
  Facts facts;
  facts.host = tree.line("proc/sys/kernel/hostname");
  facts.kernel = tree.line("proc/sys/kernel/osrelease");
  readCpus(tree, &facts);
  readQuota(tree, &facts);
  const std::string limits = tree.read("proc/self/limits");
  facts.memlock = softLimit(limits, "Max locked memory");
  facts.descriptors = softLimit(limits, "Max open files");
  facts.hugePages = chosenWord(tree.line("sys/kernel/mm/transparent_hugepage/enabled"));
  facts.hugePagesDefrag = chosenWord(tree.line("sys/kernel/mm/transparent_hugepage/defrag"));
  facts.ptraceScope = static_cast<int>(tree.number("proc/sys/kernel/yama/ptrace_scope", -1));
  readPci(tree, &facts);
  readDrivers(tree, &facts);
  readOpenMpi(tree, &facts);
  const std::string given = tree.read("facts.json");
  if (!given.empty()) nlohmann::json::parse(given).get_to(facts);
  return facts;
}

}  // namespace rondo::doctor
