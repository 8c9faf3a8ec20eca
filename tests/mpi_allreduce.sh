#!/usr/bin/env bash
# All-reduce through the MPI door against MPI's own, and what it leaves behind.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
program=$TEST_BUILDDIR/tests/mpi/allreduce_test

for ranks in 1 2 3 4; do
  echo "== $ranks ranks"
  runMpi "$ranks" "$program"
done

# A rank that dies without a word leaves nothing behind: no file, no socket of the abstract space.
leftovers() {
  find /dev/shm -name '*rondo*' 2>/dev/null || true
  awk '/rondo/ { print $NF }' /proc/net/unix
}
echo "== kill -9"
before=$(leftovers | sort -u)
if runMpi 3 "$program" die >die.$$.log 2>&1; then
  cat die.$$.log
  rm -f die.$$.log
  echo "a job whose rank was killed ended well"
  exit 1
fi
grep -q 'rank 1 dies now' die.$$.log || { cat die.$$.log; rm -f die.$$.log; exit 1; }
rm -f die.$$.log
# Other jobs' sockets come and go beside this: left behind is what stays.
stays=$(comm -13 <(echo "$before") <(leftovers | sort -u))
for _ in $(seq 20); do
  [[ -z $stays ]] && break
  sleep 0.5
  stays=$(comm -12 <(echo "$stays") <(leftovers | sort -u))
done
[[ -z $stays ]] || { printf 'left behind:\n%s\n' "$stays"; exit 1; }
