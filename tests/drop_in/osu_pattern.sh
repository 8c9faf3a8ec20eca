#!/usr/bin/env bash
# The calls of OSU's programs on device buffers, two ranks with a GPU each: checked through the layer, then
# timed through it and by copies to the host and back. By hand, on a machine with two GPUs:
#   tests/drop_in/osu_pattern.sh PROGRAM LIBRARIES [check | time]
# PROGRAM: osu_pattern. LIBRARIES: a folder with librondo_mpi.so and librondo.so. Two minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
[[ -x ${1-} && -f ${2-}/librondo_mpi.so ]] || { echo "usage: $0 PROGRAM LIBRARIES [check | time]"; exit 2; }
program=$(realpath "$1") layer=$(realpath "$2")/librondo_mpi.so what=${3-all}
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CUDA_MODULE_LOADING=EAGER
names=$(mktemp -d)
trap 'rm -rf "$names"' EXIT
collectives="allreduce reduce reduce_scatter bcast allgather alltoall gather scatter allgatherv gatherv scatterv alltoallv"
for name in $collectives; do ln -s "$program" "$names/osu_$name" && ln -s "$program" "$names/osu_i$name"; done
pairs="latency bw bibw latency_persistent bw_persistent bibw_persistent"
for name in $pairs; do ln -s "$program" "$names/osu_$name"; done
# Each on a core of its own, and none yields: times are to be those of a machine that is used well.
bare() {
  OMPI_MCA_mpi_yield_when_idle=0 timeout -k 10 60 mpirun -n 2 --oversubscribe --bind-to core -x LD_LIBRARY_PATH "$@"
}
layered() { bare -x CUDA_MODULE_LOADING -x LD_PRELOAD="$layer" -x RONDO_MPI=both -x RONDO_MPI_STATS=1 "$@"; }

right=0 wrong=0
checked() {  # name, options...
  local log=$names/log call=${1#osu_}
  if layered "$names/$1" "${@:2}" >"$log" 2>&1 && grep -q ' Pass$' "$log" && ! grep -q ' Fail$' "$log"; then
    right=$((right + 1))
    echo "right $* ($(grep -c ' Pass$' "$log") sizes)$(awk -v call="MPI_${call^}" '$2 == call {
      for (i = 7; i <= NF; i++) said = said " " $i; print ":" said }' "$log")"
  else
    wrong=$((wrong + 1))
    echo "WRONG $*"
    tail -30 "$log"
  fi
}
checkAll() {
  local name places
  for name in $collectives; do
    checked "osu_$name" -d cuda -c -i 5 -x 1 -u 1 -m 1:1048576
    checked "osu_i$name" -d cuda -c -i 3 -x 1 -u 1 -m 1:262144
  done
  for name in allreduce reduce reduce_scatter iallreduce; do
    checked "osu_$name" -d cuda -c -i 5 -x 1 -u 1 -m 4:1048576 -T mpi_float
    checked "osu_$name" -d cuda -c -i 5 -x 1 -u 1 -m 4:1048576 -T mpi_int
  done
  for name in $pairs; do
    for places in "D D" "D H" "H D"; do
      # shellcheck disable=SC2086
      checked "osu_$name" -c -i 3 -x 1 -m 1:262144 $places
    done
  done
  echo "checked: $right right, $wrong wrong"
}

# One after the other: both are bound to the same cores.
timed() {  # name, options...
  echo "-- osu_$1: bytes, us through the layer, us by copies, times quicker"
  layered "$names/osu_$1" "${@:2}" 2>/dev/null | grep -E '^[0-9]' | awk '{ print $1, $2 }' >"$names/ours"
  bare "$names/osu_$1" -z "${@:2}" 2>/dev/null | grep -E '^[0-9]' | awk '{ print $2 }' >"$names/copies"
  paste "$names/ours" "$names/copies" | awk '{ printf "%9d %10.2f %10.2f %8.2f\n", $1, $2, $3, $3 / $2 }'
}
timeAll() {
  local name
  for name in $collectives iallreduce ibcast iallgather ialltoall; do
    timed "$name" -d cuda -i 100 -x 30 -m 4:1048576 -T mpi_float
  done
  timed latency -i 200 -x 20 -m 1:1048576 D D
  # Persistent requests have no form with copies by hand: beside those of the calls above.
  layered "$names/osu_latency_persistent" -i 200 -x 20 -m 1:1048576 D D 2>/dev/null
}

[[ $what == time ]] || checkAll
[[ $what == check ]] || timeAll
[[ $wrong == 0 ]]
