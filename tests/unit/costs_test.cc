// The planner's costs: their table, their file, and what is done with files that are no good.

#include "coll/costs.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "base/config_files.h"
#include "base/error.h"
#include "coll/costs_file.h"
#include "coll/planner.h"
#include "support/world.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using testing::Env;

/// A directory that ends with its scope.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/rondo-costs-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Scratch() { fs::remove_all(path_); }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

CostsFile oddFile() {
  CostsFile file;
  file.machine = 0x0123456789abcdef;
  file.processor = "A 64-core thing";
  file.ranks = 6;
  file.when = 1'795'301'457;
  uint64_t value = 7;
  for (const CostField& field : costFields()) {
    file.costs.*field.at = value = value * 3 % 999'983;
    file.measured.push_back(value % 2 == 0);
  }
  return file;
}

std::string complaint(const std::string& text) {
  try {
    parseCosts(text, "FILE");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), rondoInvalidArgument);
    return error.sentence();
  }
}

TEST(Costs, EveryOneIsAField) {
  EXPECT_EQ(costFields().size() * sizeof(uint64_t), sizeof(HostCosts));
  std::set<std::string> names;
  HostCosts marked;
  for (const CostField& field : costFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_NE(std::string(field.source), "");
    EXPECT_LE(HostCosts{}.*field.at, field.most()) << field.name;
    marked.*field.at = 1'234'567;
  }
  for (const CostField& field : costFields()) EXPECT_EQ(marked.*field.at, 1'234'567u);
}

TEST(Costs, EveryOneOfDeviceMemoryIsAField) {
  EXPECT_EQ(deviceCostFields().size() * sizeof(uint64_t), sizeof(DeviceCosts));
  std::set<std::string> names;
  DeviceCosts marked;
  for (const DeviceCostField& field : deviceCostFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_LE(DeviceCosts{}.*field.at, field.most()) << field.name;
    marked.*field.at = 1'234'567;
  }
  for (const DeviceCostField& field : deviceCostFields()) {
    EXPECT_EQ(marked.*field.at, 1'234'567u);
  }
}

TEST(Costs, ColdBuffersFollowTheirCurve) {
  HostCosts costs;
  costs.cold128K = 1000;
  costs.cold1M = 4000;
  costs.cold8M = 4000;
  costs.cold64M = 10'000;
  costs.cold512M = 2000;
  EXPECT_EQ(costs.coldPerKiB(0), 0u);
  EXPECT_EQ(costs.coldPerKiB(16u << 10), 0u);
  EXPECT_EQ(costs.coldPerKiB(128u << 10), 1000u);
  EXPECT_EQ(costs.coldPerKiB(256u << 10), 2000u);
  EXPECT_EQ(costs.coldPerKiB(1u << 20), 4000u);
  EXPECT_EQ(costs.coldPerKiB(3u << 20), 4000u);
  EXPECT_EQ(costs.coldPerKiB(64u << 20), 10'000u);
  EXPECT_EQ(costs.coldPerKiB(512u << 20), 2000u);
  EXPECT_EQ(costs.coldPerKiB(~uint64_t{0}), 2000u);
  for (uint64_t bytes = 16u << 10; bytes < 1u << 20; bytes += 777) {
    EXPECT_LE(costs.coldPerKiB(bytes), costs.coldPerKiB(bytes + 777)) << bytes;
  }
}

TEST(CostsFile, RoundTrip) {
  const CostsFile file = oddFile();
  const CostsFile again = parseCosts(formatCosts(file), "FILE");
  EXPECT_EQ(again.costs, file.costs);
  EXPECT_EQ(again.machine, file.machine);
  EXPECT_EQ(again.processor, file.processor);
  EXPECT_EQ(again.ranks, file.ranks);
  EXPECT_EQ(again.when, file.when);
  EXPECT_EQ(again.measured, file.measured);
  EXPECT_EQ(formatCosts(again), formatCosts(file));
  const Scratch scratch;
  writeCosts(file, scratch.at("deep/er/costs.txt"));
  EXPECT_EQ(readCosts(scratch.at("deep/er/costs.txt")).costs, file.costs);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.at("deep/er")), {}), 1)
      << "nothing is left beside it";
}

/// A file with states of these flags' ways; state k's hop costs 1000 + k.
CostsFile statesFile(const std::vector<uint64_t>& flags) {
  CostsFile file = oddFile();
  for (size_t k = 0; k < flags.size(); ++k) {
    CostsState state = file;
    state.flag = flags[k];
    state.costs.hop = 1000 + k;
    if (k == 0) static_cast<CostsState&>(file) = state;
    if (k > 0) file.others.push_back(state);
  }
  return file;
}

