#!/usr/bin/env bash
# many_hosts.sh [RANKS HOSTS [COPIES]]: what a process holds as ranks and hosts become more: a table of the most of any rank, at
# each stage of tests/many_rank.cc. Hosts are made of RONDO_HOSTID; times are printed, not judged.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/many_rank
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# many RANKS HOSTS COPIES: the table, into $scratch/table.
many() {
  local name=$scratch/id.$1.$2 r pids=()
  for ((r = 0; r < $1; r++)); do
    RONDO_HOSTID=host$((r * $2 / $1)) UCX_TLS=${UCX_TLS:-tcp,self} UCX_NET_DEVICES=${UCX_NET_DEVICES:-lo} \
      timeout 300 "$rank" "$name" "$1" $r "$3" >"$name.$r" 2>&1 &
    pids+=($!)
  done
  for r in "${!pids[@]}"; do
    wait "${pids[$r]}" || { echo "rank $r of $1: $(tail -1 "$name.$r" | cut -c 1-300)"; failures=1; }
  done
  awk '$1 == "rank" && $4 == "ms" {
    if (!($3 in seen)) {seen[$3] = 1; order[++stages] = $3}
    for (i = 4; i < NF; i += 2) if ($(i + 1) > most[$3, $i]) most[$3, $i] = $(i + 1)
  } END {
    for (s = 1; s <= stages; s++) {
      printf "%-18s", order[s]
      split("ms descriptors threads heap-KiB resident-KiB shared-KiB", names)
      for (i = 1; i in names; i++) printf " %s %.0f", names[i], most[order[s], names[i]]
      print ""
    }
  }' "$name".[0-9]* >"$scratch/table"
  echo "== $1 ranks on $2 hosts"
  cat "$scratch/table"
}

if [[ $# -ge 2 ]]; then
  many "$1" "$2" "${3:-0}"
  exit $failures
fi
many 16 8 2
exit $failures
