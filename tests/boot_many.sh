#!/usr/bin/env bash
# 64 processes join by one unique id: how many messages that takes a rank, by its own counter. The time is
# printed, not judged (wanted: under 3 s): the machine may have other things to do.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/boot_rank
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# many RANKS: the most messages of any rank, to join and for a gather, into toJoin and toGather.
many() {
  local name=$scratch/id.$1 r start=$EPOCHREALTIME end
  local pids=()
  for ((r = 0; r < $1; r++)); do
    "$rank" "$name" "$1" $r >"$name.$r" 2>&1 &
    pids+=($!)
  done
  for r in "${!pids[@]}"; do
    wait "${pids[$r]}" || { echo "rank $r of $1: $(cat "$name.$r")"; failures=1; }
  done
  end=$EPOCHREALTIME
  read -r said toJoin toGather slowest < <(awk '/joined in/ {
    ++said
    if ($10 > join) join = $10
    if ($12 - $10 > gather) gather = $12 - $10
    if ($16 > slow) slow = $16
  } END {print said + 0, join + 0, gather / 10, slow + 0}' "$name".[0-9]*)
  [[ $said == "$1" ]] || { echo "$said of $1 ranks said that they joined"; failures=1; }
  echo "$1 processes: $(((${end/./} - ${start/./}) / 1000)) ms with starting them, the slowest took $slowest ms;" \
    "at most $toJoin messages to join, $toGather a gather"
}
# Three with the maker and each neighbour in the tree to join, two with each neighbour for a gather; four
# children at most, and a depth of log n: whatever the number of ranks.
for n in 4 16 64; do
  many $n
  ((toJoin >= 6 && toJoin <= 18)) || { echo "$toJoin messages to join"; failures=1; }
  awk -v got="$toGather" 'BEGIN {exit !(got >= 2 && got <= 10)}' || { echo "$toGather a gather"; failures=1; }
done
# What one more rank costs a rank: nothing. 64 ranks are 6 doublings of 1.
((toJoin <= 3 * 6)) && awk -v got="$toGather" 'BEGIN {exit !(got <= 2 * 6)}' || failures=1
exit $failures
