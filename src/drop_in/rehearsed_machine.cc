#include "drop_in/rehearsed_machine.h"

#include <cstdio>
#include <cstdlib>

#include "base/error.h"

namespace rondo::drop_in {
namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool isNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// A whole number at the end of the environment variable; false: it is none, or absurd.
bool parseNumber(const std::string& text, int* out) {
  if (!isNumber(text) || text.size() > 8) return false;
  *out = std::stoi(text);
  return true;
}

[[noreturn]] void refuse(const char* name, const std::string& allowed) {
  throw Error(rondoInvalidArgument, format("environment variable %s is \"%s\"; allowed: %s", name,
                                           env(name).c_str(), allowed.c_str()));
}

}  // namespace

bool wantsRehearsal() { return !env("RONDO_VIRTUAL").empty(); }

/// "machine.xml:64"; without a number behind the last colon, a rank on every place.
Wish readWish() {
  Wish out;
  out.topology = env("RONDO_VIRTUAL");
  const size_t colon = out.topology.rfind(':');
  int ranks = 0;
  if (colon != std::string::npos && isNumber(out.topology.substr(colon + 1))) {
    const bool parsed = parseNumber(out.topology.substr(colon + 1), &ranks);
    if (!parsed || ranks == 0) refuse("RONDO_VIRTUAL", "TOPOLOGY:N with N from 1 to 65536");
    out.ranks = ranks;
    out.topology.resize(colon);
  }
  if (out.topology.empty())
    refuse("RONDO_VIRTUAL", "TOPOLOGY:N, a file or a description and ranks");
  const std::string rank = env("RONDO_VIRTUAL_RANK");
  if (!rank.empty() && !parseNumber(rank, &out.rank)) {
    refuse("RONDO_VIRTUAL_RANK", "the rank that this process is, from 0");
  }
  if (const std::string output = env("RONDO_VIRTUAL_OUT"); !output.empty()) out.output = output;
  out.splits = env("RONDO_VIRTUAL_SPLIT");
  if (const std::string graph = env("RONDO_VIRTUAL_GRAPH"); !graph.empty()) {
    if (graph != "whole" && graph != "mutual") refuse("RONDO_VIRTUAL_GRAPH", "whole or mutual");
    out.edges = graph == "whole" ? OthersEdges::None : OthersEdges::Mirrored;
  }
  return out;
}

Machine makeMachine(const Wish& wish, int ranks, int rank, const std::string& output,
                    bool ownData) {
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.ownData = ownData;
  config.name = "rehearsal";
  config.output = output.empty() ? nullptr : output.c_str();
  config.splits = wish.splits.empty() ? nullptr : wish.splits.c_str();
  rondoComm_t made = nullptr;
  if (rondoCommInitVirtual(&made, wish.topology.c_str(), ranks, rank, &config) != rondoSuccess) {
    return {};
  }
  return keepMachine(made);
}

Machine keepMachine(rondoComm_t made) {
  Machine out{made, nullptr};
  if (rondoCommDup(made, &out.kept, nullptr) == rondoSuccess) return out;
  rondoCommDestroy(made);
  return {};
}

rondoPrediction_t predictionOf(rondoComm_t comm) {
  rondoPrediction_t out{};
  out.size = sizeof out;
  rondoCommGetPrediction(comm, &out);
  return out;
}

void reportMachine(const char* door, rondoComm_t kept) {
  const rondoPrediction_t p = predictionOf(kept);
  int rank = 0, size = 0;
  rondoCommUserRank(kept, &rank);
  rondoCommCount(kept, &size);
  std::fprintf(stderr, "%s: rehearsed %llu calls as rank %d of %d: %.2f us predicted (%s)\n", door,
               static_cast<unsigned long long>(p.calls), rank, size,
               static_cast<double>(p.picoseconds) * 1e-6, p.comm);
}

bool endMachine(const char* door, rondoComm_t kept) {
  if (rondoCommDestroy(kept) == rondoSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", door, rondoGetLastError(nullptr));
  return false;
}

}  // namespace rondo::drop_in
