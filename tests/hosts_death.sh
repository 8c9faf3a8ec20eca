#!/usr/bin/env bash
# What happens on other hosts when a rank is killed or stopped, or a cable is pulled: hosts of name
# spaces, ranks by unique id. Needs root. Times are printed; HOSTS_DEATH_SLACK=0 holds them against what is
# promised (5 s for a cable), by default they may be 6 s more: the machine may be busy. HOSTS_DEATH=cut runs one
# section alone, HOSTS_DEATH_MADE=1000 makes so many communicators, HOSTS_DEATH_AWAY=2.8 cuts the cable for so long;
# HOSTS_DEATH=large cuts it during an all-reduce of 1 GiB, and runs by that name alone.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank device=$TEST_BUILDDIR/tests/far_rank nccl=$TEST_BUILDDIR/tests/hosts_nccl

# ---- outside: make the hosts ----
if [[ ${1:-} != inside ]]; then
  exec "$TEST_SRCDIR/tests/testbed/hosts" 3 bash "$TEST_SRCDIR/tests/hosts_death.sh" inside
fi

# ---- inside: on host h0; `on`, `cut` and `mend` are given ----
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0 slack=${HOSTS_DEATH_SLACK:-6}
# Less than a second, or with slack less than ten.
soon='[0-9]\.[0-9]*'
[[ $slack != 0 ]] || soon='0\.[0-9]*'
fail() { echo "FAILED: $*"; failures=1; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN {printf "%.2f", b - a}'; }

# group NAME "HOSTS OF RANKS" COUNT [THEN [PROGRAM]]: starts the ranks, and waits until all of them sum.
declare -A pids
group() {
  name=$scratch/$1
  where=($2)
  local r
  pids=()
  for r in "${!where[@]}"; do
    on "${where[$r]}" "exec timeout 120 '${5:-$rank}' '$name' ${#where[@]} $r $3 ${4:-}" >"$name.$r" 2>&1 &
    pids[$r]=$!
  done
  for r in "${!where[@]}"; do
    for _ in $(seq 1200); do [[ -s $name.pid.$r ]] && break; sleep 0.05; done
    [[ -s $name.pid.$r ]] || { fail "$1: rank $r does not come: $(cat "$name".*)"; return; }
  done
}
tell() {  # signal, rank
  on "${where[$2]}" "kill -$1 $(cat "$name.pid.$2")"
}
# ends RANK LIMIT PART...: it has to end in an error within LIMIT seconds (and some slack) of `start`, whose
# sentence has all parts.
ends() {
  local r=$1 limit=$(($2 + slack)) part said took
  shift 2
  until grep -q ': error' "$name.$r" || ! kill -0 "${pids[$r]}" 2>/dev/null; do
    (( $(printf '%.0f' "$(since "$start")") > limit + 10 )) && break
    sleep 0.05
  done
  took=$(since "$start")
  said=$(cat "$name.$r")
  awk -v t="$took" -v l="$limit" 'BEGIN {exit t > l}' || fail "rank $r of ${name##*/}: $took s: $said"
  for part in "$@"; do
    grep -qF -- "$part" <<<"$said" || fail "rank $r of ${name##*/} said \"$said\", not \"$part\""
  done
  echo "  after $took s: $said"
}
sums() {  # rank: it has to end well
  wait "${pids[$1]}" || fail "rank $1 of ${name##*/} ended with $?: $(cat "$name.$1")"
  grep -q ' sums in ' "$name.$1" || fail "rank $1 of ${name##*/}: $(cat "$name.$1")"
}
goOn() {  # section, what the ranks say, ranks...: told to, they shrink, sum, and end well
  local section=$1 said=$2 r
  shift 2
  touch "$name.end"
  for r; do
    wait "${pids[$r]}" || fail "$section: rank $r: $(cat "$name.$r")"
    grep -q "$said" "$name.$r" || fail "$section: $(cat "$name.$r")"
  done
}
reap() { local r; for r in "${!pids[@]}"; do wait "${pids[$r]}" 2>/dev/null || true; done; }

killedSection() {
  echo "== a rank is killed that is alone on its host; the others go on without it"
  group killed "h0 h0 h1 h2" 1000 shrink
  start=$(now)
  pid=$(cat "$name.pid.2")
  tell 9 2
  for r in 0 1 3; do ends $r 2 "rank 2 (host \"h1\", pid $pid, by way of 10.77." ' ended'; done
  sleep 0.5
  goOn killed "shrunk to 3 in $soon s, then [0-9]* sums" 0 1 3
  tail -qn1 "$name".{0,1,3}
  reap
}

deviceSection() {
  echo "== a rank is killed while kernels of all ranks wait for each other: they end, and the others go on"
  group device "h0 h1 h1 h2" 300000 shrink "$device"
  start=$(now)
  pid=$(cat "$name.pid.1")
  tell 9 1
  for r in 0 2 3; do ends $r 2 "rank 1 (host \"h1\", pid $pid" 'of communicator "comm'; done
  goOn device 'shrunk to 3 in .* sums' 0 2 3
  reap
}

leavesSection() {
  echo "== a process ends as soon as its stream has, which has given what others wait for: kernels that get nothing do not wait"
  local r taken=()
  for r in 0 1 2; do
    on h$r "exec timeout 60 '$device' '$scratch/leaves' 3 $r 1000000 leaves" >"$scratch/leaves.$r" 2>&1 & taken[r]=$!
  done
  for r in 0 1 2; do wait "${taken[r]}" || fail "leaves: rank $r: $(cat "$scratch/leaves.$r")"; done
  cat "$scratch"/leaves.[012]
}

besideSection() {
  echo "== a rank is killed beside another one, which knows how it ended"
  group beside "h0 h1 h1" 100000
  start=$(now)
  pid=$(cat "$name.pid.1")
  tell 9 1
  ends 0 2 "rank 1 (host \"h1\", pid $pid, by way of"
  ends 2 2 "rank 1 (host \"h1\", pid $pid)" '; it was ' ' collective '
  for r in 0 2; do  # nobody can tell any more once its parent has asked
    grep -Eq '"comm" (was killed by signal 9 \(Killed\)|ended)' "$name.$r" || fail "beside: rank $r"
  done
  reap
}

idleSection() {
  echo "== nobody is in a call: what that costs, and a death is found in the next one"
  group idle "h0 h1" 10 idle
  spent() {  # rank: nanoseconds of Rondo's own threads
    on "${where[$1]}" "grep -l rondo /proc/$(cat "$name.pid.$1")/task/*/comm | sed s/comm/schedstat/ |
      xargs cat" | awk '{sum += $1} END {print sum}'
  }
  before=("$(spent 0)" "$(spent 1)")
  sleep 4
  for r in 0 1; do
    awk -v used=$(($(spent $r) - before[r])) -v rank=$r 'BEGIN {
      printf "  rank %d: %.2f %% of a core while idle\n", rank, used / 4e7
      exit used / 4e7 > 0.5
    }' || fail "idle: rank $r is not"
  done
  tell 9 1
  sleep 1
  start=$(now)
  touch "$name.stop"
  ends 0 1 'rank 1 (host "h1"' ' ended'
  reap
}

