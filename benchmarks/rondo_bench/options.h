#pragma once
// The command line.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare.h"
#include "element_type.h"
#include "memory.h"

namespace rondo::bench {

enum class Library { kRondo, kMpi };
/// kNcclSymmetric: NCCL on memory of its own, registered as symmetric windows.
enum class Peer { kNone, kMpi, kNccl, kNcclSymmetric };
inline bool isNccl(Peer peer) { return peer == Peer::kNccl || peer == Peer::kNcclSymmetric; }
enum class When { kAuto, kAlways, kNever };

/// Where buffers begin, in bytes behind a multiple of --align.
struct Offsets {
  size_t send = 0;
  size_t recv = 0;
};

/// As --peer has it; "" of kNone.
const char* peerName(Peer peer);

struct Options {
  std::string command;  ///< The subcommand's name.
  size_t minBytes = 4;
  size_t maxBytes = 0;  ///< Set from the command's default where it is not given.
  size_t step = 4;
  std::vector<const ElementType*> types;
  std::vector<const Operator*> ops;
  bool anyType = false;  ///< "all": those that are not to be had are left out.
  bool anyOp = false;
  int root = 0;
  int window = 64;
  int group = 1;
  bool inPlace = false;
  std::string collective;  ///< overlap: the one to measure.
  int polls = 0;           ///< overlap: calls of test while computing.
  MemoryKind memory = MemoryKind::kHost;
  Library library = Library::kRondo;
  Peer peer = Peer::kNone;
  bool hot = false;
  size_t align = 64;  ///< Buffers begin at multiples of it, an odd number of them apart.
  Offsets offsets;    ///< Multiples of the size of every element of `types`.
  bool noCheck = false;
  std::optional<int> warmup;      ///< Unset: by size.
  std::optional<int> iterations;  ///< Unset: by size, within the budget.
  double budgetSeconds = 0.5;
  int pauseMs = 0;  ///< Before every sample.
  bool meetInBarrier = false;
  bool graph = false;
  bool awaited = false;
  bool registered = false;   ///< Device memory: buffers are registered with Rondo,
  bool copyEngines = false;  ///< for copy engines,
  bool windows = false;      ///< as windows.
  int callsPerSample = 20;
  std::string csvPath;
  std::string jsonPath;
  std::string plotPath;
  When progress = When::kAuto;
  CompareOptions compare;
};

struct CommandLine {
  Options options;
  std::optional<std::string> text;  ///< Set by --help and --version: print this, run nothing.
};

/// Throws UsageError with one sentence that names the option, its value and what is allowed.
CommandLine parseCommandLine(int argc, const char* const* argv);

}  // namespace rondo::bench
