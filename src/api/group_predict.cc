// rondoGroupPredict: an end of a group that runs nothing.

#include "api/comm_create.h"
#include "api/device_group.h"
#include "api/group_time.h"
#include "api/handle.h"
#include "api/open_group.h"
#include "coll/device_forecast.h"

namespace rondo {

/// As Launch::run() goes through it.
uint64_t DeviceGroup::timeOf(const Part& part) {
  const Communicator& comm = *part.comm->impl;
  const DeviceRunner& runner = *comm.deviceRunner();
  const int rank = comm.place().rank, ranks = comm.place().size;
  const std::span<const DeviceCall> calls(part.calls);
  uint64_t time =
      part.transfers.empty() ? 0 : forecastTransfers(runner, rank, ranks, part.transfers);
  size_t next = 0;
  for (const Pieces& pieces : part.made) {
    time += forecastCalls(runner, ranks, calls.subspan(next, pieces.after - next));
    next = pieces.after;
    if (pieces.begin != pieces.end) {
      time += forecastTransfers(runner, rank, ranks, part.of(pieces));
    }
  }
  return time + forecastCalls(runner, ranks, calls.subspan(next));
}

rondoResult_t DeviceGroup::foretell(const char* call, GroupTime* sum) const {
  for (size_t i = 0; i < used_; ++i) {
    const Part& part = parts_[i];
    const Keep keep(part.comm, call);
    if (!keep) return keep.result();
    const rondoResult_t bad = guarded(part.comm, call, [&] {
      sum->add(part.comm->impl->recorder().id(), part.comm, timeOf(part));
    });
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

namespace {

rondoResult_t foretellHost(const char* call, const rondoRequest& collected, GroupTime* sum) {
  for (rondoComm* comm : collected.comms) {
    const Keep keep(comm, call);
    if (!keep) return keep.result();
    const rondoResult_t bad = guarded(comm, call, [&] {
      sum->add(comm->impl->recorder().id(), comm, collected.run.foretell(*comm->impl));
    });
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

rondoResult_t foretell(const char* call, OpenGroup* group, uint64_t* picoseconds) {
  GroupTime sum;
  if (const rondoResult_t bad = group->rehearsed.foretell(call, &sum)) return bad;
  if (const rondoResult_t bad = group->device.foretell(call, &sum)) return bad;
  if (const rondoResult_t bad = foretellHost(call, group->request(), &sum)) return bad;
  *picoseconds = sum.total();
  return rondoSuccess;
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoGroupPredict(uint64_t* picoseconds) {
  const char* const call = "rondoGroupPredict";
  if (picoseconds == nullptr) {
    return rondo::endInVain(
        "rondoGroupPredict: argument picoseconds is NULL; allowed: where to write the time");
  }
  if (rondo::endsInside(call)) return rondoSuccess;
  rondoResult_t result = rondoSuccess;
  rondo::OpenGroup* const group = rondo::endOpenGroup(call, &result);
  if (group == nullptr) return result;
  const rondoResult_t thrown =
      rondo::guarded(nullptr, call, [&] { result = rondo::foretell(call, group, picoseconds); });
  group->drop();
  return thrown != rondoSuccess ? thrown : result;
}
