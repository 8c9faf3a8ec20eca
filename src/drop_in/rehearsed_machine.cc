#include "drop_in/rehearsed_machine.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/writable.h"

namespace rondo::drop_in {
namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// That a rehearsal writes at its end.
constexpr char kOneOfTheFiles[] = ".calls.csv";

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

/// "machine.xml:64"; without a number behind the last colon, a rank on every place.
void readTopology(const char* name, Wish* to) {
  to->topology = env(name);
  if (to->topology.empty()) return;
  const size_t colon = to->topology.rfind(':');
  if (colon != std::string::npos && isNumber(to->topology.substr(colon + 1))) {
    const bool parsed = parseNumber(to->topology.substr(colon + 1), &to->ranks);
    if (!parsed || to->ranks == 0) refuse(name, "TOPOLOGY:N with N from 1 to 65536");
    to->topology.resize(colon);
  }
  if (to->topology.empty()) refuse(name, "TOPOLOGY:N, a file or a description and ranks");
}

void readRank(const char* name, Wish* to) {
  const std::string rank = env(name);
  if (!rank.empty() && !parseNumber(rank, &to->rank)) {
    refuse(name, "the rank that this process is, from 0");
  }
}

void readOutput(const char* name, Wish* to) {
  const std::string output = env(name);
  if (output.empty()) return;
  to->output = output;
  const std::string why = whyUnwritable(output + kOneOfTheFiles);
  if (why.empty()) return;
  refuse(name, "what the names of files begin with, in a folder that takes them (" + output +
                   kOneOfTheFiles + ": " + why + ")");
}

void readGraph(const char* name, Wish* to) {
  const std::string graph = env(name);
  if (graph.empty()) return;
  if (graph != "whole" && graph != "mutual") refuse(name, "whole or mutual");
  to->edges = graph == "whole" ? OthersEdges::None : OthersEdges::Mirrored;
}

struct Reader {
  const char* name;
  void (*read)(const char* name, Wish* to);
};
constexpr Reader kReaders[] = {
    {"RONDO_VIRTUAL", readTopology},
    {"RONDO_VIRTUAL_RANK", readRank},
    {"RONDO_VIRTUAL_OUT", readOutput},
    {"RONDO_VIRTUAL_SPLIT", [](const char* name, Wish* to) { to->splits = env(name); }},
    {"RONDO_VIRTUAL_GRAPH", readGraph},
};

}  // namespace

bool wantsRehearsal() { return !env("RONDO_VIRTUAL").empty(); }

Wish readWish() {
  Wish out;
  for (const Reader& reader : kReaders) reader.read(reader.name, &out);
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

std::string faultOfWish(const char* name) {
  try {
    Wish wish;
    for (const Reader& reader : kReaders) {
      if (name == std::string_view(reader.name)) reader.read(reader.name, &wish);
    }
    if (name != std::string_view("RONDO_VIRTUAL") || !wantsRehearsal()) return "";
    try {
      wish = readWish();
    } catch (const Error&) {
      return "";  // another variable's fault, which is told of that one
    }
    const Machine machine = makeMachine(wish, wish.ranks, wish.rank, "", /*ownData=*/false);
    if (machine.made == nullptr) return rondoGetLastError(nullptr);
    rondoCommDestroy(machine.made);
    rondoCommDestroy(machine.kept);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

bool endMachine(const char* door, rondoComm_t kept) {
  if (rondoCommDestroy(kept) == rondoSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", door, rondoGetLastError(nullptr));
  return false;
}

}  // namespace rondo::drop_in
