#pragma once
// What Rondo uses of ULFM, declared: so that its uses are compiled where MPI has it not.

#include <mpi.h>

#define MPIX_ERR_PROC_FAILED 75
#define MPIX_ERR_PROC_FAILED_PENDING 76
#define MPIX_ERR_REVOKED 77

extern "C" int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
