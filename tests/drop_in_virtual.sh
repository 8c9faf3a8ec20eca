#!/usr/bin/env bash
# An MPI program that knows nothing of Rondo, started as one process and rehearsed as one rank of a
# cluster that is not there.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
program=$TEST_BUILDDIR/tests/drop_in/rehearsal_test
layer=$TEST_BUILDDIR/.libs/librondo_mpi.so
[[ -f $layer ]] || { echo "no shared library in this build"; exit 77; }
export LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
cluster="2 x (1 cpu, 8 gpu nvlink=100 nvswitch, 8 nic=10)"

fail() {
  echo "$*"
  cat "$log"
  exit 1
}
rehearse() {  # processes, RONDO_VIRTUAL, rank
  RONDO_VIRTUAL=$2 RONDO_VIRTUAL_RANK=$3 RONDO_VIRTUAL_OUT=${out:-$scratch/run} \
    RONDO_VIRTUAL_SPLIT="${rule-rank / 8; 1 - rank / 8 * 2}" runMpi "$1" \
    -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" -x RONDO_VIRTUAL -x RONDO_VIRTUAL_RANK \
    -x RONDO_VIRTUAL_OUT -x RONDO_VIRTUAL_SPLIT -x RONDO_VIRTUAL_GRAPH "$program" "$scratch/file" >"$log" 2>&1
}

rehearse 1 "$cluster:16" 3 || fail "the rehearsal failed"
grep -q 'rehearsed [0-9]* calls as rank 3 of 16: [1-9][0-9.]* us predicted' "$log" || fail "no sum"
grep -q '^0,rondoAllReduce,16,' "$scratch/run.calls.csv" || fail "no all-reduce among the calls"
grep -q '^[0-9]*,rondoGroupEnd,1048576,p2p,' "$scratch/run.calls.csv" || fail "no message"
grep -q ',11,3,1048576,' "$scratch/run.flows.csv" || fail "no flow from rank 11"
# By a receive, and three starts of a persistent one; and three starts of other calls.
[[ $(grep -c ',11,3,1048576,' "$scratch/run.flows.csv") = 4 ]] || fail "not four messages from rank 11"
[[ $(grep -c '^[0-9]*,rondoAllReduce,4096,' "$scratch/run.calls.csv") = 3 ]] || fail "not three all-reduces"
[[ $(grep -c ',3,7,5,' "$scratch/run.flows.csv") = 3 ]] || fail "not three exchanges with neighbours"
for pair in 2,3 0,3 7,3 3,7; do
  grep -q ",$pair,1048576," "$scratch/run.flows.csv" || fail "no flow $pair of an exchange with neighbours"
done
# The same machine from a file: the same calls at the same times.
"$TEST_BUILDDIR/rondo-topo" --topology "$cluster" --xml "$scratch/cluster.xml" >"$log" 2>&1 || fail "no file of the cluster"
out=$scratch/file_run rehearse 1 "$scratch/cluster.xml:16" 3 || fail "the rehearsal of a file failed"
grep -q 'rehearsed [0-9]* calls as rank 3 of 16: [1-9][0-9.]* us predicted' "$log" || fail "no sum of a file"
for kind in calls flows; do
  cmp <(sort "$scratch/run.$kind.csv") <(sort "$scratch/file_run.$kind.csv") || fail "other $kind from a file"
done
# A column of the grid; odd ranks; three of those.
for calls in "0 of 4" "6 of 8" "0 of 3"; do
  grep -q "rehearsed 1 calls as rank $calls: [1-9]" "$log" || fail "no call as rank $calls"
done
grep -q '"name":"rank 3 of 16"' "$scratch/run.trace.json" || fail "no timeline"
grep -q '^[0-9]*,rondoBarrier,0,.*,rehearsal.split0$' "$scratch/run.calls.csv" ||
  fail "nothing of the host's communicator"
grep -q '^[0-9]*,rondoAllReduce,4,.*,rehearsal.split1$' "$scratch/run.calls.csv" ||
  fail "nothing of the split"
grep -q 'calls as rank 3 of 8: [1-9][0-9.]* us predicted (rehearsal.split1)' "$log" ||
  fail "no sum of the split"

flowsOf4321() {  # as "source,destination source,destination"
  grep -o '^[0-9]*,[0-9]*,[0-9]*,4321,' "$scratch/run.flows.csv" | cut -d, -f2,3 | sort -u | paste -sd' '
}
graph() {  # RONDO_VIRTUAL_GRAPH, the flows of an exchange with the neighbours of rank 3
  RONDO_VIRTUAL_GRAPH=$1 rehearse 1 "$cluster:16" 3 || fail "the rehearsal failed with a graph that is $1"
  [[ $(flowsOf4321) = "$2" ]] || fail "a graph that is $1: $(flowsOf4321)"
}
echo "== files that cannot be written"
mkdir "$scratch/full.calls.csv" "$scratch/taken.trace.json"
for place in full none/run; do
  if out=$scratch/$place rehearse 1 "$cluster:16" 3; then fail "$place is found out at the end only"; fi
  why="No such file or directory"
  [[ $place != full ]] || why="Is a directory"
  grep -qF "environment variable RONDO_VIRTUAL_OUT is \"$scratch/$place\"; allowed: what the names of files begin \
with, in a folder that takes them ($scratch/$place.calls.csv: $why)" "$log" || fail "no word about $place"
done
# What goes wrong after that is told at the end.
out=$scratch/taken rehearse 1 "$cluster:16" 3 || fail "the rehearsal failed without its files"
grep -q "taken.trace.json: Is a directory" "$log" || fail "not why there are no files"
if grep -q ' wrote ' "$log"; then fail "files that are not there were written"; fi

