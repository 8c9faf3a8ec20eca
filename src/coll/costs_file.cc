#include "coll/costs_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/config_files.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace rondo {
namespace {

constexpr size_t kMostBytes = 64 << 10;  ///< Such a file has two KiB.
/// Before the names of fields of device memory.
constexpr char kDevice[] = "device_";
constexpr char kTitle[] = "rondo-costs 1";
constexpr uint64_t kMostFlag = 1'000'000'000;

std::string timeText(int64_t when) {
  const auto seconds = static_cast<time_t>(when);
  tm parts{};
  char text[32] = "";
  if (gmtime_r(&seconds, &parts) != nullptr)
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string ageText(int64_t when) {
  const int64_t age = std::max<int64_t>(0, static_cast<int64_t>(time(nullptr)) - when);
  if (age < 120) return format("%lld seconds ago", static_cast<long long>(age));
  if (age < 7200) return format("%lld minutes ago", static_cast<long long>(age / 60));
  if (age < 172800) return format("%lld hours ago", static_cast<long long>(age / 3600));
  return format("%lld days ago", static_cast<long long>(age / 86400));
}

/// For sentences: a word of a file that may hold anything.
std::string shown(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& name) : text_(text), name_(name) {
    begin(&out_);
  }

  CostsFile parse() {
    if (text_.size() > kMostBytes) {
      refuse(format("has %zu bytes; allowed: %zu", text_.size(), kMostBytes));
    }
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      ++line_;
      parseLine(text_.substr(at, end - at));
      at = end + 1;
    }
    if (!titled_) refuse(format("is empty; allowed: \"%s\" first", kTitle));
    if (out_.machine == 0) refuse("names no machine; allowed: a line \"machine\" and 16 digits");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(rondoInvalidArgument, line_ == 0
                                          ? format("%s: %s", name_.c_str(), why.c_str())
                                          : format("%s:%d: %s", name_.c_str(), line_, why.c_str()));
  }

  void parseLine(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') return;
    if (!titled_) {
      if (line != kTitle) {
        refuse(format("is \"%s\"; allowed: \"%s\"", shown(line).c_str(), kTitle));
      }
      titled_ = true;
      return;
    }
    const size_t blank = line.find(' ');
    const std::string key = line.substr(0, blank);
    const std::string value = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (key == "machine") return parseMachine(value);
    if (key == "processor") {
      out_.processor = shown(value);
      return;
    }
    if (key == "ranks") {
      out_.ranks = static_cast<int>(number(key, value, 1'000'000));
      return;
    }
    if (key == "measured_at") {
      out_.when = static_cast<int64_t>(number(key, value, 253'402'300'799));
      return;
    }
    if (key == "state") return parseState(value);
    parseField(key, value);
  }

  /// What follows belongs to this state.
  void begin(CostsState* state) {
    state_ = state;
    state->measured.assign(costFields().size(), false);
    known_.assign(costFields().size(), false);
  }

  /// The first such line may come before all fields.
  void parseState(const std::string& value) {
    const uint64_t flag = number("state", value, kMostFlag);
    if (flag == 0) refuse("state is \"0\"; allowed: a flag's way, a whole number from 1");
    const bool first = out_.others.empty() && out_.flag == 0;
    const bool named = std::find(known_.begin(), known_.end(), true) != known_.end();
    if (!first || named) {
      if (out_.flag == 0) refuse("state begins a second one; allowed: after a state line first");
      if (out_.others.size() + 2 > kMostStates) {
        refuse(format("state begins a state too many; allowed: %zu", kMostStates));
      }
      out_.others.reserve(kMostStates);  // state_ stays where it is
      begin(&out_.others.emplace_back());
    }
    state_->flag = flag;
  }

  void parseMachine(const std::string& value) {
    if (value.size() != 16 || value.find_first_not_of("0123456789abcdef") != std::string::npos) {
      refuse(format("machine is \"%s\"; allowed: 16 hexadecimal digits", shown(value).c_str()));
    }
    out_.machine = std::strtoull(value.c_str(), nullptr, 16);
  }

  void parseField(const std::string& key, const std::string& value) {
    const auto fields = costFields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (key != fields[i].name) continue;
      if (known_[i]) refuse(format("%s is there twice", key.c_str()));
      known_[i] = true;
      state_->measured[i] =
          parseNumber(key, value, fields[i].most(), &(state_->costs.*fields[i].at));
      return;
    }
    if (key.starts_with(kDevice) && parseDevice(key, value)) return;
    refuse(
        format("there is no field \"%s\"; docs/calibration.md has them all", shown(key).c_str()));
  }

  bool parseDevice(const std::string& key, const std::string& value) {
    const auto fields = deviceCostFields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (key != std::string(kDevice) + fields[i].name) continue;
      out_.deviceMeasured.resize(fields.size());
      deviceKnown_.resize(fields.size());
      if (deviceKnown_[i]) refuse(format("%s is there twice", key.c_str()));
      deviceKnown_[i] = true;
      out_.deviceMeasured[i] =
          parseNumber(key, value, fields[i].most(), &(out_.device.*fields[i].at));
      return true;
    }
    return false;
  }

