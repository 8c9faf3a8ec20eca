// libFuzzer target for the workload reader. A text is a workload whose numbers are within bounds,
// or it is refused with file, line and what was expected. ./dev fuzz builds it with clang and runs
// it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "coll/sim/workload.h"

namespace {

using namespace rondo;

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

bool isText(const std::string& sentence) {
  for (const char c : sentence) {
    if (c < ' ' || c > '~') return false;
  }
  return !sentence.empty() && sentence.size() < 600;
}

/// Every rank is in one part of each kind of group, or the numbers are refused.
void cut(const sim::Workload& w, int ranks) {
  for (int g = 0; g < sim::kCommGroups; ++g) {
    const sim::Parts parts = partsOf(w, static_cast<sim::CommGroup>(g), ranks);
    size_t placed = 0;
    for (const auto& members : parts.members) placed += members.size();
    if (!parts.members.empty() && placed != static_cast<size_t>(ranks)) wrong("ranks are lost");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    const sim::Workload w = sim::parseWorkload(text, "FUZZ");
    if (w.policy.empty() || w.model < 1 || w.expert < 1 || w.pipeline < 1 ||
        w.layers.size() > sim::kMostLayers) {
      wrong("out of bounds");
    }
    for (const int ranks : {1, 8, 96, 1024}) {
      try {
        cut(w, ranks);
      } catch (const Error& error) {
        if (error.code() != rondoInvalidArgument || !isText(error.sentence())) {
          wrong(error.sentence());
        }
      }
    }
  } catch (const Error& error) {
    const std::string said = error.sentence();
    if (error.code() != rondoInvalidArgument || said.rfind("FUZZ:", 0) != 0 || !isText(said)) {
      wrong("not refused as it should be: " + said);
    }
  }
  return 0;
}