echo "== edges that other ranks give"
graph whole "15,3 3,4 3,7"
graph mutual "3,4 3,7 4,3 7,3"

echo "== what MPI's one process would get wrong"
flows() {  # source,destination,bytes, how many
  [[ $(grep -c "^[0-9]*,$1," "$scratch/run.flows.csv") = "$2" ]] || fail "not $2 flows $1"
}
calls() {  # name,bytes, how many
  [[ $(grep -c "^[0-9]*,$1," "$scratch/run.calls.csv") = "$2" ]] || fail "not $2 calls $1"
}
program=${program%_test}_calls_test MPI_TIMEOUT=120 rehearse 1 "$cluster:16" 3 || fail "rehearsal_calls_test failed"
flows 3,4,2221 1
flows 2,3,2221 1
flows 3,7,3331 1
flows 11,3,6662 2  # of the one in place, too
flows 3,11,6662 1
flows 3,7,4441 1
flows 11,3,8882 1
# Two starts, where MPI has such a request.
[[ $(grep -c '^[0-9]*,3,7,5551,' "$scratch/run.flows.csv") =~ ^[02]$ ]] || fail "not two starts"
calls rondoAllReduce,128 1
calls rondoReduce,24 3
calls rondoReduceScatter,128 1

fortran=${TEST_MPIFORT:-mpifort}
compiles() {  # program
  $fortran -o "$scratch/$1" -J "$scratch" "$TEST_SRCDIR/tests/drop_in/$1.f90" >"$log" 2>&1
}
if compiles fortran_rehearsal_test; then
  echo "== from Fortran"
  program=$scratch/fortran_rehearsal_test rehearse 1 "$cluster:16" 3 || fail "fortran_rehearsal_test failed"
  for flow in 2,3,555 0,3,555 7,3,555 3,7,555; do
    grep -q "^[0-9]*,$flow," "$scratch/run.flows.csv" || fail "no flow $flow of an exchange with neighbours"
  done
  # Each start is timed by its wait.
  [[ $(grep -c '^[0-9]*,rondoGroupEnd,787,' "$scratch/run.calls.csv") = 3 ]] || fail "not three starts"
  compiles fortran_rehearsal_calls_test || fail "$fortran does not compile fortran_rehearsal_calls_test.f90"
  program=$scratch/fortran_rehearsal_calls_test MPI_TIMEOUT=120 rehearse 1 "$cluster:16" 3 ||
    fail "fortran_rehearsal_calls_test failed"
  flows 3,7,2111 2
  flows 11,3,2112 2
  flows 3,8,2113 1
  flows 12,3,2113 1
  flows 3,7,2211 1
elif command -v "$("$fortran" --showme:command 2>/dev/null || echo "$fortran")" >/dev/null; then
  fail "$fortran does not compile fortran_rehearsal_test.f90"
else
  echo "no Fortran compiler behind $fortran: its rehearsal is not tested"
fi

echo "== what cannot be rehearsed is said"
refused() {  # processes, RONDO_VIRTUAL, rank, sentence
  if rehearse "$1" "$2" "$3"; then fail "$2 as rank $3 was accepted"; fi
  grep -qF "$4" "$log" || fail "no sentence: $4"
}
refused 2 "$cluster:16" 0 'RONDO_VIRTUAL is set, and 2 processes were started; allowed: one'
refused 1 "$cluster:17" 0 '17 ranks; allowed on this machine: 1 to 16'
refused 1 "$cluster:16" 16 'argument rank is 16; allowed: 0 to 15'
refused 1 "$cluster:16" first 'environment variable RONDO_VIRTUAL_RANK is "first"'
refused 1 "/nowhere.xml:4" 0 '/nowhere.xml cannot be read'
refused 1 "$cluster:0" 0 'allowed: TOPOLOGY:N with N from 1 to 65536'
refused 1 "$cluster:1000000000" 0 'allowed: TOPOLOGY:N with N from 1 to 65536'
RONDO_VIRTUAL_GRAPH=some refused 1 "$cluster:16" 0 'RONDO_VIRTUAL_GRAPH is "some"; allowed: whole or mutual'
rule='rank /' refused 1 "$cluster:16" 0 'the rule "rank /": found ""; expected: a number'
rule='' refused 1 "$cluster:16" 3 'MPI_Comm_split with the rule'
