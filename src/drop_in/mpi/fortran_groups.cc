// Groups as Fortran handles them: a rehearsal's are not MPI's.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

MPI_Group group(const MPI_Fint* given) { return MPI_Group_f2c(*given); }

/// Triplets of a first and a last rank and a step.
using Ranges = int (*)[3];

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_comm_group_(MPI_Fint* c, MPI_Fint* out, MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Comm_group(comm(c), made));
}

void mpi_group_free_(MPI_Fint* g, MPI_Fint* ierror) {
  MPI_Group freed = group(g);
  const int code = MPI_Group_free(&freed);
  giveHandle(g, freed, ierror, code);
}

void mpi_group_size_(MPI_Fint* g, MPI_Fint* size, MPI_Fint* ierror) {
  give(ierror, MPI_Group_size(group(g), size));
}

void mpi_group_rank_(MPI_Fint* g, MPI_Fint* rank, MPI_Fint* ierror) {
  give(ierror, MPI_Group_rank(group(g), rank));
}

void mpi_group_incl_(MPI_Fint* g, MPI_Fint* number, MPI_Fint* ranks, MPI_Fint* out,
                     MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_incl(group(g), *number, ranks, made));
}

void mpi_group_excl_(MPI_Fint* g, MPI_Fint* number, MPI_Fint* ranks, MPI_Fint* out,
                     MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_excl(group(g), *number, ranks, made));
}

void mpi_group_range_incl_(MPI_Fint* g, MPI_Fint* number, MPI_Fint* ranges, MPI_Fint* out,
                           MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_range_incl(group(g), *number, reinterpret_cast<Ranges>(ranges), made));
}

void mpi_group_range_excl_(MPI_Fint* g, MPI_Fint* number, MPI_Fint* ranges, MPI_Fint* out,
                           MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_range_excl(group(g), *number, reinterpret_cast<Ranges>(ranges), made));
}

void mpi_group_union_(MPI_Fint* first, MPI_Fint* second, MPI_Fint* out, MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_union(group(first), group(second), made));
}

void mpi_group_intersection_(MPI_Fint* first, MPI_Fint* second, MPI_Fint* out, MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_intersection(group(first), group(second), made));
}

void mpi_group_difference_(MPI_Fint* first, MPI_Fint* second, MPI_Fint* out, MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_Group_difference(group(first), group(second), made));
}

void mpi_group_compare_(MPI_Fint* first, MPI_Fint* second, MPI_Fint* result, MPI_Fint* ierror) {
  give(ierror, MPI_Group_compare(group(first), group(second), result));
}

void mpi_group_translate_ranks_(MPI_Fint* first, MPI_Fint* number, MPI_Fint* ranks,
                                MPI_Fint* second, MPI_Fint* translated, MPI_Fint* ierror) {
  give(ierror, MPI_Group_translate_ranks(group(first), *number, ranks, group(second), translated));
}

RONDO_FORTRAN_NAMES(comm_group, COMM_GROUP)
RONDO_FORTRAN_NAMES(group_free, GROUP_FREE)
RONDO_FORTRAN_NAMES(group_size, GROUP_SIZE)
RONDO_FORTRAN_NAMES(group_rank, GROUP_RANK)
RONDO_FORTRAN_NAMES(group_incl, GROUP_INCL)
RONDO_FORTRAN_NAMES(group_excl, GROUP_EXCL)
RONDO_FORTRAN_NAMES(group_range_incl, GROUP_RANGE_INCL)
RONDO_FORTRAN_NAMES(group_range_excl, GROUP_RANGE_EXCL)
RONDO_FORTRAN_NAMES(group_union, GROUP_UNION)
RONDO_FORTRAN_NAMES(group_intersection, GROUP_INTERSECTION)
RONDO_FORTRAN_NAMES(group_difference, GROUP_DIFFERENCE)
RONDO_FORTRAN_NAMES(group_compare, GROUP_COMPARE)
RONDO_FORTRAN_NAMES(group_translate_ranks, GROUP_TRANSLATE_RANKS)

}  // extern "C"
#pragma GCC visibility pop

#endif