  /// "90000 measured"; whether it is measured.
  bool parseNumber(const std::string& key, const std::string& value, uint64_t most,
                   uint64_t* to) const {
    const size_t blank = value.find(' ');
    const std::string origin = blank == std::string::npos ? "" : value.substr(blank + 1);
    if (origin != "measured" && origin != "default") {
      refuse(format("%s says \"%s\" after its number; allowed: measured or default", key.c_str(),
                    shown(origin).c_str()));
    }
    *to = number(key, value.substr(0, blank), most);
    return origin == "measured";
  }

  uint64_t number(const std::string& key, const std::string& value, uint64_t most) const {
    const bool digits = !value.empty() && value.size() <= 18 &&
                        value.find_first_not_of("0123456789") == std::string::npos;
    const uint64_t found = digits ? std::strtoull(value.c_str(), nullptr, 10) : 0;
    if (!digits || found > most) {
      refuse(format("%s is \"%s\"; allowed: a whole number from 0 to %llu", key.c_str(),
                    shown(value).c_str(), static_cast<unsigned long long>(most)));
    }
    return found;
  }

  const std::string& text_;
  const std::string& name_;
  CostsFile out_;
  CostsState* state_ = nullptr;
  std::vector<bool> known_;  // of the state
  std::vector<bool> deviceKnown_;
  int line_ = 0;
  bool titled_ = false;
};

std::string readAll(const std::string& path) {
  // A pipe must not make a job wait.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw systemError(path, errno);
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) throw systemError(path, errno);
  if (!S_ISREG(facts.st_mode)) {
    throw Error(rondoInvalidArgument, path + ": is no regular file");
  }
  std::string text(kMostBytes + 1, '\0');  // one more, so that the parser sees that it is too long
  size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw systemError(path, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  text.resize(used);
  return text;
}

std::string sourceOf(const CostsFile& file, const std::string& path) {
  if (file.when == 0) return path;
  return format("%s, measured %s (%s)", path.c_str(), timeText(file.when).c_str(),
                ageText(file.when).c_str());
}

std::string fieldLine(const std::string& name, uint64_t value, bool measured) {
  return format("%s %llu %s\n", name.c_str(), static_cast<unsigned long long>(value),
                measured ? "measured" : "default");
}

std::string formatState(const CostsState& state) {
  std::string text;
  // On a machine with more work than cores a flag may have taken longer than a file may say.
  const uint64_t flag = std::min(state.flag, kMostFlag);
  if (flag > 0) text += format("state %llu\n", static_cast<unsigned long long>(flag));
  const auto fields = costFields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool measured = i < state.measured.size() && state.measured[i];
    text += fieldLine(fields[i].name, state.costs.*fields[i].at, measured);
  }
  return text;
}

}  // namespace

