#!/usr/bin/env bash
# A rank of an MPI job is killed: every survivor gets an error that names it within a second (not
# counting what the machine was late), shrinks and goes on. Open MPI keeps the survivors under
# --enable-recovery.
set -u
. "$TEST_SRCDIR/tests/mpi_env.sh"
"$TEST_MPIRUN" --version 2>/dev/null | grep -q 'Open MPI) 4\.' ||
  { echo "not Open MPI 4, whose --enable-recovery keeps survivors"; exit 77; }
out=$(timeout -k 5 600 "$TEST_MPIRUN" --enable-recovery --oversubscribe -n 4 \
  "$TEST_BUILDDIR/tests/mpi/death_test" 2>&1)
survivors=$(grep -c '^survivor: error after [0-9.]* s, shrunk to 3 in ' <<<"$out")
if ((survivors != 3)); then
  echo "$survivors of 3 survivors went on:"
  echo "$out"
  exit 1
fi
grep '^survivor' <<<"$out"
