// What this host says about itself.

#include "topo/node_facts.h"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "support/quiet_fork.h"
#include "tests/unit/boot_ranks.h"

namespace {

std::atomic<int> bindings{0};

}  // namespace

// Counts them, in this program: hwloc's too.
extern "C" int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t* cpus) noexcept {
  ++bindings;
  return static_cast<int>(syscall(SYS_sched_setaffinity, thread, bytes, cpus));
}

namespace rondo::test {
namespace {

TEST(NodeFacts, CountsFitTogether) {
  const NodeFacts facts = readNodeFacts();
  EXPECT_GE(facts.packages, 1u);
  EXPECT_GE(facts.numaNodes, 1u);
  EXPECT_GE(facts.cores, facts.packages);
  EXPECT_GE(facts.hwThreads, facts.cores);
  EXPECT_LE(facts.hwThreads, static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_TRUE(facts.l2Bytes == 0 || facts.l2Bytes >= 64u << 10);
  EXPECT_TRUE(facts.l3Bytes == 0 || facts.l3Bytes >= facts.l2Bytes);
}

// The thread that makes a communicator may be one of many ranks', each on a CPU of its own.
TEST(NodeFacts, MoveNoThread) {
#if HWLOC_API_VERSION < 0x00020100
  GTEST_SKIP() << "this hwloc asks the CPUs in any case";
#endif
  if (access("/sys/devices/system/cpu/cpu0/cache/index2/size", R_OK) != 0) {
    GTEST_SKIP() << "this kernel knows of no second cache, so the CPUs are asked";
  }
  const int before = bindings;
  readNodeFacts();
  EXPECT_EQ(bindings, before);
}

TEST(NodeFacts, TakeMilliseconds) {
  const auto start = std::chrono::steady_clock::now();
  readNodeFacts();
  const auto took = std::chrono::steady_clock::now() - start;
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  RecordProperty("milliseconds", static_cast<int>(millis));
  EXPECT_LT(millis, 500);
}

TEST(AllowedCpus, FollowsTheBinding) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(allowedCpus(), static_cast<uint32_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowedCpus(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(HostId, IsTheSameForAllProcessesOfAHost) {
  const HostId mine = readHostId("");
  EXPECT_EQ(readHostId("").hash, mine.hash);
  EXPECT_NE(mine.hash, 0u);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  EXPECT_EQ(mine.name, name);
  EXPECT_TRUE(endedWell(inProcess(0, [&](int) { return readHostId("").hash == mine.hash; })));
}

TEST(HostId, AnOverrideStandsForAll) {
  const HostId a = readHostId("a"), again = readHostId("a"), b = readHostId("b");
  EXPECT_EQ(a.hash, again.hash);
  EXPECT_NE(a.hash, b.hash);
  EXPECT_NE(a.hash, readHostId("").hash);
  EXPECT_EQ(a.name.rfind("a (set by RONDO_HOSTID", 0), 0u) << a.name;
  EXPECT_EQ(readHostId("a", "config.hostId").name.rfind("a (set by config.hostId, on ", 0), 0u);
  // A host that happens to have the override's text as its name is another one.
  EXPECT_NE(readHostId(readHostId("").name).hash, readHostId("").hash);
}

TEST(HostId, NameSpacesAreHosts) {
  const uint64_t here = readHostId("").hash;
  for (int space : {CLONE_NEWNET, CLONE_NEWIPC}) {
    const pid_t pid = quietFork();
    if (pid == 0) {
      if (unshare(space) != 0) _exit(77);
      _exit(readHostId("").hash != here ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "may not make name spaces here";
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace rondo::test
