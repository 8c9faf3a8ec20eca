#include "topo/near_groups.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace rondo {
namespace {

constexpr int kMostGroup = 65535;
constexpr int kSeveral = -1;  // the group of ranks that are not bound to one place

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(rondoInvalidArgument, format("environment variable RONDO_GROUPS is \"%s\": %s; "
                                           "allowed: off, l3, numa, package, or a group's "
                                           "number for every rank, as in 0,0,1,1",
                                           text.c_str(), why.c_str()));
}

int parseNumber(const std::string& text, const std::string& number) {
  const bool digits = !number.empty() && number.size() <= 5 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  const int value = digits ? std::stoi(number) : -1;
  if (value < 0 || value > kMostGroup) {
    refuse(text, format("\"%s\" is not a number from 0 to %d", number.c_str(), kMostGroup));
  }
  return value;
}

/// What stands between the commas.
std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

/// The place at that level that holds all of a rank's CPUs, or kSeveral.
int placeOf(const cpu_set_t& cpus, const uint8_t* at) {
  int place = kSeveral;
  for (int cpu = 0; cpu < CpuPlaces::kMostCpus; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &cpus)) continue;
    if (at[cpu] == CpuPlaces::kNowhere || (place != kSeveral && place != at[cpu])) return kSeveral;
    place = at[cpu];
  }
  return place;
}

/// Whether there are several groups, one of them with several ranks.
bool isLayered(const std::vector<int>& groups) {
  std::map<int, int> sizes;
  for (const int group : groups) ++sizes[group];
  return sizes.size() > 1 && sizes.size() < groups.size();
}

}  // namespace

std::string groupsOfMembers(const std::string& text, const std::vector<int>& members) {
  if (text.empty() || text.find_first_not_of("0123456789,") != std::string::npos) return text;
  const std::vector<std::string> all = listed(text);
  std::string out;
  for (const int rank : members) {
    if (static_cast<size_t>(rank) >= all.size()) return text;  // refused where it is parsed
    if (!out.empty()) out += ',';
    out += all[static_cast<size_t>(rank)];
  }
  return out;
}

GroupWish parseGroups(const std::string& text, int ranks) {
  GroupWish wish;
  if (text.empty()) return wish;
  const char* const levels[kNearLevels] = {"l3", "numa", "package"};
  for (int level = 0; level < kNearLevels; ++level) {
    if (text != levels[level]) continue;
    wish.kind = GroupWish::Level;
    wish.level = static_cast<Near>(level);
    return wish;
  }
  if (text == "off") {
    wish.kind = GroupWish::Off;
    return wish;
  }
  wish.kind = GroupWish::Listed;
  for (const std::string& number : listed(text)) wish.list.push_back(parseNumber(text, number));
  if (ranks > 0 && wish.list.size() != static_cast<size_t>(ranks)) {
    refuse(text, format("it has %zu number%s, and the communicator has %d rank%s", wish.list.size(),
                        wish.list.size() == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s"));
  }
  return wish;
}

std::vector<int> nearGroups(const GroupWish& wish, const std::vector<cpu_set_t>& bindings,
                            const CpuPlaces& places) {
  const std::vector<int> one(bindings.size(), 0);
  if (wish.kind == GroupWish::Off) return one;
  for (int level = 0; level < kNearLevels; ++level) {
    const bool asked = wish.kind == GroupWish::Level;
    if (asked && static_cast<int>(wish.level) != level) continue;
    std::vector<int> groups;
    for (const cpu_set_t& cpus : bindings) groups.push_back(placeOf(cpus, places.at[level]));
    if (asked || isLayered(groups)) return groups;
  }
  return one;
}

}  // namespace rondo
