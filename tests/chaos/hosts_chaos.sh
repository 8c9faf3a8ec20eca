#!/usr/bin/env bash
# Ranks on two hosts of name spaces sum over and over while, by a seed, something is done to them:
#   kill   a rank: the others are told who it was, shrink, and go on
#   stop   a rank is stopped (SIGSTOP) and continued: all go on
#   cut    a host's cable is pulled, and put back within 3 s: all go on
#   large  the same in the middle of a sum of HOSTS_CHAOS_LARGE numbers [2^20; 2^28 are 1 GiB] between two ranks
#   frozen all ranks are stopped, and a cable is away for 5 s meanwhile: nobody takes his own sleep for another's silence
#   gone   a cable is pulled for longer than 5 s: all are told whom they cannot reach, and each side shrinks and goes on
# No sum may be wrong, and nothing may stay behind. Needs root.
# HOSTS_CHAOS_DEVICE=1: the sums are of device memory, which is pretended; without the last kind, after which each
# host would be alone with its devices.
#   HOSTS_CHAOS_RUNS=500 HOSTS_CHAOS_SEED=1 TEST_SRCDIR=. TEST_BUILDDIR=build tests/chaos/hosts_chaos.sh
# Where the machine was so late that a cable was away for longer than was meant, the seed is tried again ("AGAIN:").
# HOSTS_CHAOS_STOP: seconds for which a rank is stopped at most [2]. HOSTS_CHAOS_KIND: this ordeal only.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank
[[ -z ${HOSTS_CHAOS_DEVICE:-} ]] || rank=$TEST_BUILDDIR/tests/far_rank
if [[ ${1:-} != inside ]]; then
  exec "$TEST_SRCDIR/tests/testbed/hosts" 2 bash "$TEST_SRCDIR/tests/chaos/hosts_chaos.sh" inside
fi

runs=${HOSTS_CHAOS_RUNS:-3} seed=${HOSTS_CHAOS_SEED:-1} stop=${HOSTS_CHAOS_STOP:-2} large=${HOSTS_CHAOS_LARGE:-$((1 << 20))}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
where=(h0 h0 h1 h1)
failures=0 wrong=0
late=  # for how long a cable was away, if that was longer than is promised to go well
fail() {
  wrong=$((wrong + 1))
  if [[ -n $late ]]; then echo "AGAIN: seed $seed, $ordeal, the cable was away for $late ms: $*"; else
    echo "FAILED: seed $seed, $ordeal: $*"
    failures=$((failures + 1))
  fi
}
# away HOST MILLISECONDS: a cable, for at most so long.
away() {
  local began
  began=$(date +%s%3N)
  cut "$1"
  pause "$2"
  mend "$1"
  took=$(($(date +%s%3N) - began))
  (( took <= 3000 )) || late=$took
}
pidOf() { cat "$name.pid.$1"; }
tell() { on "${where[$2]}" "kill -$1 $(pidOf "$2")"; }
pause() {  # at most so many milliseconds
  local ms=$((RANDOM % $1))  # here: a subshell has random numbers of its own, and no seed would repeat them
  sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}
# awaits PATTERN RANK...: each says so, or fails to before it ends, or within two minutes.
awaits() {
  local pattern=$1 r k there
  shift
  for r; do
    for ((k = 0; k < 1200; ++k)); do
      there=$(kill -0 "${pids[$r]}" 2>/dev/null && echo yes || true)
      grep -Eq -- "$pattern" "$name.$r" && continue 2
      [[ -n $there ]] || break
      sleep 0.1
    done
    fail "rank $r does not say \"$pattern\": $(cat "$name.$r")"
  done
}

