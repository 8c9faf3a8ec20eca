// Packing, unpacking and local reductions as Fortran calls them. MPI's own Fortran routines call
// PMPI functions, which know nothing of device buffers.

#include <string>

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

/// Fortran's text, which ends with blanks.
std::string text(const char* given, size_t length) {
  const std::string all(given, length);
  return all.substr(0, all.find_last_not_of(' ') + 1);
}

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_pack_(void* in, MPI_Fint* count, MPI_Fint* t, void* out, MPI_Fint* size,
               MPI_Fint* position, MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Pack(buffer(in), *count, type(t), buffer(out), *size, position, comm(c)));
}

void mpi_unpack_(void* in, MPI_Fint* size, MPI_Fint* position, void* out, MPI_Fint* count,
                 MPI_Fint* t, MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Unpack(buffer(in), *size, position, buffer(out), *count, type(t), comm(c)));
}

// The length of the text comes last, after what Fortran sees.
void mpi_pack_external_(char* datarep, void* in, MPI_Fint* count, MPI_Fint* t, void* out,
                        MPI_Aint* size, MPI_Aint* position, MPI_Fint* ierror, int length) {
  give(ierror, MPI_Pack_external(text(datarep, static_cast<size_t>(length)).c_str(), buffer(in),
                                 *count, type(t), buffer(out), *size, position));
}

void mpi_unpack_external_(char* datarep, void* in, MPI_Aint* size, MPI_Aint* position, void* out,
                          MPI_Fint* count, MPI_Fint* t, MPI_Fint* ierror, int length) {
  give(ierror, MPI_Unpack_external(text(datarep, static_cast<size_t>(length)).c_str(), buffer(in),
                                   *size, position, buffer(out), *count, type(t)));
}

void mpi_reduce_local_(void* in, void* inOut, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                       MPI_Fint* ierror) {
  give(ierror, MPI_Reduce_local(buffer(in), buffer(inOut), *count, type(t), op(o)));
}

RONDO_FORTRAN_NAMES(pack, PACK)
RONDO_FORTRAN_NAMES(unpack, UNPACK)
RONDO_FORTRAN_NAMES(pack_external, PACK_EXTERNAL)
RONDO_FORTRAN_NAMES(unpack_external, UNPACK_EXTERNAL)
RONDO_FORTRAN_NAMES(reduce_local, REDUCE_LOCAL)

}  // extern "C"
#pragma GCC visibility pop

#endif
