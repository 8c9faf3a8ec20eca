#!/usr/bin/env bash
# What happens over real verbs when a rank is killed, stopped, or revokes, when a link goes away, and
# when nothing does: in a virtual machine with Soft-RoCE, where UCX runs rc_verbs. Ranks of even number are at one end of
# a virtual cable, the others at the other. Needs what tests/testbed/rdma-vm --prepare gets. Times are
# the ranks' own, from the beginning of the call that failed; VERBS_DEATH_SLACK=0 holds them against
# what is promised (5 s), by default they may be 10 s more: the machine is emulated. VERBS_DEATH_STOP:
# for how long a rank is stopped [10].
set -euo pipefail

# ---- outside: the machine sees this file system ----
if [[ ${1:-} != inside ]]; then
  cd "$TEST_BUILDDIR"
  export RDMA_VM_TIMEOUT=${RDMA_VM_TIMEOUT:-800} LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs
  exec "$TEST_SRCDIR/tests/testbed/rdma-vm" bash "$TEST_SRCDIR/tests/verbs_death.sh" inside
fi

# ---- inside, where each program that is started takes long ----
rank=$TEST_BUILDDIR/tests/.libs/hosts_rank
[[ -x $rank ]] || rank=$TEST_BUILDDIR/tests/hosts_rank
export UCX_TLS=rc_v
scratch=$(mktemp -d)
failures=0 limit=$((5 + ${VERBS_DEATH_SLACK:-10}))
declare -A pids
fail() { echo "FAILED: $*"; failures=1; }
said() { grep -v ' UCX ' "$scratch/$1" || true; }

# launch JOB RANKS COUNT [THEN]
launch() {
  local r
  for ((r = 0; r < $2; ++r)); do
    UCX_NET_DEVICES=rxe$((r % 2)):1 RONDO_HOSTID=rxe$((r % 2)) RONDO_NET_IF=eth$((r % 2)) \
      "$rank" "$scratch/$1" "$2" $r "$3" ${4:-} >"$scratch/$1.$r" 2>&1 &
    pids[$1.$r]=$!
  done
}
# awaits JOB RANKS: until all of them sum.
awaits() {
  local r
  for ((r = 0; r < $2; ++r)); do
    until [[ -s $scratch/$1.pid.$r ]]; do
      kill -0 "${pids[$1.$r]}" 2>/dev/null || { fail "$1: rank $r does not come: $(said "$1.$r")"; return; }
      read -rt 0.1 <>"$never" || true
    done
  done
}
pause() { read -rt "$1" <>"$never" || true; }
# ends JOB.RANK PART...: it ends, and had said an error in time whose sentence has all parts.
ends() {
  local who=$1 part text
  shift
  wait "${pids[$who]}" || fail "$who ended with $?"
  text=$(<"$scratch/$who")
  for part; do [[ $text == *"$part"* ]] || fail "$who does not say \"$part\""; done
  if [[ $text =~ error\ [0-9]+\ after\ ([0-9]+) ]]; then
    ((BASH_REMATCH[1] < limit)) || fail "$who was told too late"
  else
    fail "$who says no error"
  fi
  said "$who"
}
sums() {
  wait "${pids[$1]}" || fail "$1 ended with $?"
  grep -q ' sums in ' "$scratch/$1" || fail "$1 did not end well"
  said "$1"
}

never=$scratch/never
mkfifo "$never"
began=$SECONDS
at() { echo "== $((SECONDS - began)) s: $*"; }

# Frames to the other end go to nobody: both devices stay up, as cards do whose cable is cut elsewhere.
cable() {
  local end
  for end in 0 1; do
    case $1 in
      cut) ip neigh replace 10.99.0.$((2 - end)) lladdr 02:00:00:00:00:99 nud permanent dev eth$end ;;
      mend) ip neigh del 10.99.0.$((2 - end)) dev eth$end ;;
    esac
  done
}

at "a rank is killed; the others go on without it"
launch killed 3 1000 shrink
awaits killed 3
kill -9 "${pids[killed.1]}"
touch "$scratch/killed.end"
for r in 0 2; do
  ends killed.$r "rank 1 (host \"rxe1" "pid ${pids[killed.1]}" ') of communicator "comm' 'shrunk to 2 in '
done
wait "${pids[killed.1]}" || true

at "a communicator is revoked; all go on with a new one"
launch revoked 2 1000 revoke
awaits revoked 2
touch "$scratch/revoked.stop" "$scratch/revoked.end"
for r in 0 1; do ends revoked.$r 'rank 0 aborted communicator "comm' 'shrunk to 2 in '; done

at "a rank is stopped for ${VERBS_DEATH_STOP:-10} s, then the cable is away for 1 s: all sums are right"
RONDO_STALL_SECONDS=3 UCX_LOG_LEVEL=info launch stopped 2 1000
awaits stopped 2
kill -STOP "${pids[stopped.1]}"
pause "${VERBS_DEATH_STOP:-10}"
kill -CONT "${pids[stopped.1]}"
pause 0.5
cable cut
pause 1
cable mend
pause 1
touch "$scratch/stopped.stop"
for r in 0 1; do sums stopped.$r; done
log=$(<"$scratch/stopped.0")
[[ $log == *'rondo: stall: communicator "comm": rank 0 '*'Not in that call yet: rank 1 (host "rxe1'* ]] ||
  fail "nobody reports the stall"
grep -q 'ep_cfg.*am(rc_verbs/rxe' <<<"$log" || fail "UCX names no rc_verbs"

at "nobody is in a call: the network's thread sleeps until the card wakes it, and looks at the hosts"
launch idle 2 10 idle
awaits idle 2
pause 1
slept() {  # rank: how often its network's thread has gone to sleep
  local task
  for task in /proc/"${pids[idle.$1]}"/task/*; do
    [[ $(<"$task/comm") != rondo-ucx ]] || awk '/^voluntary_ctxt_switches/ {print $2}' "$task/status"
  done
}
before=("$(slept 0)" "$(slept 1)") since=${EPOCHREALTIME/./}
pause 5
for r in 0 1; do
  # 20 a second; by the clock it would be 50.
  times=$((($(slept $r) - before[r]) * 10000000 / (${EPOCHREALTIME/./} - since)))
  echo "  rank $r: it slept $((times / 10)).$((times % 10)) times a second"
  ((times > 0 && times < 280)) || fail "idle: rank $r"
done
touch "$scratch/idle.stop"
for r in 0 1; do sums idle.$r; done

at "the cable is cut for good; the hosts' watches go another way, so it is for UCX to tell"
UCX_RC_TIMEOUT=200ms UCX_RC_RETRY_COUNT=3 launch gone 2 1000
awaits gone 2
cable cut
# The first to be told ends, which the other may hear of by the watches before UCX tells it: both are true.
ends gone.0 'rank 1 (host "rxe1'
ends gone.1 'rank 0 (host "rxe0'
grep -q 'cannot be reached any more: ' <<<"$(said gone.0; said gone.1)" || fail "nobody says that the cable is gone"
at "done"
rm -rf "$scratch"
exit $failures
