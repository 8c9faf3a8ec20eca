#!/usr/bin/env bash
# mpi4py's own tests through librondo_mpi.so, and its OSU benchmarks in Python. RONDO_MPI4PY_DIR: the
# unpacked sources of the version that is installed (Debian's python3-mpi4py carries no tests; `pip
# download mpi4py==VERSION --no-deps --no-binary :all:` brings them). By hand, in the build folder:
# tests/drop_in/mpi4py.sh [RANKS...]; two ranks take a minute. Left out is what starts processes that
# lack the layer, and one-sided communication, in which Debian 12's Open MPI crashes by itself.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
python=${PYTHON:-/usr/bin/python3}
sources=${RONDO_MPI4PY_DIR:-}
if [[ -z $sources ]]; then
  echo "RONDO_MPI4PY_DIR is not set; allowed: the unpacked sources of mpi4py"
  exit 77
fi
[[ -f $sources/test/runtests.py ]] || { echo "no $sources/test/runtests.py"; exit 1; }
layer=${TEST_BUILDDIR:-$PWD}/.libs/librondo_mpi.so
[[ -f $layer ]] || { echo "no $layer"; exit 77; }
"$python" -c 'import mpi4py' || { echo "no mpi4py for $python"; exit 77; }
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} MPI_TIMEOUT=${MPI_TIMEOUT:-600}

layered() {  # ranks, arguments of python...
  local ranks=$1
  shift
  runMpi "$ranks" -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" -x RONDO_MPI="${RONDO_MPI:-host}" \
    -x RONDO_MPI_STATS=1 "$python" "$@"
}

for ranks in "${@:-2}"; do
  echo "== mpi4py's tests, $ranks ranks"
  layered "$ranks" "$sources/test/runtests.py" --no-builddir --quiet --exclude spawn \
    --exclude dynproc --exclude rma --exclude win
done
if [[ ${RONDO_MPI4PY_OSU:-0} == 1 ]]; then  # minutes: thousands of calls of each size
  for program in "$sources"/demo/osu_*.py; do
    echo "== ${program##*/}"
    layered 2 "$program"
  done
fi
