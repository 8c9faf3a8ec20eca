#!/usr/bin/env bash
# Every collective through the MPI door against MPI's own.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"

for ranks in 1 2 3 4 5; do
  echo "== $ranks ranks"
  runMpi "$ranks" "$TEST_BUILDDIR/tests/mpi/collectives_test"
done
