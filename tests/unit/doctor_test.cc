// rondo-doctor: every finding, from made-up /proc and /sys trees, and a machine where all is fine.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "doctor/report.h"

namespace rondo::doctor {
namespace {

/// A tree of files that is gone with the object: a machine with 8 CPUs where nothing is wrong,
/// until files are replaced.
class Machine {
 public:
  explicit Machine(const std::string& host = "a") {
    char name[] = "/tmp/rondo-doctor-XXXXXX";
    root_ = mkdtemp(name);
    write("proc/sys/kernel/hostname", host + "\n");
    write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    write("proc/self/status", "Name:\tprogram\nCpus_allowed_list:\t0-7\n");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units\n"
          "Max open files            65536                524288               files\n"
          "Max locked memory         unlimited            unlimited            bytes\n");
    write("sys/devices/system/cpu/online", "0-7\n");
    write("sys/devices/system/node/online", "0-1\n");
    write("proc/sys/kernel/numa_balancing", "0\n");
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    write("sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n");
    write("proc/sys/kernel/yama/ptrace_scope", "0\n");
    write("proc/cmdline", "root=/dev/sda1 quiet\n");
    facts(R"("rondoVersion": 400, "mpiVersion": "Open MPI v4.1.4", "ucxVersion": "1.13.1")");
  }
  ~Machine() { std::filesystem::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Machine& write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return *this;
  }
  /// What no file says: members of a JSON object, added to those before.
  Machine& facts(const std::string& members) {
    members_ += (members_.empty() ? "" : ", ") + members;
    return write("facts.json", R"({"job": true, "shmBytes": 8589934592, "shmFree": 8589934592, )"
                               R"("interfaces": ["eth0"], )" +
                                   members_ + "}");
  }
  Machine& gpu(const std::string& address) {
    write("sys/bus/pci/devices/" + address + "/vendor", "0x10de\n");
    return write("sys/bus/pci/devices/" + address + "/class", "0x030200\n");
  }
  Machine& rdma() { return write("sys/class/infiniband/mlx5_0/fw_ver", "1\n"); }
  Machine& cpus(const std::string& list) {
    return write("proc/self/status", "Cpus_allowed_list:\t" + list + "\n");
  }
  std::string root() const { return root_; }

