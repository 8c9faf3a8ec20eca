#include "coll/sim/split_rule.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace rondo::sim {
namespace {

constexpr size_t kMostText = 4096;
constexpr int kMostDepth = 64;

constexpr const char* kNames[] = {"rank", "size", "host", "local"};
constexpr size_t kVariables = std::size(kNames);

struct Variables {
  int64_t of[kVariables];
};

/// Computes a formula while it reads it: rules are short, and ranks are thousands.
class Formula {
 public:
  /// Of `text` in `rule`. Variables nullptr: looks whether it can be read, whatever its value.
  Formula(const std::string& rule, std::string_view text, const Variables* variables)
      : rule_(rule), text_(text), variables_(variables) {}

  int64_t value() {
    const int64_t out = compared();
    if (!atEnd()) refuse("+, -, *, /, %, <, >, ==, a comma or the end");
    return out;
  }

 private:
  [[noreturn]] void refuse(const char* expected) const {
    throw Error(rondoInvalidArgument,
                format("the rule \"%s\": found \"%s\"; expected: %s", printable(rule_).c_str(),
                       printable(std::string(text_.substr(at_, 20))).c_str(), expected));
  }
  void noValue(const char* why) const {
    if (variables_ == nullptr) return;
    throw Error(rondoInvalidArgument,
                format("the rule \"%s\" has no value for rank %lld of %lld: %s; allowed: one "
                       "that has a value for every rank",
                       printable(rule_).c_str(), static_cast<long long>(variables_->of[0]),
                       static_cast<long long>(variables_->of[1]), why));
  }

  bool atEnd() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ == text_.size();
  }
  bool take(std::string_view sign) {
    if (atEnd() || text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  int64_t compared() {
    const int64_t left = sum();
    if (take("==")) return left == sum();
    if (take("<")) return left < sum();
    if (take(">")) return left > sum();
    return left;
  }

  int64_t sum() {
    int64_t out = product();
    for (;;) {
      bool wraps = false;
      if (take("+")) {
        wraps = __builtin_add_overflow(out, product(), &out);
      } else if (take("-")) {
        wraps = __builtin_sub_overflow(out, product(), &out);
      } else {
        return out;
      }
      if (wraps) noValue("a number is too large");
    }
  }

  int64_t product() {
    int64_t out = single();
    for (;;) {
      if (take("*")) {
        if (__builtin_mul_overflow(out, single(), &out)) noValue("a number is too large");
        continue;
      }
      const bool divides = take("/");
      if (!divides && !take("%")) return out;
      int64_t by = single();
      if (by < 1) noValue("it divides by less than 1");
      by = std::max<int64_t>(by, 1);
      out = divides ? out / by : out % by;
    }
  }

  int64_t single() {
    if (take("(")) {
      if (++depth_ > kMostDepth) refuse("fewer brackets inside each other");
      const int64_t out = compared();
      if (!take(")")) refuse(")");
      --depth_;
      return out;
    }
    for (size_t i = 0; i < kVariables; ++i) {
      if (take(kNames[i])) return variables_ == nullptr ? 0 : variables_->of[i];
    }
    if (atEnd() || text_[at_] < '0' || text_[at_] > '9') {
      refuse("a number, rank, size, host, local or (");
    }
    int64_t out = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      out = out * 10 + (text_[at_] - '0');
      if (out > int64_t{1} << 31) refuse("a number to 2147483648");
    }
    return out;
  }

  const std::string& rule_;
  std::string_view text_;
  const Variables* variables_;
  size_t at_ = 0;
  int depth_ = 0;
};

/// By rank.
std::vector<Variables> variablesOf(const std::vector<int>& hosts) {
  std::map<int, int64_t> numbers;
  std::map<int, int64_t> ranks;
  std::vector<Variables> out;
  for (const int host : hosts) {
    const auto number = numbers.try_emplace(host, static_cast<int64_t>(numbers.size())).first;
    out.push_back({{static_cast<int64_t>(out.size()), static_cast<int64_t>(hosts.size()),
                    number->second, ranks[host]++}});
  }
  return out;
}

}  // namespace

SplitRule::SplitRule(const std::string& text) : text_(text) {
  if (text.size() > kMostText) {
    throw Error(rondoInvalidArgument,
                format("a rule of %zu letters; allowed: %zu", text.size(), kMostText));
  }
  const size_t comma = text.find(',');
  color_ = text.substr(0, comma);
  key_ = comma == std::string::npos ? "0" : text.substr(comma + 1);
  Formula(text_, color_, nullptr).value();
  Formula(text_, key_, nullptr).value();
}

std::vector<std::vector<int>> SplitRule::partsOf(const std::vector<int>& hosts) const {
  std::vector<std::tuple<int64_t, int64_t, int>> ranks;
  for (const Variables& each : variablesOf(hosts)) {
    const int64_t color = Formula(text_, color_, &each).value();
    const int64_t key = Formula(text_, key_, &each).value();
    if (color >= 0) ranks.emplace_back(color, key, static_cast<int>(each.of[0]));
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::vector<int>> out;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == 0 || std::get<0>(ranks[i]) != std::get<0>(ranks[i - 1])) out.emplace_back();
    out.back().push_back(std::get<2>(ranks[i]));
  }
  return out;
}

std::vector<SplitRule> splitRules(const std::string& text) {
  std::vector<SplitRule> out;
  if (text.find_first_not_of(" \t") == std::string::npos) return out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace rondo::sim
