#!/usr/bin/env bash
# Communicators from MPI that are made in the background, and ones whose ranks never come.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
for ranks in 1 3; do
  runMpi $ranks "$TEST_BUILDDIR/tests/mpi/background_test"
  runMpi $ranks "$TEST_BUILDDIR/tests/mpi/background_test" threads
done
