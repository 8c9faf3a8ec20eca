#!/usr/bin/env bash
# Collectives between two hosts of name spaces (root), Rondo and Open MPI in turns within one job, told apart by the
# machine's state: the tables of docs/performance-log.md, "Between hosts".
#   benchmarks/host_turns.sh [RANKS A HOST [SECONDS A CELL [COLLECTIVE:KIB[,COLLECTIVE:KIB...]]]]
# Each collective is run beside Open MPI's TCP BTL and beside its UCX pml, in two jobs, one after the other. Prints for
# each state Rondo's time and, in **, the ratio to the quicker of the two transports, each inside its own job. HOSTS_CONGESTION= leaves TCP's congestion
# control as the machine has it (tests/testbed/hosts). HOST_TURNS_LIBRARY: the folder of another librondo.so.0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1-} != inside ]]; then
  make -s -C build benchmarks/host_turns
  exec tests/testbed/hosts 2 "$PWD/benchmarks/host_turns.sh" inside "$@"
fi
shift
each=${1-1} seconds=${2-0.4} cells=${3-}
if [[ -z $cells ]]; then
  for name in allreduce reduce_scatter allgather alltoall bcast; do
    for kib in 64 256 1024 4096 16384; do cells+=${cells:+,}$name:$kib; done
  done
fi
export OMPI_MCA_mpi_yield_when_idle=1 RONDO_TUNE_DIR=${RONDO_TUNE_DIR-/nowhere}
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 MALLOC_TOP_PAD_=1073741824
export LD_LIBRARY_PATH=${HOST_TURNS_LIBRARY:-$PWD/build/.libs}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
program=build/benchmarks/.libs/host_turns
[[ -x $program ]] || program=build/benchmarks/host_turns
if ((2 * each <= $(nproc))); then  # mpirun would bind the first rank of every host to the same core
  printf '#!/bin/sh\nexec taskset -c $OMPI_COMM_WORLD_RANK %q "$@"\n' "$PWD/$program" >"$dir/pinned"
  chmod +x "$dir/pinned"
  program=$dir/pinned
fi
ucx=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any)
btl=(--mca btl ^openib)
for name in $(tr , '\n' <<<"$cells" | sed 's/:.*//' | awk '!seen[$0]++'); do
  its=$(tr , '\n' <<<"$cells" | grep "^$name:" | paste -sd,)
  for way in btl ucx; do
    declare -n options=$way
    mpirun -n $((2 * each)) --bind-to none --host "h0:$each,h1:$each" "${options[@]}" -x LD_LIBRARY_PATH \
      "$program" "$dir/flag" "$seconds" "$its" >>"$dir/$way.csv"
  done
done
python3 - "$dir" "$each" <<'END'
import csv, sys

times = {}  # (collective, bytes, state) -> {way: (Rondo, MPI)}
for way in ("btl", "ucx"):
    for row in csv.reader(open(f"{sys.argv[1]}/{way}.csv")):
        if len(row) == 6 and int(row[3]) >= 3:
            times.setdefault((row[0], int(row[1]), row[2]), {})[way] = (float(row[4]), float(row[5]))
for state in ("one core", "one cache", "apart"):
    mine = {(name, size): by for (name, size, s), by in times.items() if s == state}
    if not mine:
        continue
    sizes = sorted({size for _, size in mine})
    print(f"\n| {sys.argv[2]} a host, cores: {state} | " + " | ".join(f"{size >> 10} Ki" for size in sizes) + " |")
    print("| --- " * (len(sizes) + 1) + "|")
    for name in dict.fromkeys(name for name, _ in mine):
        cells = []
        for size in sizes:
            by = mine.get((name, size), {})
            best = min(by, key=lambda way: by[way][1]) if by else None
            # The other transport may have had no round in this state.
            mark = "" if len(by) == 2 else f" ({best} only)" if best else ""
            cells.append(f"{by[best][0]:.0f} **{by[best][0] / by[best][1]:.2f}**{mark}" if best else "")
        print(f"| {name} | " + " | ".join(cells) + " |")
END
