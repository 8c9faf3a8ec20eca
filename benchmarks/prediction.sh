#!/usr/bin/env bash
# What the planner predicts beside what rondo-bench measures, on the same plans.
#   benchmarks/prediction.sh [RANKS [ALGORITHM[,ALGORITHM...] [ARGUMENTS OF rondo-bench allreduce...]]]
# All-reduce on host memory (default 2 ranks, ring and twoshot, 64 KiB to 256 MiB). Run rondo-tune first: without its
# file the built-in costs are used, which were measured on another machine. It prints, and fails on no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks=${1-2} algorithms=${2-ring,twoshot}
shift $(($# < 2 ? $# : 2))
arguments=("$@")
((${#arguments[@]})) || arguments=(--min 64K --max 256M --step 2 --budget 0.2)
bench=${RONDO_BENCH:-build/install/bin/rondo-bench}
[[ -x $bench ]] || { echo "prediction.sh: $bench is not there; ./dev build makes it" >&2; exit 1; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^openib
place=(--bind-to core)
if ((ranks > $(nproc))); then
  place=(--oversubscribe --bind-to none)
  export OMPI_MCA_mpi_yield_when_idle=1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in ${algorithms//,/ }; do
  RONDO_EXPLAIN=1 RONDO_TUNE=allreduce:host:0-:$name mpirun -n "$ranks" "${place[@]}" \
    -x RONDO_EXPLAIN -x RONDO_TUNE "$bench" allreduce --csv "$dir/$name.csv" "${arguments[@]}" \
    >"$dir/table" 2>"$dir/$name.txt" || { cat "$dir/$name.txt" "$dir/table" >&2; exit 1; }
done

python3 - "$dir" "${algorithms//,/ }" <<'END'
import csv, os, re, statistics, sys

errors = []
for number, name in enumerate(sys.argv[2].split()):
    said = open(os.path.join(sys.argv[1], name + ".txt")).read()
    if number == 0:
        print(re.search(r"costs: .*", said).group(0))
        print(f"{'algorithm':10} {'bytes':>10} {'predicted, us':>14} {'measured, us':>13} {'error':>7}")
    predicted = {
        int(size): float(time)
        for size, time in re.findall(r"of (\d+) bytes on host memory\nrondo:   runs .*predicted ([0-9.]+) us", said)
    }
    with open(os.path.join(sys.argv[1], name + ".csv")) as rows:
        for row in csv.DictReader(rows):
            size, measured = int(row["bytes"]), float(row["usec_p50"])
            error = predicted[size] / measured - 1
            errors.append(abs(error))
            print(f"{name:10} {size:10} {predicted[size]:14.2f} {measured:13.2f} {100 * error:+6.0f}%")
print(f"Without sign: median {100 * statistics.median(errors):.0f} %, worst {100 * max(errors):.0f} %.")
END
