#!/usr/bin/env bash
# osu_turns.sh [RANKS [ROUNDS [PROGRAM...]]] : OSU's collective micro-benchmarks on host memory, unmodified, with
# librondo_mpi.so before MPI and without it, in turn. A line for each program and size: microseconds of both, medians of
# the rounds, their ratio, the same of the quickest rounds (where lines move quickly or slowly between cores differs from
# process to process), and "slower" where the layer's is by more than 3 % and 50 ns in both. RONDO_OSU_DIR: a folder under which the
# built programs lie. RONDO_OSU_LAYER: the folder of librondo_mpi.so (.libs). RONDO_OSU_OPTIONS: words for every
# program (-m 8:1048576); its numbers of iterations are the programs' own. RONDO_BIND: --bind-to's word (none).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/mpi_env.sh"
[[ -n ${RONDO_OSU_DIR:-} ]] || { echo "RONDO_OSU_DIR is not set; allowed: a folder with built OSU micro-benchmarks"; exit 77; }
layer=${RONDO_OSU_LAYER:-${TEST_BUILDDIR:-$PWD}/.libs}/librondo_mpi.so
[[ -f $layer ]] || { echo "no $layer; RONDO_OSU_LAYER is its folder"; exit 77; }
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMPI_MCA_hwloc_base_binding_policy=${RONDO_BIND:-none}
# Ranks that have cores of their own need not yield.
[[ ${1:-2} -gt $(nproc) ]] || export OMPI_MCA_mpi_yield_when_idle=0
ranks=${1:-2} rounds=${2:-3}
shift $(($# < 2 ? $# : 2))
read -ra options <<<"${RONDO_OSU_OPTIONS:--m 8:1048576}"
[[ $# != 0 ]] || set -- allgather allgatherv allreduce alltoall alltoallv bcast gather gatherv reduce reduce_scatter scatter \
  scatterv barrier iallgather iallgatherv iallreduce ialltoall ialltoallv ibarrier ibcast igather igatherv ireduce ireduce_scatter \
  iscatter iscatterv
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
all=0 slower=0
for name in "$@"; do
  program=$(find "$RONDO_OSU_DIR" -type f -name "osu_$name" -perm -u+x | head -n 1)
  [[ -n $program ]] || { echo "no osu_$name under $RONDO_OSU_DIR"; continue; }
  for ((round = 0; round < rounds; ++round)); do
    for which in layer bare; do
      preload=()
      [[ $which == bare ]] || preload=(-x LD_PRELOAD="$layer")
      timeout 300 mpirun --oversubscribe -n "$ranks" -x LD_LIBRARY_PATH ${preload[@]+"${preload[@]}"} "$program" \
        "${options[@]}" >"$scratch/$which.$round" 2>"$scratch/error" || { cat "$scratch/error"; exit 1; }
    done
  done
  read -r more worse < <(awk -v name="$name" -v rounds="$rounds" '
    FNR == 1 { split(FILENAME, parts, "/"); which = parts[length(parts)] ~ /^layer/ ? 1 : 2 }
    # A size and the whole time; barriers have no size.
    /^ *[0-9]/ { none = name ~ /^i?barrier$/
               size = none ? 0 : $1; value = none ? $1 : $2
               if (!(size in seen)) { order[++sizes] = size; seen[size] = 1 }
               times[which, size, ++n[which, size]] = value }
    function least(which, size,   i, m) {
      m = times[which, size, 1] + 0
      for (i = 2; i <= n[which, size]; ++i) if (times[which, size, i] + 0 < m) m = times[which, size, i] + 0
      return m
    }
    function isSlower(a, b) { return a > 1.03 * b && a > b + 0.05 }
    function median(which, size,   i, j, t, k) {
      k = n[which, size]
      for (i = 1; i <= k; ++i) sorted[i] = times[which, size, i] + 0
      for (i = 2; i <= k; ++i) for (j = i; j > 1 && sorted[j - 1] > sorted[j]; --j) { t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t }
      return k % 2 ? sorted[(k + 1) / 2] : (sorted[k / 2] + sorted[k / 2 + 1]) / 2
    }
    END { for (s = 1; s <= sizes; ++s) {
            a = median(1, order[s]); b = median(2, order[s]); c = least(1, order[s]); d = least(2, order[s])
            bad = isSlower(a, b) && isSlower(c, d)
            worse += bad
            printf "%-16s %9d %11.2f %11.2f %7.2f %11.2f %11.2f %7.2f%s\n", name, order[s], a, b, a / b, c, d, c / d,
              bad ? " slower" : "" >"/dev/stderr"
          }
          print sizes + 0, worse + 0 }' "$scratch"/layer.* "$scratch"/bare.*)
  all=$((all + more)) slower=$((slower + worse))
done
echo "$all rows, $slower slower by more than 3 % and 50 ns"
