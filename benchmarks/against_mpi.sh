#!/usr/bin/env bash
# A benchmark of rondo-bench on host memory beside Open MPI: the tables of docs/performance.md.
#   benchmarks/against_mpi.sh [RANKS [RUNS [BENCHMARK[,BENCHMARK...]] [ARGUMENTS OF rondo-bench BENCHMARK...]]]
# Runs rondo-bench BENCHMARK (default allreduce) interleaved with MPI's call, in turn on Open MPI's default
# transport and on its UCX one, RUNS times each (default 5), and prints for each size the medians over the runs:
# Rondo's p50, each transport's p50, the ratio to each inside its own runs, and the ratio to the quicker one. Of
# several benchmarks it prints one row each: at every size Rondo's time and the ratio to the quicker transport. Open
# MPI gets what makes it quick: with as many cores as ranks it spins, else it yields; malloc keeps its memory (MPI's
# receive buffers else fault at 64 MiB and above).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks=${1-2} runs=${2-5}
shift $(($# < 2 ? $# : 2))
names=allreduce
if [[ ${1-} && $1 != -* ]]; then
  names=$1
  shift
fi
bench=${RONDO_BENCH:-build/install/bin/rondo-bench}
[[ -x $bench ]] || { echo "against_mpi.sh: $bench is not there; ./dev build makes it" >&2; exit 1; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^openib
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 MALLOC_TOP_PAD_=1073741824
place=(--bind-to core)
if ((ranks > $(nproc))); then
  place=(--oversubscribe --bind-to none)
  export OMPI_MCA_mpi_yield_when_idle=1
fi
# Of benchmarks/between_hosts.sh: where the ranks run, and all of them on the same cores.
if [[ ${AGAINST_HOSTS-} ]]; then
  place=(--bind-to none --host "$AGAINST_HOSTS")
  export OMPI_MCA_mpi_yield_when_idle=1
fi
ucx=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# mpirun would bind the first rank of every host to the same core.
if [[ ${AGAINST_HOSTS-} ]] && ((ranks <= $(nproc))); then
  printf '#!/bin/sh\nexec taskset -c $OMPI_COMM_WORLD_RANK %q "$@"\n' "$bench" >"$dir/pinned"
  chmod +x "$dir/pinned"
  bench=$dir/pinned
fi

# Leaves BENCHMARK.TRANSPORT.RUN.csv; an exit status of 1 may be that of wrong elements, which the summary counts.
measure() {  # benchmark, transport, run, arguments of mpirun...
  local name=$1 csv=$dir/$1.$2.$3.csv status=0
  shift 3
  mpirun -n "$ranks" "${place[@]}" "$@" "$bench" "$name" --peer mpi --csv "$csv" "${arguments[@]}" \
    >"$dir/table" || status=$?
  [[ $status == 0 ]] && return
  [[ $status == 1 && -s $csv ]] && awk -F, 'NR > 1 && $12 > 0 { found = 1 } END { exit !found }' "$csv" && return
  echo "against_mpi.sh: $name failed with exit status $status" >&2
  exit "$status"
}

arguments=("$@")
for ((run = 1; run <= runs; ++run)); do
  for name in ${names//,/ }; do
    measure "$name" default "$run"
    measure "$name" ucx "$run" "${ucx[@]}"
  done
done

python3 - "$dir" "${names//,/ }" <<'END'
import collections, csv, glob, os, statistics, sys

TRANSPORTS = ("default", "ucx")
p50 = collections.defaultdict(list)  # (benchmark, library, transport, size): a size is (place of the kind, bytes, kind)
rows = {}  # of a run, by its file's name
ops = collections.defaultdict(set)  # of a benchmark
kinds = {}  # types, with the operators of benchmarks that have several, in the order in which they came
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.csv"))):
    run = os.path.basename(path)
    with open(path) as file:
        rows[run] = list(csv.DictReader(file))
    for row in rows[run]:
        ops[run.split(".")[0]].add(row["op"])
wrong = sum(int(row["wrong"]) for run in rows for row in rows[run])
for run in rows:
    name, transport = run.split(".")[:2]
    for row in rows[run]:
        kind = row["type"] + (" " + row["op"] if len(ops[name]) > 1 else "")
        size = kinds.setdefault(kind, len(kinds)), int(row["bytes"]), kind
        p50[name, row["library"], transport, size].append(float(row["usec_p50"]))
for run in rows:
    first = next(other for other in rows if other.split(".")[0] == run.split(".")[0])
    if len(rows[run]) != len(rows[first]):
        sys.exit(f"against_mpi.sh: {run} has {len(rows[run])} rows, {first} has {len(rows[first])}")


def text(size):
    _, count, kind = size
    shift = next(s for s in (30, 20, 10, 0) if s == 0 or count > 0 and count % (1 << s) == 0)
    label = f"{count >> shift} {['', 'Ki', 'Mi', 'Gi'][shift // 10]}".strip()
    return label if len(kinds) == 1 else f"{label} {kind}"


def cells(name, size):
    """Rondo's time, each transport's, the ratio to each, the ratio to the quicker."""
    mine = statistics.median(t for x in TRANSPORTS for t in p50[name, "rondo", x, size])
    peers = {x: statistics.median(p50[name, "mpi", x, size]) for x in TRANSPORTS}
    ratios = {
        x: statistics.median(a / b for a, b in zip(p50[name, "rondo", x, size], p50[name, "mpi", x, size]))
        for x in TRANSPORTS
    }
    return mine, peers, ratios, ratios[min(peers, key=peers.get)]


names = sys.argv[2].split()
# What MPI cannot reduce is timed alone, and makes no row here.
sizes = {name: sorted({size for (n, library, _, size) in p50 if n == name and library == "mpi"}) for name in names}
if len(names) == 1:
    print("| bytes | Rondo, us | Open MPI, us | ratio | Open MPI over UCX, us | ratio | ratio to the quicker |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size in sizes[names[0]]:
        mine, peers, ratios, best = cells(names[0], size)
        print(f"| {text(size)} | {mine:.2f} | {peers['default']:.2f} | {ratios['default']:.2f} | "
              f"{peers['ucx']:.2f} | {ratios['ucx']:.2f} | **{best:.2f}** |")
else:
    every = sorted({size for name in names for size in sizes[name]})
    print("| | " + " | ".join(text(size) for size in every) + " |")
    print("| --- " * (len(every) + 1) + "|")
    for name in names:
        row = []
        for size in every:
            if size not in sizes[name]:
                row.append("")
                continue
            mine, _, _, best = cells(name, size)
            row.append(f"{mine:.{2 if mine < 10 else 1 if mine < 100 else 0}f} **{best:.2f}**")
        print(f"| {name} | " + " | ".join(row) + " |")
print(f"\n{wrong} wrong elements.")
sys.exit(wrong > 0)
END
