#!/usr/bin/env bash
# mpi4py.sh SOURCES [RANKS] : runs mpi4py's own tests, found in the unpacked SOURCES of the version
# that is installed (Debian's python3-mpi4py carries none), through the layer. By hand: it takes minutes and a
# download. Run it in the build folder. Left out is what starts processes that lack the layer, and
# one-sided communication, in which Debian 12's Open MPI crashes by itself.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
export LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
python=${PYTHON:-/usr/bin/python3}
MPI_TIMEOUT=${MPI_TIMEOUT:-600} runMpi "${2:-2}" -x LD_LIBRARY_PATH \
  -x LD_PRELOAD="$PWD/.libs/librondo_mpi.so" -x RONDO_MPI_STATS=1 \
  "$python" "$1/test/runtests.py" --no-builddir --quiet \
  --exclude spawn --exclude dynproc --exclude rma --exclude win
