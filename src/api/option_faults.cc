#include "api/option_faults.h"

#include <exception>
#include <string_view>

#include "base/error.h"
#include "coll/planner.h"
#include "coll/reduce/reduce.h"
#include "p2p/net_interfaces.h"
#include "topo/near_groups.h"

namespace rondo {
namespace {

/// Texts that readOptions() leaves to whoever uses them: read as there (api/comm_create.cc and
/// api/unique_id.cc).
struct LaterReader {
  const char* name;
  void (*read)(const Options& options);
};
constexpr LaterReader kLaterReaders[] = {
    {"RONDO_CPU", [](const Options& options) { chooseCpuLevel(options.cpu.c_str()); }},
    {"RONDO_TUNE", [](const Options& options) { parseTune(options.tune); }},
    {"RONDO_GROUPS", [](const Options& options) { parseGroups(options.groups, 0); }},
    {"RONDO_NET_IF",
     [](const Options& options) { chooseInterface(listInterfaces(), options.netInterfaces); }},
};

}  // namespace

std::string faultOf(const OptionRow& row) {
  try {
    const Options options = readOption(row);
    for (const LaterReader& reader : kLaterReaders) {
      if (std::string_view(row.name) == reader.name) reader.read(options);
    }
  } catch (const std::exception& error) {
    return sentenceOf(error);
  }
  return "";
}

}  // namespace rondo
