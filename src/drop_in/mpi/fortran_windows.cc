// One-sided calls as Fortran makes them. MPI's own Fortran routines call PMPI functions, which know
// nothing of device buffers.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

MPI_Win win(const MPI_Fint* given) { return MPI_Win_f2c(*given); }

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_win_create_(void* base, MPI_Aint* size, MPI_Fint* unit, MPI_Fint* info, MPI_Fint* c,
                     MPI_Fint* out, MPI_Fint* ierror) {
  Made<MPI_Win> made(out, ierror);
  made.give(MPI_Win_create(buffer(base), *size, *unit, MPI_Info_f2c(*info), comm(c), made));
}

void mpi_win_attach_(MPI_Fint* w, void* base, MPI_Aint* size, MPI_Fint* ierror) {
  give(ierror, MPI_Win_attach(win(w), buffer(base), *size));
}

void mpi_put_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
              MPI_Fint* number, MPI_Fint* other, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror,
       MPI_Put(buffer(from), *count, type(t), *target, *place, *number, type(other), win(w)));
}

void mpi_rput_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
               MPI_Fint* number, MPI_Fint* other, MPI_Fint* w, MPI_Fint* request,
               MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(
      MPI_Rput(buffer(from), *count, type(t), *target, *place, *number, type(other), win(w), made));
}

void mpi_get_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
              MPI_Fint* number, MPI_Fint* other, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Get(buffer(to), *count, type(t), *target, *place, *number, type(other), win(w)));
}

void mpi_rget_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
               MPI_Fint* number, MPI_Fint* other, MPI_Fint* w, MPI_Fint* request,
               MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(
      MPI_Rget(buffer(to), *count, type(t), *target, *place, *number, type(other), win(w), made));
}

void mpi_accumulate_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
                     MPI_Fint* number, MPI_Fint* other, MPI_Fint* o, MPI_Fint* w,
                     MPI_Fint* ierror) {
  give(ierror, MPI_Accumulate(buffer(from), *count, type(t), *target, *place, *number, type(other),
                              op(o), win(w)));
}

void mpi_raccumulate_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
                      MPI_Fint* number, MPI_Fint* other, MPI_Fint* o, MPI_Fint* w,
                      MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Raccumulate(buffer(from), *count, type(t), *target, *place, *number, type(other),
                            op(o), win(w), made));
}

void mpi_get_accumulate_(void* from, MPI_Fint* count, MPI_Fint* t, void* to, MPI_Fint* results,
                         MPI_Fint* resultType, MPI_Fint* target, MPI_Aint* place, MPI_Fint* number,
                         MPI_Fint* other, MPI_Fint* o, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror,
       MPI_Get_accumulate(buffer(from), *count, type(t), buffer(to), *results, type(resultType),
                          *target, *place, *number, type(other), op(o), win(w)));
}

void mpi_rget_accumulate_(void* from, MPI_Fint* count, MPI_Fint* t, void* to, MPI_Fint* results,
                          MPI_Fint* resultType, MPI_Fint* target, MPI_Aint* place, MPI_Fint* number,
                          MPI_Fint* other, MPI_Fint* o, MPI_Fint* w, MPI_Fint* request,
                          MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Rget_accumulate(buffer(from), *count, type(t), buffer(to), *results,
                                type(resultType), *target, *place, *number, type(other), op(o),
                                win(w), made));
}

void mpi_fetch_and_op_(void* from, void* to, MPI_Fint* t, MPI_Fint* target, MPI_Aint* place,
                       MPI_Fint* o, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Fetch_and_op(buffer(from), buffer(to), type(t), *target, *place, op(o), win(w)));
}

void mpi_compare_and_swap_(void* from, void* compared, void* to, MPI_Fint* t, MPI_Fint* target,
                           MPI_Aint* place, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Compare_and_swap(buffer(from), buffer(compared), buffer(to), type(t), *target,
                                    *place, win(w)));
}

void mpi_win_fence_(MPI_Fint* hints, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_fence(*hints, win(w)));
}

void mpi_win_complete_(MPI_Fint* w, MPI_Fint* ierror) { give(ierror, MPI_Win_complete(win(w))); }

void mpi_win_unlock_all_(MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_unlock_all(win(w)));
}

void mpi_win_flush_all_(MPI_Fint* w, MPI_Fint* ierror) { give(ierror, MPI_Win_flush_all(win(w))); }

void mpi_win_flush_local_all_(MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_flush_local_all(win(w)));
}

void mpi_win_unlock_(MPI_Fint* target, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_unlock(*target, win(w)));
}

void mpi_win_flush_(MPI_Fint* target, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_flush(*target, win(w)));
}

void mpi_win_flush_local_(MPI_Fint* target, MPI_Fint* w, MPI_Fint* ierror) {
  give(ierror, MPI_Win_flush_local(*target, win(w)));
}

void mpi_win_free_(MPI_Fint* w, MPI_Fint* ierror) {
  MPI_Win freed = win(w);
  const int code = MPI_Win_free(&freed);
  giveHandle(w, freed, ierror, code);
}

RONDO_FORTRAN_NAMES(win_create, WIN_CREATE)
RONDO_FORTRAN_NAMES(win_attach, WIN_ATTACH)
RONDO_FORTRAN_NAMES(put, PUT)
RONDO_FORTRAN_NAMES(rput, RPUT)
RONDO_FORTRAN_NAMES(get, GET)
RONDO_FORTRAN_NAMES(rget, RGET)
RONDO_FORTRAN_NAMES(accumulate, ACCUMULATE)
RONDO_FORTRAN_NAMES(raccumulate, RACCUMULATE)
RONDO_FORTRAN_NAMES(get_accumulate, GET_ACCUMULATE)
RONDO_FORTRAN_NAMES(rget_accumulate, RGET_ACCUMULATE)
RONDO_FORTRAN_NAMES(fetch_and_op, FETCH_AND_OP)
RONDO_FORTRAN_NAMES(compare_and_swap, COMPARE_AND_SWAP)
RONDO_FORTRAN_NAMES(win_fence, WIN_FENCE)
RONDO_FORTRAN_NAMES(win_complete, WIN_COMPLETE)
RONDO_FORTRAN_NAMES(win_unlock_all, WIN_UNLOCK_ALL)
RONDO_FORTRAN_NAMES(win_flush_all, WIN_FLUSH_ALL)
RONDO_FORTRAN_NAMES(win_flush_local_all, WIN_FLUSH_LOCAL_ALL)
RONDO_FORTRAN_NAMES(win_unlock, WIN_UNLOCK)
RONDO_FORTRAN_NAMES(win_flush, WIN_FLUSH)
RONDO_FORTRAN_NAMES(win_flush_local, WIN_FLUSH_LOCAL)
RONDO_FORTRAN_NAMES(win_free, WIN_FREE)

}  // extern "C"
#pragma GCC visibility pop

#endif
