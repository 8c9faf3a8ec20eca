// Communicators on machines that need not be there.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "api/comm_create.h"
#include "api/handle.h"
#include "api/rehearsed.h"
#include "api/rondo_virtual.h"
#include "base/error.h"
#include "topo/load.h"

namespace rondo {
namespace {

/// The size of the first version.
constexpr size_t kFirstSize = offsetof(rondoVirtualConfig_t, splits);
constexpr size_t kMostSize = 4096;

/// The caller's struct in this library's layout, as rondoConfig_t is adopted.
rondoVirtualConfig_t adopt(const rondoVirtualConfig_t& given) {
  const bool whole = given.size == kFirstSize || given.size >= sizeof given;
  if (!whole || given.size > kMostSize || given.version == 0 ||
      given.version > RONDO_VIRTUAL_CONFIG_VERSION) {
    throw Error(rondoInvalidArgument,
                format("config.size is %zu and config.version %u; allowed: %zu and %d, as "
                       "RONDO_VIRTUAL_CONFIG_INITIALIZER sets them",
                       given.size, given.version, sizeof given, RONDO_VIRTUAL_CONFIG_VERSION));
  }
  const char* const bytes = reinterpret_cast<const char*>(&given);
  for (size_t i = sizeof given; i < given.size; ++i) {
    if (bytes[i] == 0) continue;
    throw Error(rondoInvalidArgument,
                format("config byte %zu is set, but this library knows only %zu bytes of the "
                       "struct; allowed: 0 there",
                       i, sizeof given));
  }
  rondoVirtualConfig_t out = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  std::memcpy(&out, &given, std::min(given.size, sizeof out));
  return out;
}

VirtualConfig check(const rondoVirtualConfig_t* config) {
  VirtualConfig out;
  if (config == nullptr) return out;
  const rondoVirtualConfig_t given = adopt(*config);
  if (given.ownData != 0 && given.ownData != 1) {
    throw Error(rondoInvalidArgument,
                format("config.ownData is %d; allowed: 0 or 1", given.ownData));
  }
  out.ownData = given.ownData == 1;
  if (given.name != nullptr) out.name = given.name;
  if (given.output != nullptr) out.output = given.output;
  if (given.splits != nullptr) out.splits = sim::splitRules(given.splits);
  return out;
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommInitVirtual(rondoComm_t* comm, const char* topology, int nranks, int rank,
                                   const rondoVirtualConfig_t* config) {
  const char* const call = "rondoCommInitVirtual";
  return rondo::guarded(nullptr, call, [&] {
    using rondo::Error;
    if (comm == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument comm is NULL; allowed: where to write the communicator");
    }
    if (topology == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument topology is NULL; allowed: a file, or a description as in \"8 gpu "
                  "nvlink=450 nvswitch\"");
    }
    if (nranks < 0) {
      throw Error(
          rondoInvalidArgument,
          rondo::format("argument nranks is %d; allowed: from 1, or 0 for one on each place "
                        "of the machine",
                        nranks));
    }
    rondo::VirtualConfig checked = rondo::check(config);
    rondo::topo::Loaded loaded = rondo::topo::loadTopology(topology);
    for (const std::string& warning : loaded.warnings) {
      std::fprintf(stderr, "rondo: %s\n", warning.c_str());
    }
    auto made = std::make_shared<rondo::RehearsedProgram>(std::move(loaded.graph), nranks, rank,
                                                          std::move(checked));
    *comm = rondo::makeVirtual(made, made->program.first());
  });
}

rondoResult_t rondoCommGetPrediction(rondoComm_t comm, rondoPrediction_t* prediction) {
  const char* const call = "rondoCommGetPrediction";
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  return rondo::guarded(comm, call, [&] {
    using rondo::Error;
    rondo::requireVirtual(*comm);
    if (prediction == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument prediction is NULL; allowed: where to write the prediction");
    }
    const size_t size = prediction->size, least = offsetof(rondoPrediction_t, lastBytes);
    if (size < least || size > 4096) {
      throw Error(
          rondoInvalidArgument,
          rondo::format("prediction->size is %zu; allowed: sizeof(rondoPrediction_t), which "
                        "is %zu here",
                        size, sizeof *prediction));
    }
    rondoPrediction_t out = static_cast<rondo::Rehearsed&>(*comm->rehearsal).prediction();
    out.size = size;
    std::memcpy(prediction, &out, std::min(size, sizeof out));
  });
}
