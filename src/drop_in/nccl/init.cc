// Communicators: from an id, for all devices of a process, out of other communicators.

#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "drop_in/nccl/config.h"
#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"
#include "drop_in/nccl/jobs.h"
#include "drop_in/nccl/rehearsal.h"
#include "drop_in/nccl/settings.h"

namespace rondo::nccl {
namespace {

[[noreturn]] void refuseArgument(const std::string& what) {
  throw Error(rondoInvalidArgument, what);
}

void requireRank(int nranks, int rank) {
  if (nranks < 1) refuseArgument(format("argument nranks is %d; allowed: from 1", nranks));
  if (rank < 0 || rank >= nranks) {
    refuseArgument(format("argument rank is %d; allowed: 0 to %d", rank, nranks - 1));
  }
}

void requireOutput(const void* out, const char* name) {
  if (out != nullptr) return;
  refuseArgument(format("argument %s is NULL; allowed: where to write it", name));
}

/// Where the calling thread works. A rehearsal does nothing there, and streams are not ordered.
Place placeOfCaller() {
  Place place = currentPlace();
  if (rehearsing()) place.context = nullptr;
  return place;
}

/// A failure inside a group also fails the group.
template <class Body>
ncclResult_t creates(const char* name, const Body& body) {
  const ncclResult_t result = guarded(name, body);
  return result == ncclSuccess || result == ncclInProgress ? result : failInGroup(result);
}

/// How long an abort of a communicator that is being made may go unnoticed.
constexpr std::chrono::microseconds kBetweenLooks{200};

/// To the end of the making of `forming`, which is ready then, or of `handle`.
rondoComm_t awaitFormed(rondoComm_t forming, const ncclComm& handle) {
  for (;;) {
    rondoResult_t state = rondoInProgress;
    rondoCommGetAsyncError(forming, &state);
    if (state == rondoSuccess) return forming;
    if (state != rondoInProgress) {
      const std::string why = rondoGetLastError(forming);
      rondoCommDestroy(forming);
      throw Error(state, why);
    }
    if (handle.unwanted) {
      rondoCommAbort(forming);
      throw Error(rondoInvalidUsage, "the communicator was aborted while it was made");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

ncclResult_t initRank(const char* name, ncclComm_t* comm, int nranks,
                      std::span<const ncclUniqueId> ids, int rank, const ncclConfig_t* given) {
  return creates(name, [&] {
    requireOutput(comm, "comm");
    *comm = nullptr;
    requireRank(nranks, rank);
    const Config config = readConfig(given, true);
    if (rank == 0) warnOfVariables();
    Job job;
    job.name = name;
    job.place = placeOfCaller();
    job.blocking = config.blocking;
    if (rehearsing()) job.run = rehearsal(ids[0], nranks, rank);
    job.makes = makeHandle(config.blocking, job.place);
    job.written = comm;
    static_assert(sizeof(rondoUniqueId) == sizeof(ncclUniqueId));
    std::vector<rondoUniqueId> keys(ids.size());
    std::memcpy(keys.data(), ids.data(), ids.size_bytes());
    const auto real = [config, keys, nranks, rank, handle = job.makes,
                       device = job.place.device](rondoComm_t* made) {
      rondoConfig_t wanted = config.forRondo(device);
      wanted.blocking = config.blocking ? 1 : 0;
      const rondoResult_t result = rondoCommInitRankScalable(
          made, nranks, keys.data(), static_cast<int>(keys.size()), rank, &wanted);
      if (result != rondoInProgress) return result;
      *made = awaitFormed(std::exchange(*made, nullptr), *handle);
      return rondoSuccess;
    };
    if (!rehearsing()) job.run = real;
    logLine(Loud::Info,
            format("%s: rank %d of %d on device %d", name, rank, nranks, job.place.device));
    *comm = job.makes;
    return submit(std::move(job));
  });
}

/// The devices that NCCL's call means, and each one's place.
std::vector<Place> placesOf(int count, const int* devices) {
  std::vector<Place> places;
  for (int i = 0; i < count; ++i) {
    places.push_back(hasDevices() ? placeOf(devices != nullptr ? devices[i] : i)
                                  : Place{RONDO_DEVICE_NONE, nullptr});
  }
  return places;
}

/// All ranks of a communicator, in the order of `places`.
rondoResult_t makeAll(std::vector<rondoComm_t>* made, std::vector<Place>* places) {
  const int count = static_cast<int>(places->size());
  if (rehearsing()) {
    const ncclUniqueId id = rehearsedId();
    rondoResult_t result = rondoSuccess;
    for (int i = 0; i < count && result == rondoSuccess; ++i) {
      (*places)[static_cast<size_t>(i)].context = nullptr;
      result = rehearsal(id, count, i)(&(*made)[static_cast<size_t>(i)]);
    }
    return result;
  }
  std::vector<int> devices;
  for (const Place& place : *places) devices.push_back(place.device);
  return rondoCommInitAll(made->data(), count, devices.data(), nullptr);
}

/// Without a configuration of its own a child blocks as its parent does; in one, as it says or not.
Config childConfig(const ncclConfig_t* given, const ncclComm& parent) {
  return readConfig(given, given != nullptr || parent.blocking);
}

/// What a job on an existing communicator has in common with others. That one's configuration says
/// whether the call waits.
Job jobOn(const char* name, ncclComm_t parent, const Config& config, ncclComm_t* newcomm) {
  Job job;
  job.name = name;
  job.place = parent->place;
  job.blocking = parent->blocking;
  job.on = parent;
  job.makes = makeHandle(config.blocking, job.place);
  job.written = newcomm;
  *newcomm = job.makes;
  return job;
}

}  // namespace
}  // namespace rondo::nccl

using rondo::Error;
using rondo::format;
using rondo::nccl::Config;
using rondo::nccl::Job;
using rondo::nccl::usable;

RONDO_NCCL_CALL(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId)) {
  if (uniqueId == nullptr) {
    return rondo::nccl::fail(nullptr, ncclInvalidArgument,
                             "ncclGetUniqueId: argument uniqueId is NULL; allowed: where to write "
                             "the id");
  }
  if (rondo::nccl::rehearsing()) {
    *uniqueId = rondo::nccl::rehearsedId();
    return ncclSuccess;
  }
  rondoUniqueId id;
  if (const rondoResult_t bad = rondoGetUniqueId(&id)) {
    return rondo::nccl::failAs(nullptr, "ncclGetUniqueId", bad);
  }
  std::memcpy(uniqueId, &id, sizeof id);
  return ncclSuccess;
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommInitRank,
                (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  return rondo::nccl::initRank("ncclCommInitRank", comm, nranks, {&commId, 1}, rank, nullptr);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommInitRankConfig,
                (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank,
                 ncclConfig_t* config)) {
  return rondo::nccl::initRank("ncclCommInitRankConfig", comm, nranks, {&commId, 1}, rank, config);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommInitRankScalable,
                (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                 ncclConfig_t* config)) {
  const char* name = "ncclCommInitRankScalable";
  if (nId < 1 || nId > nranks || commIds == nullptr) {
    return rondo::nccl::failInGroup(rondo::nccl::fail(
        nullptr, ncclInvalidArgument,
        format("%s: argument nId is %d and commIds is %p; allowed: 1 to nranks (%d) ids", name, nId,
               static_cast<void*>(commIds), nranks)));
  }
  return rondo::nccl::initRank(name, newcomm, nranks, {commIds, static_cast<size_t>(nId)}, myrank,
                               config);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int* devlist)) {
  const char* name = "ncclCommInitAll";
  return rondo::nccl::creates(name, [&] {
    rondo::nccl::requireOutput(comm, "comm");
    if (ndev < 1) rondo::nccl::refuseArgument(format("argument ndev is %d; allowed: from 1", ndev));
    rondo::nccl::warnOfVariables();
    std::vector<rondo::nccl::Place> places = rondo::nccl::placesOf(ndev, devlist);
    std::vector<rondoComm_t> made(places.size());
    if (const rondoResult_t bad = rondo::nccl::makeAll(&made, &places)) {
      return rondo::nccl::failAs(nullptr, name, bad);
    }
    for (size_t i = 0; i < made.size(); ++i) {
      comm[i] = rondo::nccl::makeHandle(true, places[i]);
      rondo::nccl::finishHandle(comm[i], made[i], ncclSuccess);
    }
    return ncclSuccess;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommSplit,
                (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config)) {
  const char* name = "ncclCommSplit";
  return rondo::nccl::creates(name, [&]() -> ncclResult_t {
    if (const ncclResult_t bad = usable(comm, name)) return bad;
    rondo::nccl::requireOutput(newcomm, "newcomm");
    *newcomm = nullptr;
    if (color < RONDO_SPLIT_NOCOLOR) {
      rondo::nccl::refuseArgument(
          format("argument color is %d; allowed: from 0, or NCCL_SPLIT_NOCOLOR (%d)", color,
                 RONDO_SPLIT_NOCOLOR));
    }
    const Config read = rondo::nccl::childConfig(config, *comm);
    Job job = rondo::nccl::jobOn(name, comm, read, newcomm);
    if (color == RONDO_SPLIT_NOCOLOR) {  // takes part, and gets nothing
      rondo::nccl::retireHandle(job.makes);
      job.makes = *newcomm = nullptr;
    }
    job.run = [read, comm, color, key](rondoComm_t* made) {
      const rondoConfig_t wanted = read.forRondo(comm->place.device);
      const rondoResult_t result =
          rondoCommSplit(comm->inner, color, key, made, read.asksAnything() ? &wanted : nullptr);
      if (result == rondoSuccess) rondo::nccl::rehearseChild(comm->inner, *made);
      return result;
    };
    return rondo::nccl::submit(std::move(job));
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommShrink,
                (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                 ncclConfig_t* config, int shrinkFlags)) {
  const char* name = "ncclCommShrink";
  return rondo::nccl::creates(name, [&]() -> ncclResult_t {
    if (const ncclResult_t bad = usable(comm, name)) return bad;
    rondo::nccl::requireOutput(newcomm, "newcomm");
    *newcomm = nullptr;
    if (excludeRanksCount < 1 || excludeRanksList == nullptr) {
      rondo::nccl::refuseArgument(
          format("argument excludeRanksCount is %d and excludeRanksList is %p; allowed: a list of "
                 "at least one rank",
                 excludeRanksCount, static_cast<void*>(excludeRanksList)));
    }
    const Config read = rondo::nccl::childConfig(config, *comm);
    Job job = rondo::nccl::jobOn(name, comm, read, newcomm);
    const std::vector<int> without(excludeRanksList, excludeRanksList + excludeRanksCount);
    job.run = [read, comm, without, shrinkFlags](rondoComm_t* made) {
      const rondoConfig_t wanted = read.forRondo(comm->place.device);
      const rondoResult_t result =
          rondoCommShrink(comm->inner, without.data(), static_cast<int>(without.size()), made,
                          read.asksAnything() ? &wanted : nullptr, shrinkFlags);
      if (result == rondoSuccess) rondo::nccl::rehearseChild(comm->inner, *made);
      return result;
    };
    return rondo::nccl::submit(std::move(job));
  });
}