TEST(CostsFile, CostsOfDeviceMemoryComeBackWhateverTheState) {
  CostsFile file = oddFile();
  EXPECT_EQ(formatCosts(file).find("device_"), std::string::npos);
  uint64_t value = 11;
  for (const DeviceCostField& field : deviceCostFields()) {
    file.device.*field.at = value = value * 3 % 999'979;
    file.deviceMeasured.push_back(value % 2 == 0);
  }
  file.flag = 80'000;
  file.others.push_back({300'000, HostCosts{}, std::vector<bool>(costFields().size(), false)});
  const std::string text = formatCosts(file);
  const CostsFile again = parseCosts(text, "FILE");
  EXPECT_EQ(again.device, file.device);
  EXPECT_EQ(again.deviceMeasured, file.deviceMeasured);
  EXPECT_EQ(again.costs, file.costs);
  EXPECT_EQ(again.others.size(), 1u);
  EXPECT_EQ(formatCosts(again), text);
  const std::string head = "rondo-costs 1\nmachine 0123456789abcdef\n";
  EXPECT_EQ(parseCosts(head + "device_lane 7 measured\n", "FILE").device.lane, 7u);
  EXPECT_EQ(parseCosts(head + "device_lane 7 measured\n", "FILE").device.launch,
            DeviceCosts{}.launch);
  EXPECT_EQ(complaint(head + "device_lane 7 measured\ndevice_lane 7 measured\n"),
            "FILE:4: device_lane is there twice");
  EXPECT_EQ(complaint(head + "device_lanes 7 measured\n"),
            "FILE:3: there is no field \"device_lanes\"; docs/calibration.md has them all");
  const Scratch scratch;
  writeCosts(file, scratch.at(costsFileName(file.machine)));
  EXPECT_EQ(findCosts(file.machine, {scratch.path()}).device, file.device);
  scratch.write(costsFileName(file.machine), text + "nonsense\n");
  EXPECT_EQ(findCosts(file.machine, {scratch.path()}).device, DeviceCosts{});
}

TEST(CostsFile, StatesComeBackInTheirOrder) {
  const CostsFile file = statesFile({81'000, 31'000, 337'000, 1});
  const CostsFile again = parseCosts(formatCosts(file), "FILE");
  EXPECT_EQ(formatCosts(again), formatCosts(file));
  EXPECT_EQ(again.flag, 81'000u);
  EXPECT_EQ(again.costs.hop, 1000u);
  ASSERT_EQ(again.others.size(), 3u);
  EXPECT_EQ(again.others[1].flag, 337'000u);
  EXPECT_EQ(again.others[1].costs.hop, 1002u);
  EXPECT_EQ(again.others[1].measured, file.others[1].measured);
  const CostsFile missing = parseCosts(
      "rondo-costs 1\nmachine 00000000000000aa\nstate 7\nhop 5 measured\nstate 8\n", "FILE");
  EXPECT_EQ(missing.others[0].costs, HostCosts{}) << "not the first state's";
}

// Seen with eight runnable threads on two cores: the file was written, and then refused.
TEST(CostsFile, WhatIsWrittenIsReadHoweverSlowTheMachineWas) {
  const CostsFile again = parseCosts(formatCosts(statesFile({2'021'940'125, 31'000})), "FILE");
  EXPECT_EQ(again.flag, 1'000'000'000u);
  ASSERT_EQ(again.others.size(), 1u);
  EXPECT_EQ(again.others[0].flag, 31'000u);
}

TEST(CostsFile, AStatesFlagTellsWhichHolds) {
  const CostsFile file = statesFile({81'000, 31'000, 337'000});
  std::vector<CostsState> states{file};
  states.insert(states.end(), file.others.begin(), file.others.end());
  const auto hopAt = [&](uint64_t flag) { return nearestState(states, flag).costs.hop; };
  EXPECT_EQ(hopAt(79'000), 1000u);
  EXPECT_EQ(hopAt(33'000), 1001u);
  EXPECT_EQ(hopAt(10'000), 1001u);
  EXPECT_EQ(hopAt(45'000), 1001u);
  EXPECT_EQ(hopAt(55'000), 1000u) << "by ratio";
  EXPECT_EQ(hopAt(300'000), 1002u);
  EXPECT_EQ(hopAt(1'300'000), 1002u);
  EXPECT_EQ(hopAt(5'000'000), 1000u) << "no cache is as far: others had the cores";
  EXPECT_EQ(hopAt(1), 1000u);
  EXPECT_TRUE(sameState(81'000, 96'000));
  EXPECT_FALSE(sameState(31'000, 81'000));
  EXPECT_TRUE(sameState(0, 0));
  EXPECT_FALSE(sameState(0, 1));
  EXPECT_EQ(stateText(states[2], states), "state 337 ns of 81, 31, 337");
}

TEST(CostsFile, WhatIsMissingHasItsDefault) {
  const CostsFile file =
      parseCosts("rondo-costs 1\r\n# words\n\nmachine 00000000000000aa\nhop 5 measured", "FILE");
  EXPECT_EQ(file.costs.hop, 5u);
  EXPECT_EQ(file.costs.message, HostCosts{}.message);
  EXPECT_EQ(file.measured[0], true);
  EXPECT_EQ(file.measured[1], false);
}

TEST(CostsFile, ComplaintsNameLineFieldAndWhatIsAllowed) {
  const std::string head = "rondo-costs 1\nmachine 0123456789abcdef\n";
  const struct {
    std::string text, part;
  } rows[] = {
      {"", "is empty"},
      {"\n\n", "is empty"},
      {"rondo-costs 2\n", "FILE:1: is \"rondo-costs 2\"; allowed: \"rondo-costs 1\""},
      {"\x7f"
       "ELF\x01\n",
       "FILE:1: is \"?ELF?\""},
      {"rondo-costs 1\nhop 1 measured\n", "names no machine"},
      {"rondo-costs 1\nmachine xyz\n", "FILE:2: machine is \"xyz\"; allowed: 16 hexadecimal"},
      {head + "hop\n", "FILE:3: hop says \"\" after its number; allowed: measured or default"},
      {head + "hop 1\n", "FILE:3: hop says \"\""},
      {head + "hop 1 guessed\n", "hop says \"guessed\""},
      {head + "hop -1 measured\n", "FILE:3: hop is \"-1\"; allowed: a whole number from 0 to"},
      {head + "hop 1e3 measured\n", "hop is \"1e3\""},
      {head + "hop 99999999999999999999 measured\n", "hop is \"99999999999999999999\""},
      {head + "copy_per_kib 1000000001 measured\n", "from 0 to 1000000000"},
      {head + "hop  5 measured\n", "after its number"},
      {head + "hop 1 measured\nhop 1 measured\n", "FILE:4: hop is there twice"},
      {head + "hops 1 measured\n", "there is no field \"hops\""},
      {head + "state 0\n", "FILE:3: state is \"0\"; allowed: a flag's way, a whole number from 1"},
      {head + "state soon\n", "FILE:3: state is \"soon\""},
      {head + "hop 1 measured\nstate 5\n",
       "FILE:4: state begins a second one; allowed: after a state line first"},
      {head + "state 4\nhop 1 measured\nstate 5\nhop 1 measured\nhop 1 measured\n",
       "FILE:7: hop is there twice"},
      {head + "state 1\nstate 2\nstate 3\nstate 4\nstate 5\n",
       "FILE:7: state begins a state too many; allowed: 4"},
      {head + "ranks many\n", "ranks is \"many\""},
      {head + std::string(70'000, '#') + "\n", "FILE: has 70040 bytes; allowed: 65536"},
  };
  for (const auto& row : rows) {
    const std::string said = complaint(row.text);
    EXPECT_NE(said.find(row.part), std::string::npos) << said << " lacks " << row.part;
    EXPECT_LT(said.size(), 300u) << "what a file holds is not all quoted";
    EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

TEST(CostsFile, DamagedFilesAreRefusedOrWithinBounds) {
  const std::string good = formatCosts(oddFile());
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (uint64_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, 1 + random() % 30, static_cast<char>(random()));
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 60));
      }
    }
    try {
      const CostsFile file = parseCosts(text, "FILE");
      for (const CostField& field : costFields()) {
        ASSERT_LE(file.costs.*field.at, field.most());
      }
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.code(), rondoInvalidArgument);
      ASSERT_EQ(error.sentence().rfind("FILE", 0), 0u) << error.sentence();
    }
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_LT(refused, 20'000);
}

TEST(CostsFile, OnlyRegularFilesAreRead) {
  const Scratch scratch;
  ASSERT_EQ(mkfifo(scratch.at("pipe").c_str(), 0600), 0);
  for (const std::string& name : {scratch.at("pipe"), scratch.path(), std::string("/dev/zero")}) {
    try {
      readCosts(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.sentence(), name + ": is no regular file");
    }
  }
  EXPECT_THROW(readCosts(scratch.at("nothing")), Error);
  EXPECT_THROW(writeCosts(oddFile(), "/dev/null/costs.txt"), Error);
}

/// A disk that fills up takes a part of the text, and the reason comes with what is left of it.
TEST(ConfigFile, SaysWhyItIsNotComplete) {
  const Scratch scratch;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit narrow{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
  std::string sentence;
  try {
    writeConfigFile(std::string(4000, 'x'), scratch.at("costs.txt"));
  } catch (const Error& error) {
    sentence = error.sentence();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(sentence.ends_with(": File too large")) << sentence;
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(FindCosts, TheFirstDirectoryThatHasOne) {
  const Scratch scratch;
  CostsFile file = oddFile();
  const std::string name = costsFileName(file.machine);
  EXPECT_EQ(name, "costs-0123456789abcdef.txt");
  const std::vector<std::string> dirs{scratch.at("a"), scratch.at("b")};
  FoundCosts found = findCosts(file.machine, dirs);
  EXPECT_EQ(found.costs, HostCosts{});
  EXPECT_EQ(found.warning, "");
  EXPECT_TRUE(found.states.empty());
  EXPECT_NE(found.source.find("built-in (no " + name), std::string::npos) << found.source;
  writeCosts(file, dirs[1] + "/" + name);
  found = findCosts(file.machine, dirs);
  EXPECT_EQ(found.costs, file.costs);
  EXPECT_EQ(found.source.rfind(dirs[1] + "/" + name + ", measured 2026-11-21T", 0), 0u)
      << found.source;
  EXPECT_EQ(findCosts(file.machine + 1, dirs).costs, HostCosts{}) << "another machine";
  file.costs.hop = 1;
  writeCosts(file, dirs[0] + "/" + name);
  EXPECT_EQ(findCosts(file.machine, dirs).costs.hop, 1u);
  EXPECT_TRUE(findCosts(file.machine, dirs).states.empty()) << "one is no choice";
  writeCosts(statesFile({50, 500}), dirs[0] + "/" + name);
  found = findCosts(file.machine, dirs);
  ASSERT_EQ(found.states.size(), 2u);
  EXPECT_EQ(found.costs.hop, 1000u);
  EXPECT_EQ(found.states[0].costs.hop, 1000u);
  EXPECT_EQ(found.states[1].flag, 500u);
}

TEST(FindCosts, OneThatIsNoGoodIsToldAndNotUsed) {
  const Scratch scratch;
  const CostsFile file = oddFile();
  const std::string path = scratch.at(costsFileName(file.machine));
  scratch.write(costsFileName(file.machine), "rondo-costs 1\nmachine 0123456789abcdef\nhop x y\n");
  FoundCosts found = findCosts(file.machine, {scratch.path()});
  EXPECT_EQ(found.costs, HostCosts{});
  EXPECT_EQ(found.warning.rfind(path + ":3: hop ", 0), 0u) << found.warning;
  EXPECT_EQ(found.source, "built-in (" + path + " is no good)");
  writeCosts(file, scratch.at(costsFileName(77)));
  found = findCosts(77, {scratch.path()});
  EXPECT_EQ(found.costs, HostCosts{}) << "copied from another machine";
  EXPECT_NE(found.warning.find("allowed: 000000000000004d, as in its name"), std::string::npos)
      << found.warning;
}

TEST(FindCosts, LooksWhereItIsTold) {
  const Env home("HOME", "/home/me");
  {
    const Env config("XDG_CONFIG_HOME", "/cfg");
    EXPECT_EQ(configDirs(""), (std::vector<std::string>{"/cfg/rondo", "/etc/rondo"}));
    EXPECT_EQ(configDirs("/my"), std::vector<std::string>{"/my"});
  }
  const Env config("XDG_CONFIG_HOME", "not/absolute");
  EXPECT_EQ(configDirs(""), (std::vector<std::string>{"/home/me/.config/rondo", "/etc/rondo"}));
}

TEST(MachineModel, IsOfTheModelNotOfTheMachine) {
  NodeFacts one;
  one.cores = 4;
  std::fill_n(&one.places.at[0][0], kNearLevels * CpuPlaces::kMostCpus, CpuPlaces::kNowhere);
  for (int cpu = 0; cpu < 4; ++cpu) one.places.at[0][cpu] = static_cast<uint8_t>(cpu / 2);
  NodeFacts other = one;
  EXPECT_EQ(machineModel(other), machineModel(one));
  for (int cpu = 0; cpu < 4; ++cpu) other.places.at[0][cpu] = static_cast<uint8_t>(cpu % 2);
  EXPECT_EQ(machineModel(other), machineModel(one)) << "the kernel numbers otherwise";
  for (int cpu = 0; cpu < 4; ++cpu) other.places.at[0][cpu] = 0;
  EXPECT_NE(machineModel(other), machineModel(one)) << "one L3 instead of two";
  other = one;
  other.l3Bytes = 1;
  EXPECT_NE(machineModel(other), machineModel(one));
  other = one;
  other.cpuModel[0] = 'X';
  EXPECT_NE(machineModel(other), machineModel(one));
  EXPECT_EQ(machineModel(readNodeFacts()), machineModel(readNodeFacts()));
}

}  // namespace
}  // namespace rondo
