// RONDO_TUNE: "allreduce:host:0-64K:oneshot,allreduce:host:64K-1G:twoshot/2/32K" for host memory,
// "allreduce:device:0-64K:oneshot/32/LL128" for a GPU's.

#include "base/error.h"
#include "base/size_text.h"
#include "coll/planner.h"

namespace rondo {
namespace {

/// The parts between the marks, empty ones too.
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// What is wrong with a rule.
struct Fault {
  std::string why;
};

[[noreturn]] void refuse(const std::string& why) { throw Fault{why}; }

Collective parseCollective(const std::string& name) {
  for (const Algorithm& row : registry()) {
    if (name == collectiveName(row.collective)) return row.collective;
  }
  refuse("there is no collective \"" + name + "\"");
}

std::string namesOf(Collective collective) {
  std::string names;
  for (const Algorithm& row : registry()) {
    if (row.collective == collective) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

void parseRange(const std::string& text, TuneRule* out) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos || !parseSize(text.substr(0, dash), &out->from)) {
    refuse("\"" + text + "\" is not a range of bytes FROM-TO");
  }
  const std::string to = text.substr(dash + 1);
  out->to = ~uint64_t{0};
  if (!to.empty() && !parseSize(to, &out->to)) refuse("\"" + to + "\" is not a number of bytes");
  if (out->from >= out->to) refuse("the range \"" + text + "\" is empty");
}

TuneRule parseRule(const std::string& rule) {
  const std::vector<std::string> fields = split(rule, ':');
  if (fields.size() != 4) {
    refuse(format("it has %zu field%s, not 4", fields.size(), fields.size() == 1 ? "" : "s"));
  }
  TuneRule out{};
  out.collective = parseCollective(fields[0]);
  out.device = fields[1] == "device";
  if (!out.device && fields[1] != "host") {
    refuse("memory is \"" + fields[1] + "\", which is neither host nor device");
  }
  parseRange(fields[2], &out);
  const std::vector<std::string> how = split(fields[3], '/');
  if (how.size() > 3) refuse("the last field is not ALGORITHM[/LANES[/CHUNK]]");
  out.algorithm = findAlgorithm(out.collective, how[0]);
  if (out.algorithm == nullptr) {
    refuse("there is no algorithm \"" + how[0] + "\" (there are: " + namesOf(out.collective) + ")");
  }
  uint64_t lanes = 0;
  const uint64_t mostLanes = out.device ? 128 : 64;
  if (how.size() > 1 && (!parseCount(how[1], &lanes) || lanes < 1 || lanes > mostLanes)) {
    refuse(format("lanes \"%s\" is not a number from 1 to %llu", how[1].c_str(),
                  static_cast<unsigned long long>(mostLanes)));
  }
  out.lanes = static_cast<int>(lanes);
  if (out.device) {
    if (how.size() > 2) out.protocol = how[2];
    if (how.size() > 2 && how[2] != "LL" && how[2] != "LL128" && how[2] != "Simple") {
      refuse("protocol \"" + how[2] + "\" is none of LL, LL128, Simple");
    }
    return out;
  }
  if (how.size() > 2 && (!parseSize(how[2], &out.chunkBytes) || out.chunkBytes < 64)) {
    refuse("chunk \"" + how[2] + "\" is not a number of bytes from 64");
  }
  return out;
}

}  // namespace

std::vector<TuneRule> parseTune(const std::string& text, const char* by) {
  std::vector<TuneRule> rules;
  for (const std::string& rule : split(text, ',')) {
    if (rule.empty()) continue;
    try {
      rules.push_back(parseRule(rule));
    } catch (const Fault& fault) {
      throw Error(rondoInvalidArgument,
                  format("%s rule \"%s\": %s; allowed: "
                         "COLLECTIVE:host:FROM-TO:ALGORITHM[/LANES[/CHUNK]], for example "
                         "allreduce:host:0-64K:oneshot, or "
                         "COLLECTIVE:device:FROM-TO:ALGORITHM[/LANES[/PROTOCOL]]",
                         by, rule.c_str(), fault.why.c_str()));
    }
  }
  return rules;
}

}  // namespace rondo
