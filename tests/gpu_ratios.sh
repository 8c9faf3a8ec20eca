#!/usr/bin/env bash
# The table of ./dev gpu-bench from files as rondo-bench and a bare kernel write them, and what it says of
# others.
set -euo pipefail
export AWK=$TEST_AWK
ratios=$TEST_SRCDIR/tools/gpu_ratios.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rows() {  # file, then bytes, Rondo's time, the peer's, wrong elements by fours
  local file=$scratch/$1
  shift
  echo "collective,library,memory,ranks,bytes,type,op,usec_min,usec_p50,usec_p99,busbw_GBps,wrong" >"$file"
  while (($# >= 4)); do
    echo "allreduce,rondo,device,4,$1,float32,sum,1.0,$2,9.0,12.5,$4" >>"$file"
    echo "allreduce,nccl,device,4,$1,float32,sum,1.0,$3,9.0,1.0,0" >>"$file"
    shift 4
  done
}
complain() { echo "FAILED: $*"; cat "$scratch/out"; exit 1; }
says() { grep -qxF -- "$1" "$scratch/out" || complain "no line $1"; }

rows allreduce_4.csv 8 5.0 10.0 0 16777216 88.0 100.0 0 65536 5.5 11.0 0
bash "$ratios" "$scratch" 4 >"$scratch/out"
[[ $(sed -n '3,5s/^| \([^|]*\) |.*/\1/p' "$scratch/out" | paste -sd,) == "8,64 Ki,16 Mi" ]] || complain "not by size"
says "| 8 |  |  |  |  |  |  | 5 | 12.5 | 0.500 |  |  |  |"

rows allreduce_4_graph.csv 8 2.5 10.0 0
rows allreduce_4_sym.csv 8 4.0 5.0 0
cat >"$scratch/bare_4" <<'LINES'
best graph          8 oneshot_ll                1       2.16 us     0.01 GB/s
best eager          8 oneshot_ll128             1       5.02 us     0.00 GB/s
best eager   16777216 ts_push                 132      80.00 us   312.46 GB/s
LINES
bash "$ratios" "$scratch" 4 >"$scratch/out"
says "| 8 | 2.5 | 12.5 | 0.250 |  | 2.16 | +0.34 us | 5 | 12.5 | 0.500 | 0.800 | 5.02 | -0.02 us |"
says "| 16 Mi |  |  |  |  |  |  | 88 | 12.5 | 0.880 |  | 80 | 1.100 |"
says "wrong elements: 0"

rows allreduce_4_graph.csv 8 2.5 10.0 3
if bash "$ratios" "$scratch" 4 >"$scratch/out"; then complain "wrong elements are no failure"; fi
says "wrong elements: 3"

refused() {  # words, arguments...
  local status=0
  bash "$ratios" "${@:2}" >"$scratch/out" 2>&1 || status=$?
  [[ $status == 2 ]] || complain "exit status $status, not 2"
  grep -qF -- "$1" "$scratch/out" || complain "does not say: $1"
}
refused "given 1 arguments; allowed are a folder and a number of ranks" "$scratch"
refused "is no folder" "$scratch/none" 4
refused '"four" ranks; allowed is a number' "$scratch" four
refused "no allreduce_2.csv in" "$scratch" 2
echo "passed"
