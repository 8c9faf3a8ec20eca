#pragma once
// The file that rondo-tune writes and later jobs on machines of the same model find:
// docs/calibration.md.

#include <string>
#include <vector>

#include "coll/costs.h"
#include "coll/device_costs.h"
#include "coll/link_facts.h"

namespace rondo {

/// Costs while the machine is in one of its states: a virtual machine's cores move, and with them
/// what they share.
struct CostsState {
  uint64_t flag = 0;  ///< A flag's way (coll/flag_way.h) in it, in picoseconds; 0: not known.
  HostCosts costs;    ///< Fields that the file does not name have their defaults.
  /// By field, in the order of costFields(): measured, not a default that was written along.
  std::vector<bool> measured;
  MeasuredCosts measuredBits() const;
};
constexpr size_t kMostStates = 4;
/// Flags' ways that differ by more are of different states: 31, 81 and 337 ns on a virtual machine
/// of two EPYC cores, and within a state some 10 % (2026-11-22).
constexpr double kSameState = 1.4;
/// A flag's way is not this many times as long as in the slowest state for want of a cache.
constexpr double kNoState = 4;
bool sameState(uint64_t flag, uint64_t other);

/// What is in such a file. Its first state is the one that most of a run was in.
struct CostsFile : CostsState {
  uint64_t machine = 0;   ///< machineModel() of where it was measured.
  std::string processor;  ///< For people; may be empty.
  int ranks = 0;          ///< That measured; 0: it does not say.
  int64_t when = 0;       ///< Seconds since 1970; 0: it does not say.
  std::vector<CostsState> others;
  DeviceCosts device;                ///< On device memory, whatever the state.
  std::vector<bool> deviceMeasured;  ///< By field of deviceCostFields(); empty: none is there.
};

std::string formatCosts(const CostsFile& file);

/// Throws Error(rondoInvalidArgument) that says "NAME:LINE: ...", the field, its value and what is
/// allowed.
CostsFile parseCosts(const std::string& text, const std::string& name);

/// Reads a file; throws as parseCosts(), and Error(rondoSystemError) where it cannot be read.
CostsFile readCosts(const std::string& path);

/// As writeConfigFile().
void writeCosts(const CostsFile& file, const std::string& path);

/// "costs-0123456789abcdef.txt"
std::string costsFileName(uint64_t machine);

/// What a job uses.
struct FoundCosts {
  HostCosts costs;
  std::string source;  ///< "/etc/rondo/costs-..txt, measured .. (2 days ago)"; "built-in (..)".
  /// If the file has more than one, all of them, the first of which has `costs`; else none.
  std::vector<CostsState> states = {};
  DeviceCosts device = {};
  MeasuredCosts measured = 0;  ///< Of `costs`.
  std::string warning = {};    ///< A file is there and was not used: why; else empty.
};

/// The state whose flag's way is nearest, by ratio; the first one where none is near, because then
/// something else was measured. `states` has at least one.
const CostsState& nearestState(const std::vector<CostsState>& states, uint64_t flag);
/// "81 ns, of 31, 81, 337": which state of which.
std::string stateText(const CostsState& state, const std::vector<CostsState>& states);

/// The first file of the directories that is there; the built-in costs where none is, or where it
/// is no good. Throws nothing but for want of memory.
FoundCosts findCosts(uint64_t machine, const std::vector<std::string>& dirs);

}  // namespace rondo
