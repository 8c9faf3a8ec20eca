#!/usr/bin/env bash
# How much the hierarchy of hosts gains: all-reduce by four ranks on limited links, in turn
#   stripes  2 hosts of 2: what the planner takes (reduce-scatter in the host, each stripe across, all-gather in the host)
#   ring     2 hosts of 2: the flat ring
#   single   4 hosts of 1: the flat ring
# Of S bytes a card has to send S with the first, 2 (n - 1) / n S = 1.5 S with the rings: 1.5 is the factor that is
# predicted where links are the limit. "model" is the cost model's for the first two, which knows no rate of these links
# unless rondo-tune has measured it. Needs root.
#   HOSTS_RATE=1gbit benchmarks/hierarchy_factor.sh [RUNS [BYTES...]]     (3 runs, 4 MiB and 16 MiB)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1-} != inside ]]; then
  export HOSTS_RATE=${HOSTS_RATE:-1gbit}
  exec tests/testbed/hosts 4 "$PWD/benchmarks/hierarchy_factor.sh" inside "$@"
fi
shift
runs=${1-3}
shift $(($# < 1 ? $# : 1))
[[ $# != 0 ]] || set -- 4194304 16777216
bench=${RONDO_BENCH:-build/install/bin/rondo-bench}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
two=h0:2,h1:2 four=h0:1,h1:1,h2:1,h3:1

# measure NAME HOSTS TUNE BYTES: one run's median in us goes to NAME.BYTES, what was explained to NAME.said
measure() {
  RONDO_EXPLAIN=1 RONDO_TUNE=$3 mpirun --bind-to none -n 4 --host "$2" -x RONDO_EXPLAIN -x RONDO_TUNE "$bench" \
    allreduce --min "$4" --max "$4" --budget "${FACTOR_BUDGET:-1}" >"$dir/$1.said" 2>&1 ||
    { cat "$dir/$1.said"; exit 1; }
  awk '$2 == "rondo" && $1 ~ /^[0-9]+$/ {print $5}' "$dir/$1.said" >>"$dir/$1.$4"
}
predicted() {  # algorithm
  awk -v name="$1" '$1 == "rondo:" && ($2 == "runs" || $2 == "or") && $3 == name {
    for (i = 4; i < NF; ++i) if ($i == "predicted") print $(i + 1)
  }' "$dir/stripes.said" | head -n 1
}
median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

echo "links of ${HOSTS_RATE}, $runs runs in turn, medians in us; by the bytes on the links ring/s is 1.50"
printf '%10s %10s %10s %10s %8s %8s %8s\n' bytes stripes ring single ring/s single/s model
for bytes; do
  for ((run = 0; run < runs; ++run)); do
    measure stripes $two "" "$bytes"
    measure ring $two "allreduce:host:0-:ring" "$bytes"
    measure single $four "allreduce:host:0-:ring" "$bytes"
  done
  chosen=$(awk '$1 == "rondo:" && $2 == "runs" {print $3; exit}' "$dir/stripes.said")
  [[ $chosen == stripes ]] || echo "the planner took $chosen, not stripes"
  awk -v b="$bytes" -v s="$(median "$dir/stripes.$bytes")" -v r="$(median "$dir/ring.$bytes")" \
    -v o="$(median "$dir/single.$bytes")" -v ps="$(predicted stripes)" -v pr="$(predicted ring)" 'BEGIN {
    printf "%10d %10.0f %10.0f %10.0f %8.2f %8.2f %8s\n", b, s, r, o, r / s, o / s,
      (ps > 0 ? sprintf("%.2f", pr / ps) : "-")
  }'
done
