#!/usr/bin/env bash
# rondo-doctor as a program: alone, on trees of files, and under mpirun.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
doctor=$TEST_BUILDDIR/rondo-doctor
[[ -x $doctor ]] || { echo "rondo-doctor is not built (needs CLI11 and nlohmann-json)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

# expect STATUS COMMAND...: its output is in $out.
expect() {
  local status=0
  out=$("${@:2}" 2>&1) || status=$?
  ((status == $1)) || fail "${*:2} ended with $status, not $1: $out"
}
tree() {  # name, file, text
  mkdir -p "$(dirname "$scratch/$1/$2")"
  printf '%s\n' "$3" >"$scratch/$1/$2"
}
good='{"shmBytes": 8589934592, "shmFree": 8589934592, "host": "a"}'
tree fine facts.json "$good"
tree warned facts.json "$good"
tree warned proc/sys/kernel/numa_balancing 1
tree warned sys/devices/system/node/online 0-3
tree failed facts.json "$good"
tree failed proc/self/limits 'Max open files            32     32     files'
tree broken facts.json '{ "host": '

expect 0 "$doctor" --root "$scratch/fine"
grep -q '^0 errors, 0 warnings' <<<"$out" || fail "$out"
expect 1 "$doctor" --root "$scratch/warned"
grep -q '^warning: numa-balancing: rank 0 (host a)$' <<<"$out" || fail "$out"
grep -q '^  remedy: sysctl -w kernel.numa_balancing=0' <<<"$out" || fail "$out"
expect 2 "$doctor" --root "$scratch/warned" --root "$scratch/failed" --json
grep -q '"check": "descriptors"' <<<"$out" || fail "$out"
grep -q '"exitCode": 2' <<<"$out" || fail "$out"
expect 3 "$doctor" --root "$scratch/broken"
grep -q '^rondo-doctor: .*json' <<<"$out" || fail "$out"

# Wrong arguments are no finding of a machine's.
expect 3 "$doctor" --nonsense
grep -q '^rondo-doctor: .*not expected: --nonsense$' <<<"$out" || fail "$out"

# This machine may have faults of its own: the doctor itself must not fail.
alone=0
"$doctor" >"$scratch/alone" || alone=$?
((alone < 3)) || fail "alone: $(cat "$scratch/alone")"
grep -q '^rondo-doctor: 1 rank on 1 host$' "$scratch/alone" || fail "$(cat "$scratch/alone")"

# A limit of the job's own is seen, and its status is mpirun's.
expect 2 runMpi 3 bash -c "ulimit -n 60; exec '$doctor'"
grep -q '^rondo-doctor: 3 ranks on 1 host$' <<<"$out" || fail "$out"
grep -q '^error: descriptors: ranks 0-2 (host ' <<<"$out" || fail "$out"
[[ $(grep -c '^rondo-doctor:' <<<"$out") == 1 ]] || fail "more than one rank reports: $out"

expect 0 runMpi 2 "$doctor" --facts
grep -q '"job": true' <<<"$out" || fail "$out"

# The version that counts is that of the library which programs find.
info=$TEST_BUILDDIR/rondo-info
said() { LD_LIBRARY_PATH=$1 "$info" | grep '^library '; }
if [[ -x $info && -f $TEST_BUILDDIR/.libs/librondo.so.0 ]]; then
  mkdir "$scratch/other" "$scratch/none"
  echo 'extern "C" int rondoGetVersion(int* version) { *version = 102; return 0; }' >"$scratch/other.cc"
  # shellcheck disable=SC2086  # the compiler may be several words
  ${TEST_CXX:-c++} -shared -fPIC -Wl,-soname,librondo.so.0 -o "$scratch/other/librondo.so.0" "$scratch/other.cc"
  version=$("$info" | awk '$1 == "version" { print $2 }')
  out=$(said "$TEST_BUILDDIR/.libs")
  [[ $out == *" $version, $TEST_BUILDDIR/.libs/librondo.so.0" ]] || fail "$out"
  out=$(said "$scratch/other")
  [[ $out == *" 0.1.2, $scratch/other/librondo.so.0: another version than this rondo-info's" ]] || fail "$out"
  : >"$scratch/none/librondo.so.0"
  out=$(said "$scratch/none")
  [[ $out == *" none that the loader finds: there is no librondo.so.0 ("* ||
    $out == *", "*"/librondo.so.0"* ]] || fail "$out"
  LD_LIBRARY_PATH=$scratch/other "$doctor" >"$scratch/alone" || (($? < 3)) || fail "$(cat "$scratch/alone")"
  grep -q '^warning: rondo-version: rank 0 ' "$scratch/alone" || fail "$(cat "$scratch/alone")"
  grep -qF "programs run with Rondo 0.1.2 ($scratch/other/librondo.so.0), and this rondo-doctor is of $version" \
    "$scratch/alone" || fail "$(cat "$scratch/alone")"
  LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs "$doctor" >"$scratch/alone" || (($? < 3)) || fail "$(cat "$scratch/alone")"
  ! grep -q 'rondo-version: ' "$scratch/alone" || fail "$(cat "$scratch/alone")"
fi
