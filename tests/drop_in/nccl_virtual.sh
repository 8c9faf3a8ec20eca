#!/usr/bin/env bash
# A program that knows CUDA and NCCL only, without a GPU: libnccl.so.2 rehearses it on a cluster that
# is not there, and a stub answers its CUDA calls. The stub's device memory cannot be touched.
set -euo pipefail
libraries=$TEST_BUILDDIR/.libs
[[ -f $libraries/libnccl.so.2 ]] || { echo "no shared library in this build"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
# shellcheck disable=SC2086  # the compiler may be several words
compile() { ${TEST_CXX:-c++} -std=c++20 -O0 "$@"; }
compile -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$scratch/libcuda.so.1" \
  "$TEST_SRCDIR/tests/drop_in/stub_cuda.cc"
compile -o "$scratch/program" -I"$TEST_SRCDIR/src" -I"$TEST_SRCDIR/tests" \
  "$TEST_SRCDIR/tests/drop_in/nccl_rehearsed.cc" "$scratch/libcuda.so.1" "$libraries/libnccl.so.2" \
  -Wl,-rpath-link,"$libraries"
export LD_LIBRARY_PATH=$scratch:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cluster="2 x (1 cpu, 8 gpu nvlink=100 nvswitch, 8 nic=10)"

fail() {
  echo "$*"
  cat "$log"
  exit 1
}
rehearse() {  # RONDO_VIRTUAL, arguments of the program...
  local virtual=$1
  shift
  RONDO_VIRTUAL=$virtual RONDO_VIRTUAL_OUT=$scratch/run "$scratch/program" "$@" >"$log" 2>&1
}
has() { grep -q -- "$2" "$scratch/run.$1" || fail "no $2 in $1"; }
none() { if compgen -G "$scratch/run.*" >/dev/null; then fail "files are there"; fi; }

echo "== one process as rank 11 of 16"
if ! rehearse "$cluster:16" one 11 16; then
  grep -q 'this build has no topologies' "$log" && { echo "no topologies in this build"; exit 77; }
  fail "the rehearsal failed"
fi
grep -q 'rondo nccl: rehearsed [0-9]* calls as rank 11 of 16: [1-9][0-9.]* us predicted' "$log" ||
  fail "no sum"
has rank11.nccl1.calls.csv '^0,rondoBroadcast,64,'
has rank11.nccl0.calls.csv '^0,rondoAllReduce,16384,'
has rank11.nccl0.calls.csv 'rondoAllReduce,67108864,'
has rank11.nccl0.calls.csv 'rondoReduceScatter,'
has rank11.nccl0.calls.csv 'rondoBroadcast,1048576,'
has rank11.nccl0.calls.csv 'rondoGroupEnd,2097152,p2p,'
has rank11.nccl0.flows.csv ',11,12,1048576,'
has rank11.nccl0.trace.json '"name":"rank 11 of 16"'
rm "$scratch"/run.*

echo "== files that cannot be written"
if RONDO_VIRTUAL=$cluster:16 RONDO_VIRTUAL_OUT=$scratch/nowhere/run "$scratch/program" one 11 16 >"$log" 2>&1; then
  fail "a folder that is not there is found out at the end only"
fi
grep -qF "RONDO_VIRTUAL_OUT is \"$scratch/nowhere/run\"; allowed: what the names of files begin with, in a folder \
that takes them ($scratch/nowhere/run.calls.csv: No such file or directory)" "$log" || fail "no word about the folder"
# What goes wrong after that is told at the end.
mkdir "$scratch/taken.rank11.nccl0.trace.json"
RONDO_VIRTUAL=$cluster:16 RONDO_VIRTUAL_OUT=$scratch/taken "$scratch/program" one 11 16 >"$log" 2>&1 ||
  fail "the rehearsal failed without its files"
grep -q 'taken.rank11.nccl0.trace.json: Is a directory' "$log" || fail "not why there are no files"
if grep -q ' wrote .*nccl0' "$log"; then fail "files that are not there were written"; fi

echo "== one process with all devices of a host: one of the ranks writes"
STUB_CUDA_DEVICES=8 rehearse "$cluster:8" all || fail "all devices"
grep -q 'as rank 0 of 8:' "$log" || fail "no sum of rank 0"
[[ $(grep -c ' us predicted' "$log") == 1 ]] || fail "more than one sum"
has rank0.nccl0.calls.csv 'rondoAllReduce,1024,'
[[ $(ls "$scratch"/run.* | wc -l) == 3 ]] || fail "not three files"
rm "$scratch"/run.*

echo "== a machine that a file describes, as NCCL_TOPO_DUMP_FILE writes it"
STUB_CUDA_DEVICES=8 rehearse "$TEST_SRCDIR/tests/topologies/dgx_h100.nccl.xml:8" all || fail "a file"
grep -q 'as rank 0 of 8: [1-9][0-9.]* us predicted' "$log" || fail "no sum of rank 0"
has rank0.nccl0.calls.csv 'rondoAllReduce,1024,'
rm "$scratch"/run.*

echo "== communicators made of others: their calls are on the same clock, in the same files"
RONDO_VIRTUAL_SPLIT="rank / 4, 0 - rank" STUB_CUDA_DEVICES=8 rehearse "$cluster:8" split ||
  fail "split"
grep -q 'as rank 3 of 4: [1-9][0-9.]* us predicted (rehearsal.split0)' "$log" || fail "no half"
grep -q 'as rank 0 of 7: [1-9][0-9.]* us predicted (rehearsal.shrink1)' "$log" || fail "no rest"
[[ $(grep -c ' wrote ' "$log") == 1 ]] || fail "not written once"
has rank0.nccl0.calls.csv 'rondoAllReduce,4096,.*,rehearsal.split0$'
has rank0.nccl0.calls.csv 'rondoAllReduce,8192,.*,rehearsal.shrink1$'
has rank0.nccl0.flows.csv '^[0-9]*,[0-7],[0-7],.*,rehearsal.split0$'
has rank0.nccl0.splits.csv '^[0-9]*,[0-9a-f]*,[0-9a-f]*,0,'
[[ $(ls "$scratch"/run.* | wc -l) == 4 ]] || fail "not three files, and what was said in the split"
rm "$scratch"/run.*

echo "== estimates are what the same calls take, and no calls"
STUB_CUDA_DEVICES=8 rehearse "$cluster:8" estimate || fail "estimate"
estimated=$(sed -n 's/^estimated \(.*\) us$/\1/p' "$log")
made=$(awk -F, 'NR > 1 { sum += $6 } END { printf "%.4f", sum / 1e6 }' \
  "$scratch/run.rank0.nccl0.calls.csv")
awk -v one="$estimated" -v other="$made" \
  'BEGIN { exit !(one > 0 && one - other < 0.001 && other - one < 0.001) }' ||
  fail "estimated $estimated us, made $made us"
grep -q 'rehearsed 2 calls as rank 0 of 8' "$log" || fail "the sum has others"
mkdir "$scratch/estimated"
mv "$scratch"/run.* "$scratch/estimated"
STUB_CUDA_DEVICES=8 rehearse "$cluster:8" estimate-not || fail "estimate-not"
for file in calls.csv flows.csv trace.json; do
  cmp "$scratch/run.rank0.nccl0.$file" "$scratch/estimated/run.rank0.nccl0.$file" ||
    fail "$file has what was not made"
done
rm "$scratch"/run.*

echo "== ranks made by threads of a group, in a program that does not clean up"
STUB_CUDA_DEVICES=2 rehearse "$cluster:2" leave || fail "leave"
has rank0.nccl0.calls.csv 'rondoAllReduce,67108864,'
rm "$scratch"/run.*

echo "== the legacy stream while another one is captured"
compile -o "$scratch/capture" -I"$TEST_SRCDIR/src" "$TEST_SRCDIR/tests/drop_in/nccl_capture.cc" \
  "$TEST_SRCDIR"/src/drop_in/nccl/{driver,streams}.cc "$TEST_SRCDIR/src/base/error.cc" -ldl
"$scratch/capture" >"$log" 2>&1 || fail "nccl_capture"

echo "== the same program without RONDO_VIRTUAL does not pretend"
if env -u RONDO_VIRTUAL RONDO_BOOT_TIMEOUT_MS=1000 STUB_CUDA_DEVICES=2 "$scratch/program" all \
  >"$log" 2>&1; then
  fail "a stub passed for a machine"
fi
none

echo "== what cannot be rehearsed is said"
refused() {  # sentence, RONDO_VIRTUAL, arguments of the program...
  local sentence=$1
  shift
  if rehearse "$@"; then fail "$* was accepted"; fi
  grep -qF "$sentence" "$log" || fail "no sentence: $sentence"
}
refused 'argument nranks is 17; allowed: 1 to 16, the ranks of RONDO_VIRTUAL' "$cluster:16" one 0 17
refused '17 ranks; allowed on this machine: 1 to 16' "$cluster" one 0 17
refused '/nowhere.xml cannot be read' /nowhere.xml:4 one 0 4
refused 'allowed: TOPOLOGY:N with N from 1' "$cluster:0" one 0 4
none
refused 'ncclCommSplit: rondoCommSplit: communicator' "$cluster:8" split
RONDO_VIRTUAL_SPLIT='rank /' refused 'the rule "rank /": found' "$cluster:8" split