bool sameState(uint64_t flag, uint64_t other) {
  const auto [less, more] = std::minmax(flag, other);
  return static_cast<double>(more) <= kSameState * static_cast<double>(less);
}

const CostsState& nearestState(const std::vector<CostsState>& states, uint64_t flag) {
  const auto ratio = [flag](const CostsState& state) {
    const auto [less, more] = std::minmax(state.flag, flag);
    return static_cast<double>(more) / static_cast<double>(std::max<uint64_t>(less, 1));
  };
  const auto nearest = std::min_element(
      states.begin(), states.end(),
      [&](const CostsState& a, const CostsState& b) { return ratio(a) < ratio(b); });
  return ratio(*nearest) > kNoState ? states.front() : *nearest;
}

std::string stateText(const CostsState& state, const std::vector<CostsState>& states) {
  std::string all;
  for (const CostsState& each : states) {
    all += format("%s%.0f", all.empty() ? "" : ", ", static_cast<double>(each.flag) * 1e-3);
  }
  return format("state %.0f ns of %s", static_cast<double>(state.flag) * 1e-3, all.c_str());
}

std::string formatCosts(const CostsFile& file) {
  std::string text = std::string(kTitle) + "\n# Written by rondo-tune. Picoseconds.\n";
  text += format("machine %016llx\n", static_cast<unsigned long long>(file.machine));
  if (!file.processor.empty()) text += "processor " + shown(file.processor) + "\n";
  if (file.ranks > 0) text += format("ranks %d\n", file.ranks);
  if (file.when > 0) {
    text += format("measured_at %lld\n# That is %s.\n", static_cast<long long>(file.when),
                   timeText(file.when).c_str());
  }
  const auto fields = deviceCostFields();
  for (size_t i = 0; i < std::min(fields.size(), file.deviceMeasured.size()); ++i) {
    text += fieldLine(std::string(kDevice) + fields[i].name, file.device.*fields[i].at,
                      file.deviceMeasured[i]);
  }
  text += formatState(file);
  for (const CostsState& state : file.others) text += formatState(state);
  return text;
}

CostsFile parseCosts(const std::string& text, const std::string& name) {
  return Parser(text, name).parse();
}

CostsFile readCosts(const std::string& path) { return parseCosts(readAll(path), path); }

void writeCosts(const CostsFile& file, const std::string& path) {
  writeConfigFile(formatCosts(file), path);
}

std::string costsFileName(uint64_t machine) {
  return format("costs-%016llx.txt", static_cast<unsigned long long>(machine));
}

MeasuredCosts CostsState::measuredBits() const {
  MeasuredCosts bits = 0;
  for (size_t i = 0; i < measured.size(); ++i) bits |= MeasuredCosts{measured[i]} << i;
  return bits;
}

FoundCosts findCosts(uint64_t machine, const std::vector<std::string>& dirs) {
  std::string looked;
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + costsFileName(machine);
    looked += (looked.empty() ? "" : " and ") + dir;
    struct stat facts;
    if (stat(path.c_str(), &facts) != 0) continue;  // not there, or not for this user to see
    try {
      const CostsFile file = readCosts(path);
      if (file.machine != machine) {
        throw Error(rondoInvalidArgument,
                    format("%s: machine is %016llx; allowed: %016llx, as in its name", path.c_str(),
                           static_cast<unsigned long long>(file.machine),
                           static_cast<unsigned long long>(machine)));
      }
      FoundCosts found{file.costs, sourceOf(file, path)};
      found.device = file.device;
      found.measured = file.measuredBits();
      if (!file.others.empty()) {
        found.states = {file};
        found.states.insert(found.states.end(), file.others.begin(), file.others.end());
      }
      return found;
    } catch (const Error& error) {
      FoundCosts none{{}, "built-in (" + path + " is no good)"};
      none.warning = error.sentence();
      return none;
    }
  }
  return {{},
          format("built-in (no %s in %s; rondo-tune makes it)", costsFileName(machine).c_str(),
                 looked.c_str())};
}

}  // namespace rondo
