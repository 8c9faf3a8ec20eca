#include "drop_in/mpi/rehearsed_reductions.h"

#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {
namespace {

/// A communicator that returns errors, for questions that are nobody's mistake.
MPI_Comm quiet() {
  static const MPI_Comm comm = [] {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_SELF, &made);
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return comm;
}

}  // namespace

bool isMpis(MPI_Datatype type, MPI_Op op) {
  char none[2] = {};
  return type != MPI_DATATYPE_NULL && op != MPI_OP_NULL &&
         PMPI_Allreduce(&none[0], &none[1], 0, type, op, quiet()) == MPI_SUCCESS;
}

Reduction reductionOfBytes(MPI_Datatype type, MPI_Op op) {
  Reduction how;
  if (!isMpis(type, op)) return how;
  const Layout layout = layoutOf(type);
  if (!layout.valid || !layout.dense) return how;
  how = {Why::Taken, rondoUint8, rondoSum, 1, TypeClass::Mute, layout.size};
  return how;
}

}  // namespace rondo::drop_in