stoppedSection() {
  echo "== a rank that is stopped for 6 s, alone on its host, is late and not dead"
  group stopped "h0 h1 h2" 1000
  tell STOP 1
  sleep 6
  tell CONT 1
  sleep 0.3
  touch "$name.stop"
  for r in 0 1 2; do sums $r; done
  reap
}

revokeSection() {
  echo "== a communicator is revoked; all go on with a new one"
  group revoke "h0 h1 h1" 1000 revoke
  start=$(now)
  touch "$name.stop"
  for r in 0 1 2; do ends $r 2 'rank 0 aborted communicator'; done
  sleep 0.3
  goOn revoke "shrunk to 3 in $soon s" 0 1 2
  reap
}

ncclSection() {
  echo "== an NCCL program over hosts: its collectives, and a rank that is killed"
  # Not while check_install.sh has libtool link that library anew.
  exec {lock}>>"$TEST_BUILDDIR/tests/install.lock"
  flock -s "$lock"
  group nccl "h0 h1 h1 h2" 5000 "" "$nccl"
  flock -u "$lock"
  start=$(now)
  pid=$(cat "$name.pid.2")
  tell 9 2
  for r in 0 1 3; do ends $r 2 "rank 2 (host \"h1\", pid $pid"; done
  goOn nccl 'shrunk to 3' 0 1 3
  reap
}

