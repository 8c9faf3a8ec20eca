#!/usr/bin/env bash
# Communicators from MPI that are made in the background, and ones that are given up: of three ranks,
# then of each alone.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
runMpi 3 "$TEST_BUILDDIR/tests/mpi/background_test"
runMpi 3 "$TEST_BUILDDIR/tests/mpi/background_test" threads
