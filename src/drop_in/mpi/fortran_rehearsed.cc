// What a rehearsal answers otherwise than MPI, as Fortran asks it.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_comm_size_(MPI_Fint* c, MPI_Fint* size, MPI_Fint* ierror) {
  give(ierror, MPI_Comm_size(comm(c), size));
}

void mpi_comm_rank_(MPI_Fint* c, MPI_Fint* rank, MPI_Fint* ierror) {
  give(ierror, MPI_Comm_rank(comm(c), rank));
}

void mpi_comm_free_(MPI_Fint* c, MPI_Fint* ierror) {
  MPI_Comm freed = comm(c);
  const int code = MPI_Comm_free(&freed);
  giveHandle(c, freed, ierror, code);
}

void mpi_comm_disconnect_(MPI_Fint* c, MPI_Fint* ierror) {
  MPI_Comm freed = comm(c);
  const int code = MPI_Comm_disconnect(&freed);
  giveHandle(c, freed, ierror, code);
}

double mpi_wtime_() { return MPI_Wtime(); }

RONDO_FORTRAN_NAMES(comm_free, COMM_FREE)
RONDO_FORTRAN_NAMES(comm_disconnect, COMM_DISCONNECT)
RONDO_FORTRAN_NAMES(comm_size, COMM_SIZE)
RONDO_FORTRAN_NAMES(comm_rank, COMM_RANK)
RONDO_FORTRAN_NAMES(wtime, WTIME)
}
#pragma GCC visibility pop

#endif
