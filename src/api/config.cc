// rondoConfig_t: sizes, versions, fields.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "api/comm_create.h"
#include "base/error.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

/// Where the struct may end: after each field that a header ever ended with. One that is cut inside
/// a field would leave half a pointer.
constexpr size_t kEnds[] = {
    offsetof(rondoConfig_t, name),     offsetof(rondoConfig_t, hostId),
    offsetof(rondoConfig_t, tune),     offsetof(rondoConfig_t, reproducible),
    offsetof(rondoConfig_t, blocking), sizeof(rondoConfig_t)};

/// The struct did not grow when it got these fields.
constexpr uint32_t kFirstWithSmBudget = 3, kFirstWithTimeout = 5;
constexpr int kMostMultiprocessors = 1024;

bool endsAfterAField(size_t size) {
  return size > sizeof(rondoConfig_t) || std::find(kEnds, std::end(kEnds), size) != std::end(kEnds);
}

[[noreturn]] void refuse(const std::string& what) { throw Error(rondoInvalidArgument, what); }

}  // namespace

rondoConfig_t adoptConfig(const char* call, const rondoConfig_t& given) {
  if (!endsAfterAField(given.size) || given.size > 1 << 16) {
    refuse(
        format("%s: config.size is %zu; allowed: sizeof(rondoConfig_t) as RONDO_CONFIG_INITIALIZER "
               "sets it (%zu here)",
               call, given.size, sizeof(rondoConfig_t)));
  }
  if (given.version == 0 || given.version > RONDO_CONFIG_VERSION) {
    refuse(format(
        "%s: config.version is %u; allowed: 1 to %d (a newer header than this library %d.%d.%d?)",
        call, given.version, RONDO_CONFIG_VERSION, RONDO_MAJOR, RONDO_MINOR, RONDO_PATCH));
  }
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t i = sizeof(rondoConfig_t); i < given.size; ++i) {
    if (bytes[i] != 0) {
      refuse(
          format("%s: config byte %zu is set, but this library knows only %zu bytes of the struct; "
                 "allowed: 0 there",
                 call, i, sizeof(rondoConfig_t)));
    }
  }
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  std::memcpy(&config, &given, given.size < sizeof config ? given.size : sizeof config);
  if (given.version < kFirstWithSmBudget) config.smBudget = 0;  // padding there
  if (given.version < kFirstWithTimeout) config.timeout = 0;
  config.size = sizeof config;
  config.version = RONDO_CONFIG_VERSION;
  return config;
}

bool asksNotToWait(const rondoConfig_t* config) {
  return config != nullptr && config->size >= sizeof(rondoConfig_t) && config->blocking == 0;
}

Config checkConfig(const char* call, const rondoConfig_t* config) {
  if (Segment::isParents()) {
    throw Error(rondoInvalidUsage,
                format("%s: this process was forked from one that uses Rondo, whose shared memory "
                       "it has; allowed: in that process, after exec, or before the parent's first "
                       "communicator",
                       call));
  }
  Config out;
  out.options = readOptions();
  if (config == nullptr) return out;
  const rondoConfig_t given = adoptConfig(call, *config);
  if (given.device < RONDO_DEVICE_NONE) {
    refuse(
        format("%s: config.device is %d; allowed: a device number, RONDO_DEVICE_AUTO (%d) or "
               "RONDO_DEVICE_NONE (%d)",
               call, given.device, RONDO_DEVICE_AUTO, RONDO_DEVICE_NONE));
  }
  out.device = given.device;
  if (given.name != nullptr) out.name = given.name;
  Options::FromConfig& fromConfig = out.options.fromConfig;
  fromConfig = {given.hostId != nullptr, given.tune != nullptr, given.reproducible == 1};
  if (fromConfig.hostId) out.options.hostId = given.hostId;
  if (fromConfig.tune) out.options.tune = given.tune;
  if (given.reproducible != 0 && given.reproducible != 1) {
    refuse(format("%s: config.reproducible is %d; allowed: 0 or 1", call, given.reproducible));
  }
  if (fromConfig.reproducible) out.options.reproducible = true;
  if (given.smBudget < RONDO_SM_BUDGET_AT_MOST(kMostMultiprocessors) ||
      given.smBudget == RONDO_SM_BUDGET_AT_MOST(0) || given.smBudget > kMostMultiprocessors) {
    refuse(format(
        "%s: config.smBudget is %d; allowed: 0 to %d multiprocessors, "
        "RONDO_SM_BUDGET_AT_MOST(1) to (%d), or RONDO_SM_BUDGET_NONE (%d)",
        call, given.smBudget, kMostMultiprocessors, kMostMultiprocessors, RONDO_SM_BUDGET_NONE));
  }
  if (given.blocking != 0 && given.blocking != 1) {
    refuse(format("%s: config.blocking is %d; allowed: 0 or 1", call, given.blocking));
  }
  out.blocking = given.blocking == 1;
  if (given.timeout < 0) {
    refuse(
        format("%s: config.timeout is %d; allowed: from 0, in milliseconds", call, given.timeout));
  }
  if (given.timeout > 0) out.options.timeoutMs = static_cast<uint64_t>(given.timeout);
  if (given.smBudget < RONDO_SM_BUDGET_NONE) {
    out.options.smBudgetMost = static_cast<uint64_t>(RONDO_SM_BUDGET_AT_MOST(given.smBudget));
  } else if (given.smBudget != 0) {
    out.options.noSms = given.smBudget == RONDO_SM_BUDGET_NONE;
    out.options.smBudget = out.options.noSms ? 0 : static_cast<uint64_t>(given.smBudget);
  }
  return out;
}

}  // namespace rondo
