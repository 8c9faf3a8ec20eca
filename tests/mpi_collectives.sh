#!/usr/bin/env bash
# Every collective through the MPI door against MPI's own.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"

for ranks in 1 2 3 4 5 7 8 16; do
  echo "== $ranks ranks"
  runMpi "$ranks" "$TEST_BUILDDIR/tests/mpi/collectives_test"
done

# Hierarchies: the planner may take them, and every algorithm's group numbers are the user's.
echo "== 5 ranks in groups"
RONDO_GROUPS=0,1,0,1,1 runMpi 5 "$TEST_BUILDDIR/tests/mpi/collectives_test"
echo "== 5 ranks in groups, hierarchies only"
hier=allreduce:host:0-16K:hier,allreduce:host:16K-:stripes
for collective in broadcast reduce allgather reducescatter barrier; do
  hier+=,$collective:host:0-:hier
done
RONDO_GROUPS=0,1,0,1,1 RONDO_TUNE=$hier runMpi 5 "$TEST_BUILDDIR/tests/mpi/collectives_test"
