#include "compare.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "errors.h"
#include "text.h"

namespace rondo::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kKeys[] = {"collective", "library", "memory", "ranks", "bytes", "type", "op"};
constexpr const char* kTimes[] = {"min", "p50", "p99"};
/// Facts of the heads that make times differ whatever was changed.
constexpr const char* kSettings[] = {"run", "data", "meeting", "machine"};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError("compare " + path + ": " + why);
}

Json readJson(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    refuse(path, std::string("cannot be read (") + std::strerror(errno) +
                     "); allowed is a file that rondo-bench --json wrote");
  }
  try {
    return Json::parse(file);
  } catch (const Json::exception& error) {
    refuse(path, std::string("is not a JSON file (") + error.what() +
                     "); allowed is one that rondo-bench --json wrote");
  }
}

/// What the row is about, in columns that the table can show as they are.
std::string keyOf(const Json& row) {
  const auto text = [&row](const char* key) {
    const Json& value = row.at(key);
    return value.is_string() ? value.get<std::string>() : std::to_string(value.get<size_t>());
  };
  return format("%-15s  %-7s  %-6s  %5s  %11s  %-8s  %-4s", text("collective").c_str(),
                text("library").c_str(), text("memory").c_str(), text("ranks").c_str(),
                text("bytes").c_str(), text("type").c_str(), text("op").c_str());
}

void addRow(const std::string& path, const Json& row, Measured& measured) {
  const std::string number = std::to_string(measured.order.size() + 1);
  Measured::Row read;
  std::string key;
  try {
    key = keyOf(row);
    for (const char* time : kTimes) {
      read.usec[time] = row.at(std::string("usec_") + time).get<double>();
    }
    read.wrong = row.at("wrong").get<double>();
  } catch (const Json::exception& error) {
    refuse(path, "row " + number + " is not one of rondo-bench's (" + error.what() + ")");
  }
  if (!measured.rows.emplace(key, read).second) {
    refuse(path, "row " + number + " is about the same as an earlier one: " + key);
  }
  measured.order.push_back(key);
}

std::string header(const std::vector<std::string>& columns) {
  std::string line = "# " + format("%-15s  %-7s  %-6s  %5s  %11s  %-8s  %-4s", kKeys[0], kKeys[1],
                                   kKeys[2], kKeys[3], kKeys[4], kKeys[5], kKeys[6]);
  for (const std::string& column : columns) {
    line += format("  %10s  %10s  %7s", (column + " before").c_str(), (column + " after").c_str(),
                   "ratio");
  }
  return line + "\n";
}

/// Rows of `from` that are not in `in`: those with wrong elements, then how many there are.
void addMissing(const Measured& from, const Measured& in, Comparison& result, size_t& count) {
  std::string first;
  for (const std::string& key : from.order) {
    if (in.rows.count(key) != 0) continue;
    if (count++ == 0) first = key;
    if (from.rows.at(key).wrong == 0) continue;
    ++result.wrong;
    result.table += "  " + key + "  only in " + from.name + "  wrong\n";
  }
  if (count == 0) return;
  result.table += "# " + std::to_string(count) + " of the " + std::to_string(from.order.size()) +
                  " rows of " + from.name + " are not in " + in.name + "; the first is " + first +
                  "\n";
}

}  // namespace

Measured readMeasured(const std::string& path) {
  const Json document = readJson(path);
  const auto rows = document.is_object() ? document.find("rows") : document.end();
  if (rows == document.end() || !rows->is_array() || rows->empty()) {
    refuse(path, "has no rows; allowed is a file that rondo-bench --json wrote");
  }
  Measured measured;
  measured.name = path;
  const Json meta = document.value("meta", Json::object());
  for (const auto& [name, fact] : meta.items()) {
    if (meta.is_object() && fact.is_string()) measured.facts[name] = fact.get<std::string>();
  }
  for (const Json& row : *rows) addRow(path, row, measured);
  return measured;
}

Comparison compareRows(const Measured& before, const Measured& after,
                       const CompareOptions& options) {
  Comparison result;
  result.table = header(options.columns);
  for (const std::string& key : before.order) {
    const auto found = after.rows.find(key);
    if (found == after.rows.end()) continue;
    const Measured::Row& old = before.rows.at(key);
    ++result.joined;
    std::string line = "  " + key;
    bool slower = false;
    for (const std::string& column : options.columns) {
      const double was = old.usec.at(column);
      const double is = found->second.usec.at(column);
      // A time of 0 has no ratio; 1 where both are.
      const double ratio = was > 0 ? is / was : is > 0 ? HUGE_VAL : 1;
      slower = slower || ratio > options.threshold;
      line += format("  %10s  %10s  %7.3f", formatMicroseconds(was).c_str(),
                     formatMicroseconds(is).c_str(), ratio);
    }
    const bool wrong = old.wrong > 0 || found->second.wrong > 0;
    result.slower += slower;
    result.wrong += wrong;
    result.table += line + (slower ? "  slower" : "") + (wrong ? "  wrong" : "") + "\n";
  }
  if (result.joined == 0) {
    throw UsageError("compare " + before.name + " " + after.name +
                     ": no row is in both files; they must agree in collective, library, memory, "
                     "ranks, bytes, type and op of some rows (the first has" +
                     format(" %s)", before.order.front().c_str()));
  }
  size_t added = 0;
  addMissing(before, after, result, result.gone);
  addMissing(after, before, result, added);
  return result;
}

std::string differences(const Measured& before, const Measured& after) {
  std::string text;
  for (const std::string setting : kSettings) {
    const auto was = before.facts.find(setting), is = after.facts.find(setting);
    if (was == before.facts.end() || is == after.facts.end() || was->second == is->second) continue;
    text += "# They differ in " + setting + ", before: " + was->second + "\n# They differ in " +
            setting + ", after:  " + is->second + "\n";
  }
  return text;
}

int runCompare(const CompareOptions& options) {
  const Measured before = readMeasured(options.before);
  const Measured after = readMeasured(options.after);
  const Comparison result = compareRows(before, after, options);
  std::fputs(("# before: " + before.name + "\n# after:  " + after.name + "\n" +
              differences(before, after) + result.table)
                 .c_str(),
             stdout);
  std::string gone;
  if (result.gone > 0) gone = ", " + std::to_string(result.gone) + " gone";
  std::printf("# %zu rows compared, %zu past the threshold of %g, %zu with wrong elements%s\n",
              result.joined, result.slower, options.threshold, result.wrong, gone.c_str());
  return result.slower + result.wrong == 0 ? 0 : 1;
}

}  // namespace rondo::bench
