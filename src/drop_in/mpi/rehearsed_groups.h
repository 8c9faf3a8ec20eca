#pragma once
// Groups of a rehearsal, and communicators made of them.

#include <mpi.h>

#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/rehearsed_members.h"

namespace rondo::drop_in {

/// Whether `group` is one of virtual ranks; then who is in it. MPI_GROUP_EMPTY is MPI's.
bool findGroup(MPI_Group group, Members* members);

/// MPI_Comm_create and MPI_Comm_create_group: ranks of one group give the same one. Other ranks may
/// make others of their own at the same time, which nobody knows of.
int rehearseCreate(const KnownComm& known, MPI_Comm comm, const char* call, MPI_Group group,
                   MPI_Comm* made);

/// MPI_Comm_compare, at least one of the two being virtual.
int compareComms(MPI_Comm first, MPI_Comm second, int* result);

/// A group's handle for `members`.
int makeGroup(Members members, MPI_Group* made);

}  // namespace rondo::drop_in