# Of fifty seeds in a row one is large, one frozen and five are gone; the rest are of the first three kinds.
ordealOf() {
  if (($1 % 50 == 10)); then echo large; elif (($1 % 50 == 31)); then echo frozen; elif (($1 % 10 == 5)) && [[ -z ${HOSTS_CHAOS_DEVICE:-} ]]; then echo gone; else
    case $(($1 % 3)) in 0) echo kill ;; 1) echo stop ;; 2) echo cut ;; esac
  fi
}
start() {  # COUNT [THEN]: the ranks of `where`, until all of them sum
  local r
  for r in "${!where[@]}"; do
    on "${where[$r]}" "exec timeout 300 '$rank' '$name' ${#where[@]} $r $1 ${2:-}" >"$name.$r" 2>&1 &
    pids[$r]=$!
  done
  for r in "${!where[@]}"; do
    for _ in $(seq 4000); do [[ -e $name.pid.$r ]] && continue 2; sleep 0.05; done
    fail "rank $r does not come: $(cat "$name".[0-3])"
    return 1
  done
}

killOrdeal() {
  local r pid others=()
  start $count shrink || return 0
  pause 300
  pid=$(pidOf $victim)
  for r in 0 1 2 3; do [[ $r == "$victim" ]] || others+=("$r"); done
  tell 9 $victim
  awaits "rank $victim \(host \"${where[$victim]}\", pid $pid" "${others[@]}"
  touch "$name.end"
  awaits 'shrunk to 3 in .* sums' "${others[@]}"
  wait "${pids[$victim]}" 2>/dev/null || true
  unset "pids[$victim]"
}
stopOrdeal() {
  start $count || return 0
  pause 300
  tell STOP $victim
  pause $((stop * 1000))
  tell CONT $victim
  touch "$name.stop"
  awaits ' sums in ' 0 1 2 3
}
cutOrdeal() {
  start $count || return 0
  pause 300
  away "${where[$victim]}" 2000
  touch "$name.stop"
  awaits ' sums in ' 0 1 2 3
}
largeOrdeal() {
  where=(h0 h1) count=$large
  start $count || return 0
  pause $((large >> 17))
  away h1 2000
  touch "$name.stop"
  awaits ' sums in ' 0 1
}
frozenOrdeal() {
  local r
  start $count || return 0
  pause 300
  for r in 0 1 2 3; do tell STOP $r; done
  cut "${where[$victim]}"
  sleep 5
  mend "${where[$victim]}"
  for r in 0 1 2 3; do tell CONT $r; done
  sleep 1
  touch "$name.stop"
  awaits ' sums in ' 0 1 2 3
}
goneOrdeal() {
  start $count shrink || return 0
  pause 300
  cut "${where[$victim]}"
  awaits 'error 6 after .* cannot be reached any more' 0 1 2 3
  mend "${where[$victim]}"
  sleep 0.5
  touch "$name.end"
  awaits 'shrunk to 2 in .* sums' 0 1 2 3
}

run() {
  local r victim count wrong=0 took=0 where=(h0 h0 h1 h1) pids=()
  late=
  RANDOM=$seed  # the same seed, the same choices
  ordeal=${HOSTS_CHAOS_KIND:-$(ordealOf $seed)}
  victim=$((RANDOM % 4)) count=$((1 << RANDOM % 20))
  name=$scratch/$seed
  SECONDS=0
  "${ordeal}Ordeal"
  for r in "${!pids[@]}"; do wait "${pids[$r]}" || fail "rank $r ended with $?: $(cat "$name.$r")"; done
  echo "seed $seed: $ordeal of rank $victim, $count numbers, $SECONDS s$( ((took == 0)) || echo ", the cable away for $took ms")"
  rm -f "$name".*
  [[ $wrong == 0 || -z $late ]]
}

for ((k = 0; k < runs; ++k, ++seed)); do
  for attempt in 1 2 3; do
    run && break
    [[ $attempt -lt 3 ]] || { late=; fail "the machine is too late"; }
  done
done
ordeal=after left=$(pgrep -fc -- "$rank $scratch" || true)
[[ $left == 0 ]] || fail "$left processes are left"
echo "$runs runs, $failures failures"
[[ $failures == 0 ]]
