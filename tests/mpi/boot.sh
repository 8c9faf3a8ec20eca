#!/bin/bash
# The MPI door on 1, 2 and 4 ranks.
set -eu
. "$TEST_SRCDIR/tests/mpi_env.sh"
for ranks in 1 2 4; do
  runMpi "$ranks" "$TEST_BUILDDIR/tests/mpi/boot_test"
done
