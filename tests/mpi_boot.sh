#!/usr/bin/env bash
# The MPI door: communicators from MPI_Comms, refusals on all ranks, the end in MPI_Finalize.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
for ranks in 1 2 4; do
  runMpi $ranks "$TEST_BUILDDIR/tests/mpi/boot_test"
done
