#include "doctor/report.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace rondo::doctor {

const char* levelName(Level level) {
  static const char* const names[] = {"fine", "note", "warning", "error"};
  return names[static_cast<int>(level)];
}

void Report::add(Level level, const char* check, std::string where, std::string what,
                 std::string cost, std::string remedy) {
  findings_.push_back(
      {level, check, std::move(where), std::move(what), std::move(cost), std::move(remedy)});
}

int Report::count(Level level) const {
  return static_cast<int>(std::count_if(findings_.begin(), findings_.end(),
                                        [level](const Finding& f) { return f.level == level; }));
}

int Report::exitCode() const {
  return count(Level::Error) > 0 ? 2 : count(Level::Warning) > 0 ? 1 : 0;
}

std::vector<std::string> Report::fine() const {
  std::vector<std::string> names;
  for (const char* const check : checks_) {
    const bool found = std::any_of(findings_.begin(), findings_.end(), [check](const Finding& f) {
      return std::string(f.check) == check;
    });
    if (!found) names.push_back(check);
  }
  return names;
}

std::string Report::text() const {
  std::string out = format("rondo-doctor: %zu rank%s on %zu host%s\n", ranks_.size(),
                           ranks_.size() == 1 ? "" : "s", byHost(ranks_).size(),
                           byHost(ranks_).size() == 1 ? "" : "s");
  for (const Level level : {Level::Error, Level::Warning, Level::Note}) {
    for (const Finding& each : findings_) {
      if (each.level != level) continue;
      out +=
          format("\n%s: %s: %s\n  %s\n  costs:  %s\n  remedy: %s\n", levelName(level), each.check,
                 each.where.c_str(), each.what.c_str(), each.cost.c_str(), each.remedy.c_str());
    }
  }
  std::string names;
  for (const std::string& name : fine()) names += (names.empty() ? "" : ", ") + name;
  return out + format("\n%d errors, %d warnings, %d notes; fine: %s\n", count(Level::Error),
                      count(Level::Warning), count(Level::Note),
                      names.empty() ? "nothing" : names.c_str());
}

std::string Report::json() const {
  nlohmann::json out;
  out["ranks"] = ranks_.size();
  out["hosts"] = byHost(ranks_).size();
  out["exitCode"] = exitCode();
  out["fine"] = fine();
  out["findings"] = nlohmann::json::array();
  for (const Finding& each : findings_) {
    out["findings"].push_back({{"level", levelName(each.level)},
                               {"check", each.check},
                               {"where", each.where},
                               {"what", each.what},
                               {"cost", each.cost},
                               {"remedy", each.remedy}});
  }
  return out.dump(2) + "\n";
}

std::string placeText(const std::vector<const Facts*>& ranks) {
  std::string numbers, hosts;
  std::set<std::string> seen;
  for (size_t i = 0; i < ranks.size(); ++i) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1]->rank == ranks[last]->rank + 1) ++last;
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(ranks[i]->rank);
    if (last > i) numbers += "-" + std::to_string(ranks[last]->rank);
    i = last;
  }
  for (const Facts* each : ranks) {
    if (seen.insert(each->host).second) hosts += (hosts.empty() ? "" : ", ") + each->host;
  }
  return format("rank%s %s (host%s %s)", ranks.size() == 1 ? "" : "s", numbers.c_str(),
                seen.size() == 1 ? "" : "s", hosts.c_str());
}

std::vector<HostFacts> byHost(const std::vector<Facts>& ranks) {
  std::vector<HostFacts> hosts;
  for (const Facts& each : ranks) {
    const auto at = std::find_if(hosts.begin(), hosts.end(), [&](const HostFacts& host) {
      return host.facts->host == each.host;
    });
    if (at == hosts.end()) {
      hosts.push_back({&each, {&each}});
    } else {
      at->ranks.push_back(&each);
    }
  }
  return hosts;
}

Report examine(const std::vector<Facts>& ranks) {
  Report report(ranks);
  checkCpus(&report);
  checkSystem(&report);
  checkLimits(&report);
  checkDevices(&report);
  checkVersions(&report);
  checkMpi(&report);
  checkNetwork(&report);
  return report;
}

}  // namespace rondo::doctor
