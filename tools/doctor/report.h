#pragma once
// What the doctor finds, and how it says so.

#include <string>
#include <vector>

#include "doctor/facts.h"

namespace rondo::doctor {

enum class Level { Fine, Note, Warning, Error };
const char* levelName(Level level);

struct Finding {
  Level level;
  const char* check;   ///< A short name, for scripts.
  std::string where;   ///< Ranks and host.
  std::string what;    ///< What is wrong.
  std::string cost;    ///< What that costs.
  std::string remedy;  ///< What to do, as a command or a setting where there is one.
};

/// All findings about a job, one Facts a rank.
class Report {
 public:
  explicit Report(const std::vector<Facts>& ranks) : ranks_(ranks) {}

  const std::vector<Facts>& ranks() const { return ranks_; }

  /// A check that was made; each has one such line if it finds nothing.
  void begin(const char* check) { checks_.push_back(check); }
  void add(Level level, const char* check, std::string where, std::string what, std::string cost,
           std::string remedy);

  const std::vector<Finding>& findings() const { return findings_; }
  /// 0: fine (notes do not count), 1: warnings, 2: errors.
  int exitCode() const;
  std::string text() const;
  std::string json() const;

 private:
  int count(Level level) const;
  std::vector<std::string> fine() const;

  const std::vector<Facts>& ranks_;
  std::vector<const char*> checks_;
  std::vector<Finding> findings_;
};

/// "rank 0 (host a)", "ranks 0-3 (host a)", "ranks 0, 2 (hosts a, b)".
std::string placeText(const std::vector<const Facts*>& ranks);

/// One of each host, in rank order, with its number of ranks.
struct HostFacts {
  const Facts* facts;
  std::vector<const Facts*> ranks;
};
std::vector<HostFacts> byHost(const std::vector<Facts>& ranks);

// The checks, each in the file of its subject.
void checkCpus(Report* report);
void checkSystem(Report* report);
void checkLimits(Report* report);
void checkDevices(Report* report);
void checkVersions(Report* report);
void checkMpi(Report* report);
void checkNetwork(Report* report);

/// All of them.
Report examine(const std::vector<Facts>& ranks);

}  // namespace rondo::doctor