growSection() {
  echo "== a communicator over hosts takes in a rank of another one"
  group grow "h0 h1 h2" 1000 grow
  touch "$name.stop"
  for r in 0 1 2; do sums $r; done
  reap
}

createSection() {
  local made=${HOSTS_DEATH_MADE:-100}
  echo "== $made communicators leave nothing"
  group create "h0 h1 h1" $made create
  touch "$name.stop"
  for r in 0 1 2; do sums $r; done
  grep -h "$made comm" "$name".[0-2]
  reap
}
mendedSection() {
  echo "== a cable is cut and mended within 3 s"
  group mended "h0 h1 h1 h2" 500000
  cut h1
  sleep "${HOSTS_DEATH_AWAY:-2}"
  mend h1
  start=$(now)
  touch "$name.stop"
  for r in 0 1 2 3; do sums $r; done
  echo "  over $(since "$start") s after it was mended"
  cat "$name".[0-3]
  reap
}

lastSection() {
  echo "== a rank ends while its cable is away, just after a send: what it sent arrives"
  group last "h0 h1" 1000 last
  touch "$name.stop"
  sleep 0.5
  cut h1
  touch "$name.end"
  sleep 1
  mend h1
  for r in 0 1; do
    wait "${pids[$r]}" || fail "last: rank $r: $(cat "$name.$r")"
    grep -q 'the last words are there' "$name.$r" || fail "last: rank $r: $(cat "$name.$r")"
  done
}

lateSection() {
  local turn part
  echo "== a rank is stopped for longer than RONDO_TIMEOUT_MS: an error on all that names it"
  for turn in 1 2 3; do
    RONDO_TIMEOUT_MS=1500 group late$turn "h0 h1 h1" 1000
    tell STOP 0
    start=$(now)
    for r in 1 2; do ends $r 3 'config.timeout' 'Not in that call yet: rank 0 (host "h0"'; done
    tell CONT 0
    ends 0 20 'communicator "comm"'
    reap
    # It may send before it has read what they said, and find them gone: seen once, on a busy machine.
    grep -Eq 'rank [12] \(host "h1".* ended' "$name.0" || break
  done
  for part in 'config.timeout' ' has passed: communicator "comm": rank ' 'Not in that call yet: rank 0 (host "h0"'; do
    grep -qF -- "$part" "$name.0" || fail "late: rank 0 said \"$(cat "$name.0")\", not \"$part\""
  done
}

# says RANK WORDS [STOPPED]: it prints a line that matches them, sooner or later: a verdict comes every second. That
# rank is kept stopped, whoever else stops and continues processes.
says() {
  local k
  for ((k = 0; k < 300; ++k)); do
    if grep -qE -- "$2" "$name.$1"; then
      grep -m1 -oE -- "$2" "$name.$1" | sed 's/^/  .../'
      return
    fi
    [[ -z ${3:-} ]] || tell STOP "$3"
    sleep 0.2
  done
  fail "rank $1 of ${name##*/} does not say \"$2\": $(cat "$name.$1")"
}

whereSection() {
  local answered='\(as its host said [0-9.e-]* s ago\)' call='collective [0-9]*, allreduce with count 1001, datatype int32, op sum'
  local late='rondo: stall: communicator "comm": rank 0 \(host "h0".*'
  echo "== a stall whose cause is on another host: its host says where the late rank is"
  RONDO_STALL_SECONDS=1 group where "h0 h1 h1" 1000
  says 0 "${late}Where: rank 1 .*, its process is stopped \(SIGSTOP, or a terminal's\); .*$call.* $answered" 1
  tell CONT 1
  touch "$name.stop"
  for r in 0 1 2; do sums $r; done
  reap
  echo "== ... which sits outside of Rondo, alone on its host"
  RONDO_STALL_SECONDS=1 group aside "h0 h1" 1000 aside
  says 0 "${late}Where: rank 1 has made no call for [0-9.]* s, its process is sleeping[^;]*; its last call was $call $answered"
  touch "$name.stop"
  for r in 0 1; do sums $r; done
  reap
  echo "== ... which is stopped, alone on its host: nobody answers, and the verdict comes all the same"
  RONDO_STALL_SECONDS=1 group alone "h0 h1" 1000
  says 0 "${late}Where: where rank 1 is, its host has not answered" 1
  tell CONT 1
  touch "$name.stop"
  for r in 0 1; do sums $r; done
  reap
}

