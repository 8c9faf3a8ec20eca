#!/usr/bin/env bash
# Ranks on two hosts of name spaces sum over and over while, by a seed, one is killed or stopped, or a host's cable is
# pulled and put back. Killed: the three others are told who it was, shrink, and go on. Else: all go on, and no sum is
# wrong. Nothing may stay behind. Needs root.
#   HOSTS_CHAOS_RUNS=500 HOSTS_CHAOS_SEED=1 TEST_SRCDIR=. TEST_BUILDDIR=build tests/chaos/hosts_chaos.sh
# HOSTS_CHAOS_STOP: seconds for which a rank is stopped at most [2].
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank
if [[ ${1:-} != inside ]]; then
  exec "$TEST_SRCDIR/tests/testbed/hosts" 2 bash "$TEST_SRCDIR/tests/chaos/hosts_chaos.sh" inside
fi

runs=${HOSTS_CHAOS_RUNS:-3} seed=${HOSTS_CHAOS_SEED:-1} stop=${HOSTS_CHAOS_STOP:-2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
where=(h0 h0 h1 h1)
failures=0
fail() { echo "FAILED: seed $seed, $ordeal: $*"; failures=$((failures + 1)); }
pidOf() { cat "$name.pid.$1"; }
tell() { on "${where[$2]}" "kill -$1 $(pidOf "$2")"; }
pause() { sleep "$(awk -v ms=$((RANDOM % $1)) 'BEGIN {print ms / 1000}')"; }  # at most so many milliseconds
# awaits PATTERN RANK...: each says so, or fails to within two minutes.
awaits() {
  local pattern=$1 r
  shift
  for r; do
    for _ in $(seq 1200); do grep -Eq -- "$pattern" "$name.$r" && continue 2; sleep 0.1; done
    fail "rank $r does not say \"$pattern\": $(cat "$name.$r")"
  done
}

run() {
  local r victim count then pids=()
  RANDOM=$seed  # the same seed, the same choices
  ordeal=$(awk -v k=$((seed % 3)) 'BEGIN {split("kill stop cut", a); print a[k + 1]}')
  victim=$((RANDOM % 4)) count=$((1 << RANDOM % 20))
  [[ $ordeal == kill ]] && then=shrink || then=
  name=$scratch/$seed
  for r in 0 1 2 3; do
    on "${where[$r]}" "exec timeout 300 '$rank' '$name' 4 $r $count $then" >"$name.$r" 2>&1 &
    pids[$r]=$!
  done
  for r in 0 1 2 3; do
    for _ in $(seq 1200); do [[ -e $name.pid.$r ]] && break; sleep 0.05; done
    [[ -e $name.pid.$r ]] || { fail "rank $r does not come: $(cat "$name".[0-3])"; return; }
  done
  pause 300
  case $ordeal in
    kill)
      local pid others=()
      pid=$(pidOf $victim)
      for r in 0 1 2 3; do [[ $r == "$victim" ]] || others+=("$r"); done
      tell 9 $victim
      awaits "rank $victim \(host \"${where[$victim]}\", pid $pid" "${others[@]}"
      touch "$name.end"
      awaits 'shrunk to 3 in .* sums' "${others[@]}"
      wait "${pids[$victim]}" 2>/dev/null || true
      unset "pids[$victim]"
      ;;
    stop)
      tell STOP $victim
      pause $((stop * 1000))
      tell CONT $victim
      touch "$name.stop"
      awaits ' sums in ' 0 1 2 3
      ;;
    cut)
      cut "${where[$victim]}"
      pause 2000
      mend "${where[$victim]}"
      touch "$name.stop"
      awaits ' sums in ' 0 1 2 3
      ;;
  esac
  for r in "${!pids[@]}"; do wait "${pids[$r]}" || fail "rank $r ended with $?: $(cat "$name.$r")"; done
  echo "seed $seed: $ordeal of rank $victim, $count numbers"
  rm -f "$name".*
}

for ((k = 0; k < runs; ++k, ++seed)); do run; done
ordeal=after left=$(pgrep -fc -- "$rank $scratch" || true)
[[ $left == 0 ]] || fail "$left processes are left"
echo "$runs runs, $failures failures"
[[ $failures == 0 ]]
