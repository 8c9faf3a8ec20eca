// The calls that begin and end MPI and make communicators, as Fortran makes them.

#include <algorithm>
#include <vector>

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

/// LOGICALs: .true. is whatever is not 0.
std::vector<int> flags(const MPI_Fint* logicals, int number) {
  std::vector<int> out(static_cast<size_t>(number));
  std::transform(logicals, logicals + number, out.begin(), [](MPI_Fint one) { return one != 0; });
  return out;
}

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_init_(MPI_Fint* ierror) { give(ierror, MPI_Init(nullptr, nullptr)); }

void mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  give(ierror, MPI_Init_thread(nullptr, nullptr, *required, provided));
}

void mpi_finalize_(MPI_Fint* ierror) { give(ierror, MPI_Finalize()); }

void mpi_comm_dup_(MPI_Fint* c, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_dup(comm(c), made));
}

void mpi_comm_dup_with_info_(MPI_Fint* c, MPI_Fint* info, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_dup_with_info(comm(c), MPI_Info_f2c(*info), made));
}

void mpi_comm_split_(MPI_Fint* c, MPI_Fint* color, MPI_Fint* key, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_split(comm(c), *color, *key, made));
}

void mpi_comm_split_type_(MPI_Fint* c, MPI_Fint* kind, MPI_Fint* key, MPI_Fint* info, MPI_Fint* out,
                          MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_split_type(comm(c), *kind, *key, MPI_Info_f2c(*info), made));
}

void mpi_comm_create_(MPI_Fint* c, MPI_Fint* group, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_create(comm(c), MPI_Group_f2c(*group), made));
}

void mpi_comm_create_group_(MPI_Fint* c, MPI_Fint* group, MPI_Fint* tag, MPI_Fint* out,
                            MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Comm_create_group(comm(c), MPI_Group_f2c(*group), *tag, made));
}

void mpi_cart_create_(MPI_Fint* c, MPI_Fint* dimensions, MPI_Fint* sizes, MPI_Fint* periods,
                      MPI_Fint* reorder, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  const std::vector<int> periodic = flags(periods, *dimensions);
  made.give(MPI_Cart_create(comm(c), *dimensions, sizes, periodic.data(), *reorder != 0, made));
}

void mpi_cart_sub_(MPI_Fint* c, MPI_Fint* remain, MPI_Fint* out, MPI_Fint* ierror) {
  MPI_Comm made = MPI_COMM_NULL;
  int dimensions = 0;
  int code = MPI_Cartdim_get(comm(c), &dimensions);
  if (code == MPI_SUCCESS) code = MPI_Cart_sub(comm(c), flags(remain, dimensions).data(), &made);
  giveHandle(out, made, ierror, code);
}

RONDO_FORTRAN_NAMES(init, INIT)
RONDO_FORTRAN_NAMES(init_thread, INIT_THREAD)
RONDO_FORTRAN_NAMES(finalize, FINALIZE)
RONDO_FORTRAN_NAMES(comm_dup, COMM_DUP)
RONDO_FORTRAN_NAMES(comm_dup_with_info, COMM_DUP_WITH_INFO)
RONDO_FORTRAN_NAMES(comm_split, COMM_SPLIT)
RONDO_FORTRAN_NAMES(comm_split_type, COMM_SPLIT_TYPE)
RONDO_FORTRAN_NAMES(comm_create, COMM_CREATE)
RONDO_FORTRAN_NAMES(comm_create_group, COMM_CREATE_GROUP)
RONDO_FORTRAN_NAMES(cart_create, CART_CREATE)
RONDO_FORTRAN_F08(cart_create)
RONDO_FORTRAN_NAMES(cart_sub, CART_SUB)
RONDO_FORTRAN_F08(cart_sub)

}  // extern "C"
#pragma GCC visibility pop

#endif