# The same cable as the next one's.
deviceCutSection() {
  echo "== ... while kernels wait for each other: they end on both sides"
  group deviceCut "h0 h1 h2" 300000 shrink-but-1 "$device"
  touch "$scratch/device.sums"
  for _ in $(seq 1200); do [[ -s $scratch/cut.at ]] && break; sleep 0.05; done
  start=$(cat "$scratch/cut.at")
  for r in 0 2; do ends $r 5 'rank 1 (host "h1"' 'cannot be reached any more'; done
  ends 1 5 '(host "h' 'cannot be reached any more'
  touch "$name.end"
  for r in 0 1 2; do
    wait "${pids[$r]}" || fail "device cut: rank $r: $(cat "$name.$r")"
    [[ $r == 1 ]] || grep -q 'shrunk to 2 in' "$name.$r" || fail "device cut: $(cat "$name.$r")"
  done
  reap
}

cutSection() {
  local k deviceCut
  deviceCutSection >"$scratch/device.log" 2>&1 & deviceCut=$!
  echo "== a cable is cut for good; both sides go on with those whom they reach"
  group cut "h0 h0 h1 h2" 500000 shrink
  for ((k = 0; k < 1200; ++k)); do [[ -e $scratch/device.sums ]] && break; sleep 0.05; done
  start=$(now)
  cut h1
  echo "$start" >"$scratch/cut.at"
  for r in 0 1 3; do ends $r 5 'rank 2 (host "h1"' 'by way of 10.77.' 'cannot be reached any more'; done
  ends 2 5 '(host "h' 'cannot be reached any more'
  sleep 0.5
  goOn cut 'shrunk to 3 in' 0 1 3
  wait "${pids[2]}" || fail "cut: $(cat "$name.2")"
  grep -q 'shrunk to 1 in' "$name.2" || fail "cut: $(cat "$name.2")"
  tail -qn1 "$name".[0-3]
  wait $deviceCut || failures=1
  cat "$scratch/device.log"
  ! grep -q '^FAILED' "$scratch/device.log" || failures=1
  mend h1
  reap
}

# 4 GiB of memory: only when it is asked for.
largeSection() {
  echo "== a cable is cut in the middle of an all-reduce of 1 GiB"
  group large "h0 h1" $((1 << 28)) shrink
  sleep 0.3
  start=$(now)
  cut h1
  ends 0 5 'rank 1 (host "h1"' 'by way of 10.77.' 'cannot be reached any more'
  ends 1 5 'rank 0 (host "h0"' 'by way of 10.77.' 'cannot be reached any more'
  goOn large 'shrunk to 1 in' 0 1
  mend h1
  reap
}

# wanted SECTION...: those that are to run, one after the other.
wanted() {
  local section
  for section; do
    if [[ $section =~ ${HOSTS_DEATH:-.} ]]; then "${section}Section"; fi
  done
  return $failures
}
# Four of them mostly sleep. A cable is everybody's: those come last.
wanted idle >"$scratch/idle.log" 2>&1 & idle=$!
wanted stopped >"$scratch/stopped.log" 2>&1 & stopped=$!
wanted late >"$scratch/late.log" 2>&1 & late=$!
wanted where >"$scratch/where.log" 2>&1 & aside=$!
wanted killed device leaves beside nccl revoke grow create || failures=1
wait $idle || failures=1
wait $stopped || failures=1
wait $late || failures=1
wait $aside || failures=1
cat "$scratch"/{idle,stopped,late,where}.log
wanted mended last cut || failures=1
[[ ${HOSTS_DEATH:-} != large ]] || largeSection
exit $failures
