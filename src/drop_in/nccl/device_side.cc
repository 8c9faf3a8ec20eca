// NCCL's interface for code on the device: refused, with a sentence, because its kernels read
// structures of NCCL's that Rondo's memory does not have. What only counts ranks is answered.

#include "drop_in/nccl/comm.h"
#include "drop_in/nccl/failure.h"

namespace rondo::nccl {
namespace {

ncclResult_t refuseDeviceSide(ncclComm_t comm, const char* name) {
  return fail(comm, ncclInvalidUsage,
              format("%s: Rondo has no communicators for code on the device; allowed: calls from "
                     "the host",
                     name));
}

/// The whole communicator, or the calling rank alone: no other rank's windows are mapped.
ncclTeam_t team(ncclComm_t comm, const char* name, bool whole) {
  ncclTeam_t out{0, 0, 1};
  if (usable(comm, name) != ncclSuccess) return out;
  if (!whole) return {1, 0, 1};
  rondoCommCount(comm->inner, &out.nRanks);
  rondoCommUserRank(comm->inner, &out.rank);
  return out;
}

}  // namespace
}  // namespace rondo::nccl

using rondo::nccl::refuseDeviceSide;
using rondo::nccl::team;

RONDO_NCCL_CALL(ncclResult_t, ncclDevCommCreate, (ncclComm_t comm, const void*, void*)) {
  return refuseDeviceSide(comm, "ncclDevCommCreate");
}
RONDO_NCCL_CALL(ncclResult_t, ncclDevCommDestroy, (ncclComm_t comm, const void*)) {
  return refuseDeviceSide(comm, "ncclDevCommDestroy");
}
RONDO_NCCL_CALL(ncclResult_t, ncclLsaBarrierCreateRequirement, (ncclTeam_t, int, void*, void*)) {
  return refuseDeviceSide(nullptr, "ncclLsaBarrierCreateRequirement");
}
RONDO_NCCL_CALL(ncclResult_t, ncclGinBarrierCreateRequirement,
                (ncclComm_t comm, ncclTeam_t, int, void*, void*)) {
  return refuseDeviceSide(comm, "ncclGinBarrierCreateRequirement");
}
RONDO_NCCL_CALL(ncclResult_t, ncclLLA2ACreateRequirement, (int, int, void*, void*)) {
  return refuseDeviceSide(nullptr, "ncclLLA2ACreateRequirement");
}
RONDO_NCCL_CALL(int, ncclLLA2ACalcSlots, (int, int)) {
  refuseDeviceSide(nullptr, "ncclLLA2ACalcSlots");
  return 0;
}

RONDO_NCCL_CALL(ncclTeam_t, ncclTeamWorld, (ncclComm_t comm)) {
  return team(comm, "ncclTeamWorld", true);
}
RONDO_NCCL_CALL(ncclTeam_t, ncclTeamLsa, (ncclComm_t comm)) {
  return team(comm, "ncclTeamLsa", false);
}
RONDO_NCCL_CALL(ncclTeam_t, ncclTeamRail, (ncclComm_t comm)) {
  return team(comm, "ncclTeamRail", true);
}
RONDO_NCCL_CALL(int, ncclTeamRankToWorld, (ncclComm_t comm, ncclTeam_t of, int rank)) {
  return team(comm, "ncclTeamRankToWorld", true).rank + (rank - of.rank) * of.stride;
}
RONDO_NCCL_CALL(int, ncclTeamRankToLsa, (ncclComm_t comm, ncclTeam_t of, int rank)) {
  return team(comm, "ncclTeamRankToLsa", false).rank + (rank - of.rank) * of.stride;
}