 private:
  std::string root_, members_;
};

struct Examined {
  std::vector<Facts> ranks;
  std::string text, json;
  int exitCode = -1;
  std::vector<Finding> findings;
};

/// One rank on each of `machines`.
Examined examined(const std::vector<const Machine*>& machines) {
  Examined out;
  for (const Machine* each : machines) {
    out.ranks.push_back(readFacts(each->root()));
    out.ranks.back().rank = static_cast<int>(out.ranks.size()) - 1;
  }
  const Report report = examine(out.ranks);
  out.text = report.text();
  out.json = report.json();
  out.exitCode = report.exitCode();
  out.findings = report.findings();
  return out;
}

/// `check` is the only finding; its text has all `parts`.
void expectOnly(const std::vector<const Machine*>& machines, const char* check, Level level,
                std::initializer_list<const char*> parts) {
  const Examined seen = examined(machines);
  ASSERT_EQ(seen.findings.size(), 1u) << seen.text;
  const Finding& finding = seen.findings[0];
  EXPECT_STREQ(finding.check, check) << seen.text;
  EXPECT_EQ(finding.level, level) << seen.text;
  EXPECT_EQ(seen.exitCode, level == Level::Error ? 2 : level == Level::Warning ? 1 : 0);
  for (const std::string& part : {finding.what, finding.cost, finding.remedy, finding.where}) {
    EXPECT_FALSE(part.empty()) << seen.text;
  }
  for (const char* const part : parts) {
    EXPECT_NE(seen.text.find(part), std::string::npos) << "no \"" << part << "\" in " << seen.text;
  }
  const nlohmann::json json = nlohmann::json::parse(seen.json);
  EXPECT_EQ(json["findings"][0]["check"], check);
  EXPECT_EQ(json["findings"][0]["remedy"], finding.remedy);
  EXPECT_EQ(json["exitCode"], seen.exitCode);
  const auto& fine = json["fine"];
  EXPECT_EQ(std::count(fine.begin(), fine.end(), check), 0);
}

TEST(Doctor, NothingIsWrong) {
  const Machine one, other;
  const Examined seen = examined({&one, &other});
  EXPECT_EQ(seen.exitCode, 0) << seen.text;
  EXPECT_TRUE(seen.findings.empty()) << seen.text;
  EXPECT_NE(seen.text.find("rondo-doctor: 2 ranks on 1 host"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("0 errors, 0 warnings, 0 notes; fine: cpu-binding"), std::string::npos);
}

TEST(Doctor, AnEmptyTreeIsNotFollowedByGuesses) {
  Machine machine;
  for (const char* const dir : {"proc", "sys"}) {
    std::filesystem::remove_all(machine.root() + "/" + dir);
  }
  const Examined seen = examined({&machine});
  EXPECT_TRUE(seen.findings.empty()) << seen.text;
}

TEST(Doctor, OneCpuForARankAndItsThread) {
  Machine machine;
  machine.cpus("3");
  expectOnly({&machine}, "cpu-binding", Level::Warning,
             {"rank 0 (host a)", "one CPU only", "PE=2"});
  machine.write("sys/devices/system/cpu/online", "3\n");
  expectOnly({&machine}, "cpu-binding", Level::Note, {"fewer ranks"});
}

TEST(Doctor, RanksOnTheSameCpu) {
  Machine one, other;
  one.cpus("2");
  other.cpus("2");
  const Examined seen = examined({&one, &other});
  EXPECT_NE(seen.text.find("cpu-sharing: ranks 0-1 (host a)"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("though the host has 8"), std::string::npos) << seen.text;
}

TEST(Doctor, MoreRanksThanCpus) {
  Machine one, two, three;
  const std::vector<const Machine*> all{&one, &two, &three};
  for (Machine* each : {&one, &two, &three}) each->cpus("0-1");
  const Examined spinning = examined(all);
  EXPECT_EQ(spinning.findings.size(), 2u) << spinning.text;
  EXPECT_NE(spinning.text.find("3 ranks may run on 2 CPUs"), std::string::npos) << spinning.text;
  EXPECT_NE(spinning.text.find("--mca mpi_yield_when_idle 1"), std::string::npos);
  one.write("etc/openmpi/openmpi-mca-params.conf", "# comment\nmpi_yield_when_idle = 1\n");
  expectOnly(all, "oversubscription", Level::Warning, {"fewer ranks"});
}

TEST(Doctor, YieldingWithoutNeed) {
  Machine machine;
  machine.facts(R"("env": {"OMPI_MCA_mpi_yield_when_idle": "1"})");
  expectOnly({&machine}, "yield-when-idle", Level::Note, {"--mca mpi_yield_when_idle 0"});
}

TEST(Doctor, QuotasOfControlGroups) {
  Machine machine;
  machine.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");  // of the group above
  expectOnly({&machine}, "cpu-quota", Level::Warning,
             {"1.50 CPUs' worth", "/sys/fs/cgroup/user/cpu.max", "--cpus 2"});
  machine.write("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
  expectOnly({&machine}, "cpu-quota", Level::Error, {"0.50 CPUs", "user/job/cpu.max"});
  Machine old;
  old.write("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/slice\n");
  old.write("sys/fs/cgroup/cpu,cpuacct/slice/cpu.cfs_quota_us", "40000\n");
  old.write("sys/fs/cgroup/cpu,cpuacct/slice/cpu.cfs_period_us", "100000\n");
  expectOnly({&old}, "cpu-quota", Level::Error, {"0.40 CPUs", "cpu.cfs_quota_us"});
}

TEST(Doctor, KernelSettings) {
  Machine numa, huge, watched, closed, old;
  numa.write("proc/sys/kernel/numa_balancing", "1\n");
  expectOnly({&numa}, "numa-balancing", Level::Warning, {"sysctl -w kernel.numa_balancing=0"});
  huge.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  huge.write("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never\n");
  expectOnly({&huge}, "huge-pages", Level::Warning, {"transparent_hugepage/defrag"});
  watched.write("proc/sys/kernel/yama/ptrace_scope", "1\n");
  expectOnly({&watched}, "ptrace-scope", Level::Note, {"rondo-status", "ptrace_scope=0"});
  closed.write("proc/sys/kernel/yama/ptrace_scope", "3\n");
  expectOnly({&closed}, "ptrace-scope", Level::Warning, {"reboot"});
  old.write("proc/sys/kernel/osrelease", "4.18.0-553.el8.x86_64\n");
  expectOnly({&old}, "kernel", Level::Note, {"Linux 4.18", "from 5.3"});
}

TEST(Doctor, LimitsOfAProcess) {
  const auto limits = [](const char* files, const char* locked) {
    return std::string("Max open files            ") + files +
           "   4096   files\nMax locked memory         " + locked + "   65536   bytes\n";
  };
  Machine few, none, locked, half;
  few.write("proc/self/limits", limits("256", "unlimited"));
  expectOnly({&few}, "descriptors", Level::Warning, {"256 open files", "ulimit -n 65536"});
  none.write("proc/self/limits", limits("48", "unlimited"));
  expectOnly({&none}, "descriptors", Level::Error, {"48 open files", "did not fit"});
  locked.write("proc/self/limits", limits("65536", "65536"));
  EXPECT_EQ(examined({&locked}).exitCode, 0) << "nothing is locked without a card";
  locked.rdma();
  expectOnly({&locked}, "memlock", Level::Error, {"64 KiB", "mlx5_0", "ulimit -l unlimited"});
  half.write("proc/self/limits", limits("65536", "134217728")).rdma();
  expectOnly({&half}, "memlock", Level::Warning, {"131072 KiB"});
}

TEST(Doctor, SharedMemory) {
  Machine small, full, none;
  small.facts(R"("shmBytes": 67108864, "shmFree": 67108864)");
  expectOnly({&small}, "shared-memory", Level::Warning, {"has 64 MiB, 64 of them", "--shm-size"});
  full.facts(R"("shmBytes": 8589934592, "shmFree": 1048576)");
  expectOnly({&full}, "shared-memory", Level::Warning, {"1 of them free", "remove what jobs"});
  none.facts(R"("shmBytes": -1)");
  expectOnly({&none}, "shared-memory", Level::Warning, {"there is no /dev/shm", "mount -t tmpfs"});
}

TEST(Doctor, OptionsOfRondo) {
  Machine bound, silent;
  bound.facts(R"("env": {"RONDO_SPIN_BOUND_MS": "500"})");
  expectOnly({&bound}, "rondo-options", Level::Warning, {"RONDO_SPIN_BOUND_MS is 500", "unset"});
  silent.facts(R"("env": {"RONDO_STALL_SECONDS": "0"})");
  expectOnly({&silent}, "rondo-options", Level::Note, {"RONDO_STALL_SECONDS is 0"});
  Machine misspelt, good;
  misspelt.facts(R"("env": {"RONDO_TUNEE": "x"})");
  expectOnly({&misspelt}, "rondo-options", Level::Note,
             {"RONDO_TUNEE is set, which nothing of Rondo reads", "rondo-info --options"});
  good.facts(R"("env": {"RONDO_TUNE": "", "RONDO_MPI": "both", "RONDO_VIRTUAL_OUT": "x"})");
  EXPECT_EQ(examined({&good}).exitCode, 0);
}

TEST(Doctor, CopiesBetweenGpus) {
  Machine broken, apart, good;
  broken.facts(
      R"("pairs": [{"from": 0, "to": 1, "access": true, "why": "other bytes were there"}])");
  expectOnly({&broken}, "peer-access", Level::Error, {"GPU 0 to GPU 1", "other bytes were there"});
  apart.facts(R"("pairs": [{"from": 1, "to": 0, "access": false}])");
  expectOnly({&apart}, "peer-access", Level::Warning, {"GPU 1 to GPU 0", "no peer access"});
  good.facts(R"("pairs": [{"from": 0, "to": 1, "access": true, "verified": true}])");
  EXPECT_EQ(examined({&good}).exitCode, 0);
  Machine failed;
  failed.facts(R"("pairs": [{"from": 0, "to": 1, "why": "cuMemAlloc: out of memory"}])");
  expectOnly({&failed}, "peer-access", Level::Warning,
             {"GPU 0 to GPU 1: no copy could be tried (cuMemAlloc: out of memory)"});
}

TEST(Doctor, CopiesThatNobodyCouldTryAreNotFine) {
  Machine machine;
  machine.gpu("0000:17:00.0").gpu("0000:65:00.0");
  const std::string driver = "NVIDIA UNIX Open Kernel Module for x86_64  580.65.06\n";
  machine.write("proc/driver/nvidia/version", driver);
  expectOnly({&machine}, "peer-access", Level::Note, {"2 GPUs", "CUDA_VISIBLE_DEVICES"});
  Machine seen("a");
  seen.write("proc/driver/nvidia/version", driver);
  seen.facts(R"("pairs": [{"from": 0, "to": 1, "access": true, "verified": true}])");
  EXPECT_TRUE(examined({&machine, &seen}).findings.empty()) << "another rank of the host tried";
}

TEST(Doctor, WhatStandsBetweenGpus) {
  Machine machine;
  machine.gpu("0000:17:00.0").gpu("0000:65:00.0");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
  machine.write("sys/kernel/iommu_groups/0/type", "DMA\n");
  expectOnly({&machine}, "iommu", Level::Warning, {"2 GPUs", "1 groups", "iommu=pt"});
  machine.write("proc/cmdline", "quiet iommu=pt\n");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
  // A bridge whose second extended capability is access control, with redirection on.
  std::string config(4096, '\0');
  const auto put = [&config](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) config[at + i] = static_cast<char>(value >> (8 * i));
  };
  put(0x100, 0x14810001);
  put(0x148, 0x0001000d);
  put(0x14c, 0x001d005f);
  machine.write("sys/bus/pci/devices/0000:16:00.0/class", "0x060400\n");
  machine.write("sys/bus/pci/devices/0000:16:00.0/config", config);
  expectOnly({&machine}, "acs", Level::Warning,
             {"1 PCI bridges, the first 0000:16:00.0", "setpci -s 0000:16:00.0 ECAP_ACS+6.w=0000"});
  machine.write("sys/bus/pci/devices/0000:16:00.0/config", config.substr(0, 64));
  expectOnly({&machine}, "acs", Level::Note, {"root only", "sudo rondo-doctor"});
  put(0x14c, 0x0001005f);  // source validation alone redirects nothing
  machine.write("sys/bus/pci/devices/0000:16:00.0/config", config);
  EXPECT_EQ(examined({&machine}).exitCode, 0);
}

TEST(Doctor, GpuMemoryForNetworkCards) {
  Machine machine;
  machine.gpu("0000:17:00.0").rdma().write("proc/sys/kernel/osrelease", "5.10.0-8\n");
  expectOnly({&machine}, "gpu-direct", Level::Warning,
             {"nvidia_peermem is not loaded", "Linux 5.10.0-8", "modprobe nvidia_peermem"});
  const std::string kernel = "proc/sys/kernel/osrelease", driver = "proc/driver/nvidia/version";
  machine.write(kernel, "6.1.0-18\n");
  EXPECT_EQ(examined({&machine}).exitCode, 0) << "nothing is known of the driver";
  machine.write(driver, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06\n");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
  machine.write(driver, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
  expectOnly({&machine}, "gpu-direct", Level::Warning,
             {"the driver 550.54.15 cannot share", "mlx5_0", "not the open ones"});
  machine.write("proc/modules", "nvidia_peermem 16384 0 - Live 0x0\n");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
}

TEST(Doctor, RanksThatDiffer) {
  Machine one("a"), other("b");
  other.facts(R"("rondoVersion": 300)");
  expectOnly({&one, &other}, "rondo-version", Level::Error,
             {"rank 0 (host a): 0.4.0", "rank 1 (host b): 0.3.0"});
  // What counts is the library that a job finds, which may be another than the doctor's.
  const char* const library = R"("libraryVersion": 400, "libraryPath": "/opt/librondo.so.0")";
  other.facts(library);
  expectOnly({&one, &other}, "rondo-version", Level::Warning,
             {"rank 1 (host b)", "programs run with Rondo 0.4.0 (/opt/librondo.so.0)",
              "this rondo-doctor is of 0.3.0", "LD_LIBRARY_PATH"});
  Machine newer("c");
  newer.facts(R"("rondoVersion": 500)").facts(library);
  one.facts(library);
  expectOnly({&one, &newer}, "rondo-version", Level::Warning,
             {"rank 1 (host c)", "0.4.0", "0.5.0"});
  Machine mpi("b");
  mpi.facts(R"("mpiVersion": "Open MPI v5.0.1")");
  expectOnly({&one, &mpi}, "mpi-version", Level::Error, {"Open MPI v4.1.4", "Open MPI v5.0.1"});
  Machine ucx("b");
  ucx.facts(R"("ucxVersion": "1.16.0")");
  expectOnly({&one, &ucx}, "ucx-version", Level::Warning, {"1.13.1", "1.16.0"});
  Machine driver("b");
  one.write("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
  driver.write("proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n");
  expectOnly({&one, &driver}, "driver-version", Level::Warning, {"550.54.15", "580.65.06"});
}

TEST(Doctor, SettingsOfOpenMpi) {
  Machine machine;
  const std::string ofi = "usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_ofi.so";
  const std::string params = "etc/openmpi/openmpi-mca-params.conf";
  machine.write(ofi, "");
  expectOnly({&machine}, "ompi-btl-ofi", Level::Warning, {"one second in MPI_Finalize", "^ofi"});
  machine.write(params, "btl = ^uct,openib,ofi\n");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
  machine.facts(R"("env": {"OMPI_MCA_btl": "self,vader,ofi"})");  // goes before the file
  expectOnly({&machine}, "ompi-btl-ofi", Level::Warning, {});
  machine.facts(R"("env": {"OMPI_MCA_btl": "self,vader"})");
  EXPECT_EQ(examined({&machine}).exitCode, 0);
  machine.rdma().write(params, "pml = ^ucx\n");
  expectOnly({&machine}, "ompi-pml", Level::Warning,
             {"pml is \"^ucx\"", "mlx5_0", "--mca pml ucx"});
  Machine alone;
  alone.write(ofi, "").facts(R"("job": false)");
  EXPECT_EQ(examined({&alone}).exitCode, 0) << "not started by mpirun: its settings are unknown";
}

TEST(Doctor, SettingsOfTheUserGoBeforeTheMachines) {
  Machine machine, home;
  machine.write("etc/openmpi/openmpi-mca-params.conf", "btl = ^ofi\npml = ob1\n");
  Facts facts = readFacts(machine.root());
  home.write(".openmpi/mca-params.conf", "# mine\nbtl = self,ofi\n");
  readUserParams(home.root(), &facts);
  EXPECT_EQ(facts.ompiParams["btl"], "self,ofi");
  EXPECT_EQ(facts.ompiParams["pml"], "ob1");
  readUserParams(machine.root(), &facts);  // has none
  EXPECT_EQ(facts.ompiParams["btl"], "self,ofi");
}

TEST(Doctor, WaysBetweenHosts) {
  Machine one("a"), other("b");
  one.facts(R"("reach": [{"to": "b", "address": "10.0.0.2 port 4000", "ok": true}])");
  other.facts(
      R"("reach": [{"to": "a", "address": "10.0.0.1 port 4001", "why": "No route to host"}])");
  expectOnly({&one, &other}, "reachability", Level::Error,
             {"rank 1 (host b)",
              "host a cannot be reached at 10.0.0.1 port 4001 (No route to host)", "RONDO_NET_IF"});
  Machine lonely("c");
  lonely.facts(R"("interfaces": [])");
  expectOnly({&one, &lonely}, "interfaces", Level::Error, {"rank 1 (host c)", "loopback"});
}

TEST(Doctor, FactsSurviveTheirJourney) {
  Machine machine;
  machine.gpu("0000:17:00.0")
      .rdma()
      .facts(R"("pairs": [{"from": 3, "to": 1, "access": true, "why": "x"}])")
      .facts(R"("env": {"UCX_TLS": "tcp"})");
  const nlohmann::json sent = readFacts(machine.root());
  const auto received = nlohmann::json::parse(sent.dump()).get<Facts>();
  EXPECT_EQ(nlohmann::json(received), sent);
  EXPECT_EQ(received.pairs[0].from, 3);
  EXPECT_EQ(received.rdmaDevices, std::vector<std::string>{"mlx5_0"});
  machine.write("facts.json", "{ nonsense");
  EXPECT_THROW(readFacts(machine.root()), std::exception);
}

}  // namespace
}  // namespace rondo::doctor
