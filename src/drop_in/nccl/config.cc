#include "drop_in/nccl/config.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"

namespace rondo::nccl {
namespace {

/// Where the struct ended in NCCL 2.14, 2.17, 2.18, 2.27 and 2.28, padding included.
constexpr size_t kSizes[] = {24, 40, 48, 56, 64, 72, sizeof(ncclConfig_t)};
static_assert(sizeof(ncclConfig_t) == 80);
constexpr size_t kMostBytes = 512;
constexpr unsigned kFirstVersion = 21400;  ///< That had the struct.

[[noreturn]] void refuse(const std::string& what) { throw Error(rondoInvalidArgument, what); }

ncclConfig_t unset() {
  constexpr int kUnset = NCCL_CONFIG_UNDEF_INT;
  return {sizeof(ncclConfig_t),
          kConfigMagic,
          kVersion,
          kUnset,
          kUnset,
          kUnset,
          kUnset,
          nullptr,
          kUnset,
          kUnset,
          nullptr,
          kUnset,
          kUnset,
          kUnset,
          kUnset,
          kUnset,
          kUnset};
}

/// Fields that this library does not know must not ask for anything.
void checkTail(const ncclConfig_t& given) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t at = sizeof given; at < given.size; at += sizeof(int)) {
    int word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    if (word == 0 || word == NCCL_CONFIG_UNDEF_INT) continue;
    refuse(
        format("config bytes %zu to %zu hold %d, a field of a newer NCCL than 2.28; allowed: "
               "not set",
               at, at + sizeof word - 1, word));
  }
}

ncclConfig_t adopt(const ncclConfig_t& given) {
  if (given.magic != kConfigMagic) {
    refuse(format("config.magic is 0x%x; allowed: what NCCL_CONFIG_INITIALIZER sets (0x%x)",
                  given.magic, kConfigMagic));
  }
  if (given.version < kFirstVersion) {
    refuse(
        format("config.version is %u; allowed: what NCCL_CONFIG_INITIALIZER sets, %u (NCCL 2.14) "
               "or more",
               given.version, kFirstVersion));
  }
  const bool known =
      std::find(std::begin(kSizes), std::end(kSizes), given.size) != std::end(kSizes);
  const bool newer = given.size > sizeof given && given.size <= kMostBytes && given.size % 8 == 0;
  if (!known && !newer) {
    refuse(
        format("config.size is %zu; allowed: what NCCL_CONFIG_INITIALIZER of NCCL 2.14 to 2.28 "
               "sets (%zu in 2.28)",
               given.size, sizeof given));
  }
  if (newer) checkTail(given);
  ncclConfig_t config = unset();
  std::memcpy(&config, &given, std::min(given.size, sizeof config));
  // NCCL 2.14's ends with `blocking`; the padding behind it holds whatever was there.
  if (given.size == kSizes[0]) config.cgaClusterSize = NCCL_CONFIG_UNDEF_INT;
  return config;
}

/// Checks a field that is set.
void checkField(const char* name, int value, int least, int most) {
  if (value == NCCL_CONFIG_UNDEF_INT || (value >= least && value <= most)) return;
  refuse(format("config.%s is %d; allowed: %d to %d, or not set", name, value, least, most));
}

}  // namespace

Config readConfig(const ncclConfig_t* config, bool blocking) {
  Config out;
  out.blocking = blocking;
  if (config == nullptr) return out;
  const ncclConfig_t given = adopt(*config);
  constexpr int kMostCTAs = 1024;
  checkField("blocking", given.blocking, 0, 1);
  checkField("cgaClusterSize", given.cgaClusterSize, 0, 8);
  checkField("minCTAs", given.minCTAs, 1, kMostCTAs);
  checkField("maxCTAs", given.maxCTAs, 1, kMostCTAs);
  checkField("splitShare", given.splitShare, 0, 1);
  checkField("CTAPolicy", given.CTAPolicy, 0, 3);
  if (given.minCTAs > given.maxCTAs && given.maxCTAs != NCCL_CONFIG_UNDEF_INT) {
    refuse(format("config.minCTAs is %d and maxCTAs %d; allowed: minCTAs <= maxCTAs", given.minCTAs,
                  given.maxCTAs));
  }
  if (given.blocking != NCCL_CONFIG_UNDEF_INT) out.blocking = given.blocking != 0;
  if (given.commName != nullptr) out.name = given.commName;
  if (given.maxCTAs != NCCL_CONFIG_UNDEF_INT) out.mostCTAs = given.maxCTAs;
  out.noCTAs = given.CTAPolicy != NCCL_CONFIG_UNDEF_INT && (given.CTAPolicy & kPolicyZero) != 0;
  return out;
}

rondoConfig_t Config::forRondo(int device) const {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = device;
  if (!name.empty()) config.name = name.c_str();
  if (mostCTAs != 0) config.smBudget = RONDO_SM_BUDGET_AT_MOST(mostCTAs);
  if (noCTAs) config.smBudget = RONDO_SM_BUDGET_NONE;
  return config;
}

}  // namespace rondo::nccl
