#!/usr/bin/env bash
# Records of two hosts whose clocks are far apart, merged: hosts of name spaces, one of them in a
# time name space of its own. Needs root.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank
status=$TEST_BUILDDIR/rondo-status

# ---- outside: make the hosts ----
if [[ ${1:-} != inside ]]; then
  [[ -x $status ]] || { echo "skipped: rondo-status is not built"; exit 77; }
  if ! unshare --time --monotonic 1 --fork true 2>/dev/null; then
    echo "skipped: the system has no time name spaces"
    exit 77
  fi
  exec "$TEST_SRCDIR/tests/testbed/hosts" 2 bash "$TEST_SRCDIR/tests/hosts_trace.sh" inside
fi

# ---- inside: on host h0 ----
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
ahead=5000777

# Ranks 0 and 2 on h0; rank 1 on h1, whose clock shows some 58 days more. It is killed, and each host
# leaves its record.
export RONDO_RECORD=$scratch/%h.json
for r in 0 1 2; do
  later=
  [[ $r != 1 ]] || later="unshare --time --monotonic $ahead --boottime $ahead --fork --kill-child"
  on h$((r % 2)) "exec timeout 100 $later '$rank' '$scratch/job' 3 $r 100" >"$scratch/said.$r" 2>&1 &
done
for r in 0 1 2; do
  for _ in $(seq 2000); do [[ -e $scratch/job.pid.$r ]] && break; sleep 0.02; done
  [[ -e $scratch/job.pid.$r ]] || fail "rank $r does not come: $(cat "$scratch"/said.*)"
done

# What h1 has, while its rank is alive: seen from inside its time name space.
pid=$(cat "$scratch/job.pid.1")
on h1 "nsenter --target $pid --time '$status' --record '$scratch/h1.json' $pid" || true
on h1 "kill -9 $pid"
wait
[[ -s $scratch/h0.json ]] || fail "no record of h0: $(cat "$scratch"/said.*)"
[[ -s $scratch/h1.json ]] || fail "no record of h1"

said=$("$status" --record "$scratch/all.json" --merge "$scratch/h0.json" "$scratch/h1.json")
echo "$said"
grep -q '^host "h0": its clock counts$' <<<"$said" || fail "which clock counts?"
awk -v truth=$ahead '/^host "h1": its clock is .* ahead of that of "h0", give or take/ {
  off = $6 - truth; if (off < 0) off = -off
  limit = $(NF - 1) * 1e-6 + 2e-6  # it is printed in microseconds
  found = 1
  if (off > limit) { printf "the clock is %.6f s off, more than %.6f\n", off, limit; exit 1 }
} END { if (!found) exit 1 }' <<<"$said" || fail "the clocks"
for r in 0 1 2; do
  grep -q "comm rank $r of 3" "$scratch/all.json" || fail "rank $r is not in the trace"
done

# Errors say what is wrong with what.
"$status" --merge "$scratch/h0.json" 2>/dev/null && fail "--merge without --record"
echo '{}' >"$scratch/bad.json"
wrong=$("$status" --record "$scratch/x.json" --merge "$scratch/bad.json" 2>&1) && fail "bad.json"
grep -q 'bad.json" is no record of Rondo' <<<"$wrong" || fail "said: $wrong"
exit 0
