#include "base/stage_times.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

constexpr uint64_t kShown = 50'000;  // ns

}  // namespace

void StageTimes::end(const char* name, uint64_t now) {
  const auto known = std::find_if(stages_.begin(), stages_.end(), [name](const auto& stage) {
    return std::strcmp(stage.first, name) == 0;
  });
  if (known == stages_.end()) {
    stages_.emplace_back(name, now - last_);
  } else {
    known->second += now - last_;
  }
  last_ = now;
}

std::string StageTimes::text() const {
  const auto ms = [](uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  std::string text = format("%.1f ms", ms(last_ - began_));
  const char* separator = ": ";
  for (const auto& [name, ns] : stages_) {
    if (ns < kShown) continue;
    text += format("%s%s %.1f", separator, name, ms(ns));
    separator = ", ";
  }
  return text;
}

}  // namespace rondo
