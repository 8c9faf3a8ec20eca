#!/usr/bin/env bash
# A benchmark of rondo-bench on host memory beside Open MPI: the tables of docs/performance.md.
#   benchmarks/against_mpi.sh [RANKS [RUNS [COLLECTIVE] [ARGUMENTS OF rondo-bench COLLECTIVE...]]]
# Runs rondo-bench COLLECTIVE (default allreduce) interleaved with MPI's call, in turn on Open MPI's default
# transport and on its UCX one, RUNS times each (default 5), and prints for each size the medians over the runs:
# Rondo's p50, each transport's p50, the ratio to each inside its own runs, and the ratio to the quicker one. Open
# MPI gets what makes it quick: with as many cores as ranks it spins, else it yields; malloc keeps its memory (MPI's
# receive buffers else fault at 64 MiB and above).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks=${1-2} runs=${2-5}
shift $(($# < 2 ? $# : 2))
collective=allreduce
if [[ ${1-} && $1 != -* ]]; then
  collective=$1
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
ucx=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Leaves TRANSPORT.RUN.csv; an exit status of 1 may be a wrong element, which the summary counts.
measure() {  # transport, run, arguments of mpirun...
  local csv=$dir/$1.$2.csv status=0
  shift 2
  mpirun -n "$ranks" "${place[@]}" "$@" "$bench" "$collective" --peer mpi --csv "$csv" "${arguments[@]}" \
    >"$dir/table" || status=$?
  [[ $status == 0 || ( $status == 1 && -s $csv ) ]] || exit "$status"
}

arguments=("$@")
for ((run = 1; run <= runs; ++run)); do
  measure default "$run"
  measure ucx "$run" "${ucx[@]}"
done

python3 - "$dir" <<'END'
import collections, csv, glob, os, statistics, sys

p50 = collections.defaultdict(list)    # (library, transport, bytes)
ratio = collections.defaultdict(list)  # (transport, bytes)
wrong = 0
for name in sorted(glob.glob(os.path.join(sys.argv[1], "*.csv"))):
    transport = os.path.basename(name).split(".")[0]
    with open(name) as rows:
        for row in csv.DictReader(rows):
            p50[row["library"], transport, int(row["bytes"])].append(float(row["usec_p50"]))
            wrong += int(row["wrong"])
sizes = sorted({size for (_, _, size) in p50})
for transport in ("default", "ucx"):
    for size in sizes:
        pairs = zip(p50["rondo", transport, size], p50["mpi", transport, size])
        ratio[transport, size] = statistics.median(a / b for a, b in pairs)

print("| bytes | Rondo, us | Open MPI, us | ratio | Open MPI over UCX, us | ratio | ratio to the quicker |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for size in sizes:
    mine = statistics.median(p50["rondo", "default", size] + p50["rondo", "ucx", size])
    peers = {t: statistics.median(p50["mpi", t, size]) for t in ("default", "ucx")}
    quicker = min(peers, key=peers.get)
    shift = next(s for s in (30, 20, 10, 0) if size >> s or s == 0)
    name = f"{size >> shift} {['', 'Ki', 'Mi', 'Gi'][shift // 10]}".strip()
    print(f"| {name} | {mine:.2f} | {peers['default']:.2f} | {ratio['default', size]:.2f} | "
          f"{peers['ucx']:.2f} | {ratio['ucx', size]:.2f} | **{ratio[quicker, size]:.2f}** |")
print(f"\n{wrong} wrong elements.")
sys.exit(wrong > 0)
END
