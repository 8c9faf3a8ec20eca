#!/usr/bin/env bash
# rondo-status asks other hosts: two hosts of name spaces with two ranks each, of which one is late, on
# the host where rondo-status is not. Needs root.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank
status=$TEST_BUILDDIR/rondo-status

# ---- outside: make the hosts ----
if [[ ${1:-} != inside ]]; then
  [[ -x $status ]] || { echo "skipped: rondo-status is not built"; exit 77; }
  exec "$TEST_SRCDIR/tests/testbed/hosts" 2 bash "$TEST_SRCDIR/tests/hosts_status.sh" inside
fi

# ---- inside: on host h0, which sees the processes of both; h1 sees its own alone ----
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

# Ranks 0 and 2 on h1; 1 and 3 on h0. After some sums rank 1 sits outside of Rondo. Nobody reports a
# stall: what other hosts say has been asked by rondo-status.
export RONDO_STALL_SECONDS=0
for r in 0 1 2 3; do
  on h$(((r + 1) % 2)) "exec timeout 100 '$rank' '$scratch/job' 4 $r 100 aside" >"$scratch/said.$r" 2>&1 &
done
for r in 0 1 2 3; do
  for _ in $(seq 2000); do [[ -s $scratch/job.pid.$r ]] && break; sleep 0.02; done
  [[ -s $scratch/job.pid.$r ]] || fail "rank $r does not come: $(cat "$scratch"/said.*)"
done
pid() { cat "$scratch/job.pid.$1"; }
# seen WANTED: what rondo-status says of rank 0, once it says that; and with which exit status.
seen() {
  for _ in $(seq 100); do
    code=0
    said=$(on h1 "'$status' $(pid 0)" 2>&1) || code=$?
    grep -q "$1" <<<"$said" && return
    sleep 0.1
  done
  fail "it does not say \"$1\" but: $said"
}
call='collective [0-9]*, allreduce with count [0-9]*, datatype int32, op sum'
late="  rank 1 (host \"h0\", pid $(pid 1))"

echo "== the late rank of the other host, and the one beside it, which waits"
seen "^  Waited [0-9.]* s in $call, for: rank 1\.$"
echo "$said"
grep -q "^$late, as its host says: has made no call for [0-9.]* s, its process is .*; its last call was $call; NOT IN THAT CALL YET\$" \
  <<<"$said" || fail "where is rank 1?"
grep -q "^  rank 3 (host \"h0\", pid $(pid 3)), as its host says: has been in $call for [0-9.]* s\$" <<<"$said" ||
  fail "where is rank 3?"
grep -q "^  rank 2 (pid [0-9]*): in $call, for" <<<"$said" || fail "where is rank 2, which is here?"

echo "== it is stopped: who is beside it answers for it"
kill -STOP "$(pid 1)"
seen 'for: rank 1 (stopped)\.$'
[[ $code == 1 ]] || fail "exit status $code: $said"
grep "rank 1" <<<"$said"

echo "== nobody there can answer"
kill -STOP "$(pid 3)"
seen "^$late: no answer from its host within 2 s\$"
grep "rank [13]" <<<"$said"
kill -CONT "$(pid 1)" "$(pid 3)"

echo "== the process that is asked is stopped itself"
on h1 "kill -STOP $(pid 0)"
seen "^  rank 1 .* is on another host: ask rondo-status there (process $(pid 0) is stopped and cannot ask; try one that is not)\$"
on h1 "kill -CONT $(pid 0)"

echo "== all go on"
touch "$scratch/job.stop"
wait
for r in 0 1 2 3; do grep -q ' sums in ' "$scratch/said.$r" || fail "rank $r: $(cat "$scratch/said.$r")"; done
exit 0
