// Which ranks lie close together: from bindings on machines of all kinds, and by a user's word.

#include "topo/near_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace rondo {
namespace {

using Groups = std::vector<int>;

cpu_set_t cpus(int first, int last) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu = first; cpu <= last; ++cpu) CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

/// Two packages of two NUMA nodes of two L3 caches of four CPUs: 32 CPUs.
CpuPlaces machine() {
  CpuPlaces places;
  std::fill_n(&places.at[0][0], sizeof places.at, CpuPlaces::kNowhere);
  for (int cpu = 0; cpu < 32; ++cpu) {
    places.at[static_cast<int>(Near::L3)][cpu] = static_cast<uint8_t>(cpu / 4);
    places.at[static_cast<int>(Near::Numa)][cpu] = static_cast<uint8_t>(cpu / 8);
    places.at[static_cast<int>(Near::Package)][cpu] = static_cast<uint8_t>(cpu / 16);
  }
  return places;
}

/// One number for each group, in the order of their first ranks.
Groups numbered(const Groups& groups) {
  Groups seen, out;
  for (const int group : groups) {
    auto at = std::find(seen.begin(), seen.end(), group);
    if (at == seen.end()) at = seen.insert(at, group);
    out.push_back(static_cast<int>(at - seen.begin()));
  }
  return out;
}

Groups near(const std::vector<cpu_set_t>& bindings, const char* wish = "") {
  return numbered(
      nearGroups(parseGroups(wish, static_cast<int>(bindings.size())), bindings, machine()));
}

TEST(NearGroups, TheNearestLevelThatTellsRanksApart) {
  EXPECT_EQ(near({cpus(0, 0), cpus(1, 1), cpus(4, 4), cpus(5, 5)}), (Groups{0, 0, 1, 1})) << "L3";
  EXPECT_EQ(near({cpus(0, 0), cpus(4, 4), cpus(8, 8), cpus(12, 12)}), (Groups{0, 0, 1, 1}))
      << "one rank an L3: NUMA nodes";
  EXPECT_EQ(near({cpus(0, 0), cpus(8, 8), cpus(16, 16), cpus(24, 24)}), (Groups{0, 0, 1, 1}))
      << "one rank a NUMA node: packages";
  EXPECT_EQ(near({cpus(16, 16), cpus(0, 0), cpus(17, 17), cpus(1, 1)}), (Groups{0, 1, 0, 1}));
}

TEST(NearGroups, WideBindingsCountWhereTheyFit) {
  EXPECT_EQ(near({cpus(0, 15), cpus(0, 15), cpus(16, 31), cpus(16, 31)}), (Groups{0, 0, 1, 1}))
      << "bound to packages";
  EXPECT_EQ(near({cpus(0, 7), cpus(8, 15), cpus(0, 7), cpus(8, 15)}), (Groups{0, 1, 0, 1}))
      << "bound to NUMA nodes";
}

TEST(NearGroups, UnboundRanksAreOneGroup) {
  EXPECT_EQ(near({cpus(0, 31), cpus(0, 31), cpus(0, 31)}), (Groups{0, 0, 0}));
  EXPECT_EQ(near({cpus(0, 31), cpus(4, 4), cpus(0, 31), cpus(5, 5)}), (Groups{0, 1, 0, 1}));
  EXPECT_EQ(near({cpus(40, 41), cpus(40, 41)}), (Groups{0, 0})) << "CPUs that hwloc has not seen";
  EXPECT_EQ(near({cpus(1, 0), cpus(1, 0)}), (Groups{0, 0})) << "no CPUs known at all";
}

TEST(NearGroups, NothingToGainIsOneGroup) {
  EXPECT_EQ(near({cpus(0, 0), cpus(1, 1)}), (Groups{0, 0})) << "one L3";
  EXPECT_EQ(near({cpus(0, 0), cpus(16, 16)}), (Groups{0, 0})) << "every rank alone";
  EXPECT_EQ(near({cpus(0, 0)}), (Groups{0}));
}

TEST(NearGroups, AWishNamesTheLevel) {
  const std::vector<cpu_set_t> ranks{cpus(0, 0), cpus(4, 4), cpus(8, 8), cpus(16, 16)};
  EXPECT_EQ(near(ranks, "l3"), (Groups{0, 1, 2, 3}));
  EXPECT_EQ(near(ranks, "numa"), (Groups{0, 0, 1, 2}));
  EXPECT_EQ(near(ranks, "package"), (Groups{0, 0, 0, 1}));
  EXPECT_EQ(near(ranks, "off"), (Groups{0, 0, 0, 0}));
  EXPECT_EQ(parseGroups("3,1,3,65535", 4).list, (Groups{3, 1, 3, 65535}));
}

TEST(NearGroups, OtherTextsAreRefused) {
  const struct {
    const char *text, *why;
  } bad[] = {{"L3", "\"L3\" is not a number from 0 to 65535"},
             {"0,1,0", "it has 3 numbers, and the communicator has 4 ranks"},
             {"0", "it has 1 number, and the communicator has 4 ranks"},
             {"0,1,,0", "\"\" is not a number"},
             {"0,1,0,", "\"\" is not a number"},
             {"0,1,0,-1", "\"-1\" is not a number"},
             {"0,1,0,65536", "\"65536\" is not a number"},
             {"0,1,0,99999999999", "\"99999999999\" is not a number"},
             {"0 0 1 1", "\"0 0 1 1\" is not a number"}};
  for (const auto& row : bad) {
    try {
      parseGroups(row.text, 4);
      ADD_FAILURE() << row.text << " was accepted";
    } catch (const Error& error) {
      const std::string& sentence = error.sentence();
      EXPECT_EQ(error.code(), rondoInvalidArgument);
      EXPECT_NE(sentence.find(std::string("RONDO_GROUPS is \"") + row.text + "\""),
                std::string::npos)
          << sentence;
      EXPECT_NE(sentence.find(row.why), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("allowed: off, l3, numa, package"), std::string::npos) << sentence;
    }
  }
}

TEST(NearGroups, AListIsOfTheMembersOfAChild) {
  EXPECT_EQ(groupsOfMembers("0,0,12,7", {3, 0, 2}), "7,0,12");
  EXPECT_EQ(groupsOfMembers("5", {0}), "5");
  EXPECT_EQ(groupsOfMembers("0,0,1,1", {}), "") << "nothing is known of them";
  for (const char* each : {"", "off", "l3", "numa", "package"}) {
    EXPECT_EQ(groupsOfMembers(each, {1, 0}), each);
    EXPECT_EQ(groupsOfMembers(each, {}), each);
  }
  EXPECT_EQ(groupsOfMembers("0,1", {2}), "0,1") << "refused where it is parsed";
}

/// hwloc knows of every CPU of this process in which package it lies.
TEST(NearGroups, ThisMachinesCpusHavePlaces) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  const CpuPlaces places = readNodeFacts().places;
  for (int cpu = 0; cpu < CpuPlaces::kMostCpus; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &mine)) continue;
    EXPECT_NE(places.at[static_cast<int>(Near::Package)][cpu], CpuPlaces::kNowhere) << cpu;
  }
}

}  // namespace
}  // namespace rondo
