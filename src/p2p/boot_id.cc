#include "p2p/boot_id.h"

#include <cstring>

#include "base/error.h"
#include "base/hash.h"

namespace rondo {
namespace {

constexpr char kMagic[8] = {'R', 'O', 'N', 'D', 'O', 'I', 'D', '\0'};
// 1: ranks of one host only, over a Unix socket; 2: without members
constexpr uint32_t kIdVersion = 3;

uint32_t checkOf(IdBytes bytes) {
  bytes.check = 0;
  const auto* text = reinterpret_cast<const char*>(&bytes);
  return static_cast<uint32_t>(mixBits(hashBytes({text, sizeof bytes})));
}

}  // namespace

rondoUniqueId packId(const Secret& secret, const Endpoints& endpoints, const std::string& hostName,
                     int members) {
  IdBytes bytes{};
  std::memcpy(bytes.magic, kMagic, sizeof kMagic);
  bytes.version = kIdVersion;
  bytes.secret = secret;
  bytes.endpoints = endpoints;
  bytes.members = static_cast<uint32_t>(members);
  hostName.copy(bytes.hostName, sizeof bytes.hostName - 1);
  bytes.check = checkOf(bytes);
  rondoUniqueId id;
  std::memcpy(&id, &bytes, sizeof bytes);
  return id;
}

IdBytes readId(const rondoUniqueId& id) {
  IdBytes bytes;
  std::memcpy(&bytes, &id, sizeof bytes);
  if (std::memcmp(bytes.magic, kMagic, sizeof kMagic) != 0) {
    throw Error(rondoInvalidArgument,
                "id is not one that rondoGetUniqueId made (its first bytes differ); allowed: all "
                "128 bytes, unchanged");
  }
  if (bytes.version != kIdVersion) {
    throw Error(rondoInvalidUsage,
                format("id is of version %u; this library reads version %u: the rank that made it "
                       "uses another version of Rondo",
                       bytes.version, kIdVersion));
  }
  if (bytes.check != checkOf(bytes)) {
    throw Error(rondoInvalidArgument,
                "id has changed since rondoGetUniqueId made it (its checksum is wrong); allowed: "
                "all 128 bytes, unchanged");
  }
  bytes.hostName[sizeof bytes.hostName - 1] = '\0';
  return bytes;
}

}  // namespace rondo
