#!/usr/bin/env bash
# The include arrows hold, and the check sees each way of breaking them.
set -euo pipefail
export AWK=$TEST_AWK
check=$TEST_SRCDIR/tools/check_includes.sh
sh "$check" "$TEST_SRCDIR/src"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

try() {  # expected status, file, what it includes...
  local expected=$1 file=$2 got=0 include
  shift 2
  rm -rf "$scratch/src"
  mkdir -p "$scratch/src/$(dirname "$file")"
  for include in "$@"; do echo "#include $include" >>"$scratch/src/$file"; done
  sh "$check" "$scratch/src" >"$scratch/said" || got=$?
  if [[ $got != "$expected" || ($expected == 1 && $(wc -l <"$scratch/said") != $#) ]]; then
    echo "$file with $*: exit status $got, expected $expected, and it said:"
    cat "$scratch/said"
    failures=1
  fi
}

try 0 api/comm.cc '"api/comm.h"' '"coll/plan.h"' '"p2p/shm.h"' '"topo/node.h"' '"config.h"' '<mpi.h>' '"ucx/ucx_transport.h"'
try 1 api/comm.cc '"ucx/ucx_ports.h"' '"kernels/prims.h"' '"comm.h"'
try 0 coll/runner.cc '"coll/plan.h"' '"p2p/shm.h"' '"topo/node.h"' '"kernels/launch.h"' '"base/error.h"'
try 1 coll/runner.cc '"api/comm.h"' '"kernels/prims.h"' '"ucx/worker.h"' '"api/rondo_mpi.h"'
try 0 coll/algo/ring.h '"coll/algo/verbs.h"' '<cstdint>'
try 1 coll/algo/ring.h '"coll/plan.h"' '"api/types.h"' '"base/error.h"' '<cuda_runtime.h>' '"verbs.h"'
try 0 p2p/shm.cc '"p2p/shm.h"' '"base/error.h"' '"api/types.h"' '<sys/mman.h>'
try 1 p2p/shm.cc '"api/comm.h"' '"coll/plan.h"' '"topo/node.h"' '"ucx/worker.h"'
try 1 topo/node.cc '"api/comm.h"' '"coll/plan.h"' '"p2p/shm.h"'
try 0 ucx/worker.cc '"p2p/transport.h"' '"ucx/worker.h"'
try 1 ucx/worker.cc '"api/comm.h"' '"coll/plan.h"' '"topo/node.h"'
try 0 kernels/ring.cu '"coll/algo/ring.h"' '"p2p/channel_view.h"' '"kernels/prims.h"' '<cuda_runtime.h>'
try 1 kernels/ring.cu '"coll/plan.h"' '"p2p/shm.h"' '"topo/node.h"'
try 0 base/error.cc '"base/error.h"' '"api/rondo.h"'
try 1 base/error.cc '"api/comm.h"' '"coll/plan.h"'
try 0 base/error.h '"api/rondo_types.h"'
try 1 base/error.h '"api/rondo_comm.h"'
try 0 api/rondo_mpi.h '<mpi.h>' '"rondo.h"'
try 0 api/rondo.h '"rondo_types.h"' '"rondo_comm.h"'
try 1 api/rondo.h '"api/types.h"' '"base/error.h"' '"config.h"'
try 1 api/rondo_comm.h '"types.h"' '"base/error.h"'
try 0 drop_in/mpi/comms.cc '"drop_in/mpi/comms.h"' '"api/rondo_mpi.h"' '"base/error.h"' '<mpi.h>'
try 1 drop_in/mpi/comms.cc '"api/comm_create.h"' '"coll/plan.h"' '"p2p/shm.h"' '"api/mpi_state.h"'
try 1 other/file.h '"other/file.h"'
exit $failures
