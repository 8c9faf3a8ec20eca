#!/usr/bin/env bash
# What rondo-bench prints and writes, how it refuses, and that wrong results are counted.
#   run.sh [RONDO_BENCH [FAKE_RONDO_BENCH]]
# The second is the benchmark linked with tests/bench/fake_rondo.cc, which can be made to fail;
# without it those checks are left out.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/job.sh"

quick=(allreduce --warmup 1 --iters 12)
header=collective,library,memory,ranks,bytes,type,op,usec_min,usec_p50,usec_p99,busbw_GBps,wrong

# Every row of the CSV file is complete, ordered in its times, and without a wrong element.
checkCsv() {  # ranks, rows
  [[ $status == 0 ]] || complain "exit status $status, not 0"
  [[ $(head -n 1 "$scratch/rows.csv") == "$header" ]] || complain "header of the CSV file"
  awk -F, -v ranks="$1" -v rows="$2" '
    NR == 1 { next }
    { ++seen }
    NF != 12 { print "fields: " $0; bad = 1 }
    $1 != "allreduce" || $4 != ranks || $12 != 0 { print "contents: " $0; bad = 1 }
    !($8 > 0 && $8 <= $9 && $9 <= $10) { print "times: " $0; bad = 1 }
    # Times have three digits after the point, bandwidths six in all.
    { want = 2 * (ranks - 1) / ranks * $5 / $9 / 1000; off = $11 - want; if (off < 0) off = -off }
    off > 0.01 * want { print "busbw, not " want ": " $0; bad = 1 }
    END { if (seen != rows) { print seen " rows, not " rows; bad = 1 } exit bad }
  ' "$scratch/rows.csv" >"$scratch/why" || complain "$(cat "$scratch/why")"
}

rowsWith() { cut -d, -f "$1" "$scratch/rows.csv" | tail -n +2 | sort -u | paste -sd' '; }

for ranks in 2 3; do
  try $ranks "$bench" "${quick[@]}" --min 4 --max 64K --step 4 --csv "$scratch/rows.csv" \
    --json "$scratch/rows.json"
  checkCsv $ranks 8
  [[ $(rowsWith 5 | tr ' ' '\n' | sort -n | paste -sd' ') == \
    "4 16 64 256 1024 4096 16384 65536" ]] || complain "sizes $(rowsWith 5)"
  for column in ${header//,/ }; do
    [[ $(grep -c "\"$column\":" "$scratch/rows.json") == 8 ]] || complain "JSON lacks $column"
  done
  grep -q '"meta": {' "$scratch/rows.json" || complain "JSON has no meta"
  grep -q "$ranks ranks, host memory, out of place" "$scratch/out" || complain "table's head"
  # Which of the two depends on the machine's cores.
  grep -Eq '^# meeting +(flags in shared memory, then one start|MPI_Barrier: more ranks than cores)' \
    "$scratch/out" || complain "does not say how ranks meet"
  [[ $(awk '$2 == "rondo"' "$scratch/out" | wc -l) == 8 ]] || complain "rows of the table"
  ! grep -q "$(printf '\r')" "$scratch/err" || complain "a progress line without a terminal"

  # Three ranks' average of float8e5m2 has no exact values, and is left out.
  try $ranks "$bench" "${quick[@]}" --meeting barrier --type all --op all --min 4800 --max 4800 \
    --csv "$scratch/rows.csv"
  checkCsv $ranks $((158 - ranks))
  [[ $(rowsWith 6 | wc -w) == 22 && \
    $(rowsWith 7) == "avg band bor bxor land lor lxor max maxloc min minloc premulsum prod sum" ]] ||
    complain "types $(rowsWith 6), operators $(rowsWith 7)"

  # Beside MPI, what it cannot reduce is timed alone.
  try $ranks "$bench" "${quick[@]}" --type bool,complex64,int16int32,bfloat16 --op all --peer mpi \
    --min 4800 --max 4800 --csv "$scratch/rows.csv"
  checkCsv $ranks 25
  [[ $(awk -F, '$2 == "mpi" { print $6 $7 }' "$scratch/rows.csv" | sort | paste -sd' ') == \
    "boolland boollor boollxor complex64prod complex64sum int16int32maxloc int16int32minloc" ]] ||
    complain "what MPI reduces"

  try $ranks "$bench" "${quick[@]}" --group 5 --peer mpi --min 64 --max 64K --step 32 \
    --csv "$scratch/rows.csv"
  [[ $status == 0 && $(rowsWith 1) == allreduce_x5 && $(rowsWith 12) == 0 ]] || complain "groups"

  try $ranks "$bench" "${quick[@]}" --in-place --type int16,bfloat16 --op sum,max --min 2 \
    --max 128K --step 256 --memory rondo --csv "$scratch/rows.csv"
  checkCsv $ranks 12
  [[ $(rowsWith 3) == rondo ]] || complain "memory $(rowsWith 3)"

  try $ranks "$bench" "${quick[@]}" --peer mpi --min 64 --max 64K --step 32 \
    --csv "$scratch/rows.csv"
  checkCsv $ranks 6
  [[ $(rowsWith 2) == "mpi rondo" ]] || complain "libraries $(rowsWith 2)"
  awk '$2 == "rondo" { p50 = $5; ratio = $10; fields = NF }
       $2 == "mpi" { off = ratio - p50 / $5; if (off < 0) off = -off
                     seen += off < 0.05 * p50 / $5 + 0.001 && fields == 11 }
       END { exit seen != 3 }' "$scratch/out" || complain "ratios to MPI"

  try $ranks "$bench" "${quick[@]}" --hot --in-place --peer mpi --min 1M --max 1M \
    --csv "$scratch/rows.csv"
  checkCsv $ranks 2
done

# Who takes the ranks' cores is told of behind the rows, with the worst size; the files stay as they are.
busy=()
for ((i = 0; i < 2 * $(nproc); ++i)); do
  (while :; do :; done) &
  busy+=($!)
done
try 2 "$bench" allreduce --min 1M --max 1M --iters 200 --csv "$scratch/rows.csv"
kill "${busy[@]}"
wait "${busy[@]}" || true
checkCsv 2 1
if grep -q '^# meeting  *flags' "$scratch/out"; then
  tail -n 1 "$scratch/out" | grep -Eq "^# cores     other processes had ranks' cores in 1 of 1 measurements, most often in \
allreduce float32 sum 1M: [0-9]+ times in 200 iterations(, [0-9]+ % of a rank's time)? \(calls, and what is between them\); of short calls usec_p99 and usec_max hold it" ||
    complain "no word about lost cores"
fi
# More ranks than cores are no other process.
(($(nproc) > 16)) || try $(($(nproc) + 1)) "$bench" "${quick[@]}" --min 64K --max 64K
(($(nproc) > 16)) || ! grep -q '^# cores' "$scratch/out" || complain "crowded ranks have lost their cores"

# Without --iters the counts follow the size and the budget.
try 2 "$bench" allreduce --min 4 --max 4M --step 1024 --budget 0.05 --csv "$scratch/rows.csv"
checkCsv 2 3
awk '$2 == "rondo" { if ($3 < 8 || $3 > 2000) bad = 1; ++seen } END { exit bad || seen != 3 }' \
  "$scratch/out" || complain "iterations"

try 2 "$bench" "${quick[@]}" --max 64 --progress always
[[ $status == 0 ]] && grep -q 'allreduce float32 sum' "$scratch/err" || complain "progress line"

try 2 "$bench" "${quick[@]}" --max 64 --no-check
[[ $status == 0 ]] && grep -q 'not checked' "$scratch/out" || complain "--no-check"

begin=${EPOCHREALTIME/[^0-9]/}
try 2 "$bench" "${quick[@]}" --max 4 --pause 50
if [[ $status != 0 ]] || ((${EPOCHREALTIME/[^0-9]/} - begin < 12 * 50000)) ||
  ! grep -q ', 50 ms of rest before samples,' "$scratch/out"; then
  complain "--pause"
fi

try 2 "$bench" "${quick[@]}" --max 64 --peer mpi --meeting barrier
[[ $status == 0 ]] && grep -Eq '^# meeting +MPI_Barrier, as asked for$' "$scratch/out" ||
  complain "--meeting barrier"

for option in --help "allreduce --help" --version; do
  try 2 "$bench" $option
  [[ $status == 0 && $(grep -Ec 'Usage:|^rondo-bench 0' "$scratch/out") == 1 ]] ||
    complain "is not answered once"
done

refusing=$bench
# Bad input: one sentence with the words given here, said once, nothing else run, exit status 2.
refused() { apart checkRefused "$@"; }
checkRefused() {  # words, arguments...
  local words=$1
  shift
  try 2 "$refusing" "$@"
  [[ $status == 2 ]] || complain "exit status $status, not 2"
  [[ $(grep -c '^rondo-bench: ' "$scratch/err") == 1 ]] || complain "not said once"
  grep '^rondo-bench: ' "$scratch/err" | grep -qF -- "$words" || complain "does not say: $words"
  ! grep -q 'MPI_ABORT' "$scratch/err" || complain "ends by MPI_Abort"
  ! grep -q 'usec_min' "$scratch/out" || complain "runs all the same"
}

refused "no command given: allowed are allreduce"
refused "unexpected argument reduceall: allowed are" reduceall
refused "unknown option --sizes: " allreduce --sizes 4
refused "--type float12: 'float12' is not known; allowed are int8, uint8" allreduce --type float12
refused "--type: " allreduce --type
refused "--op plus: 'plus' is not known; allowed are sum, prod" allreduce --op sum,min --op plus
refused "--min -4: not a size" allreduce --min -4
refused "--min 0: not a size; allowed is a whole number of bytes above 0" allreduce --min 0
refused "--max 99999999999999999999: not a size" allreduce --max 99999999999999999999
refused "--max 16K: allowed is at least --min, which is 64K" allreduce --min 64K --max 16K
refused "--step 1: allowed is a whole number from 2 to" allreduce --step 1
refused "--iters 20000: allowed is a whole number from 1 to 10000" allreduce --iters 20000
refused "--memory gpu: allowed are host, rondo, device" allreduce --memory gpu
refused "--meeting here: allowed are auto, barrier" allreduce --meeting here
refused "--budget -1: allowed is" allreduce --budget -1
refused "unknown option --pause" init --pause 5
refused "unknown option --graph" init --graph
refused "unknown option --meeting" init --meeting barrier
refused "unknown option --warmup" init --warmup 3
refused "--meeting barrier: allowed only with --memory host or rondo" allreduce --memory device --meeting barrier
refused "--csv '': allowed is a file" allreduce --csv ""
refused "--json '': allowed is a file" allreduce --json ""
refused "--plot $scratch/./same: allowed is a file of its own" allreduce --json "$scratch/same" --plot "$scratch/./same"
refused "--pause 0.5: allowed is a whole number from 0 to 10000" allreduce --pause 0.5
refused "--csv $scratch/none/x: cannot be written (No such file" allreduce --csv "$scratch/none/x"
refused "unknown option --root" allreduce --root 0
refused "--graph: allowed only with --memory device" allreduce --graph
refused "--awaited: allowed only with --memory device, and without --graph" allreduce --awaited
refused "--register: allowed only with --memory device" allreduce --register
refused "--copy-engines: allowed only together with --register" allreduce --copy-engines
refused "--windows: allowed only together with --register" allreduce --memory device --windows
refused "--peer nccl: allowed only with --memory device" allreduce --peer nccl
refused "--peer nccl-sym: allowed only with --memory device" allreduce --peer nccl-sym
refused "--peer mpi: MPI has no type like bfloat16" allreduce --peer mpi --type int8,bfloat16
refused "--peer mpi: MPI has no operator like avg" allreduce --peer mpi --op avg
refused "--peer mpi: MPI has no band of bool" allreduce --peer mpi --type bool --op band
refused "--op max: not defined for complex64; allowed for complex64 are sum, prod, avg, premulsum" \
  allreduce --type int8,complex64 --op max
refused "--op sum: not defined for bool; allowed for bool are land" allreduce --type bool
refused "--op minloc: not defined for int32" allreduce --type int32 --op minloc
refused "--group 0: allowed is a whole number from 1 to 1024" allreduce --group 0
refused "--group: allowed only with --memory host or rondo" allreduce --group 2 --memory device
[[ -e /dev/nvidiactl ]] || refused "--memory device" allreduce --memory device

if [[ $fake != none ]]; then
  wrongOf() { awk '$2 == "'"$1"'" { n += $9 } END { print n + 0 }' "$scratch/out"; }
  faulty() {  # fault, arguments...
    local fault=$1
    shift
    FAKE_RONDO_FAULT=$fault try 2 "$fake" "${quick[@]}" "$@"
    what="$what, fault $fault"
  }
  # Eight calls are checked before the timing, one after it.
  faulty wrong --min 4K --max 4K --peer mpi
  [[ $status == 1 && $(wrongOf rondo) == 9 && $(wrongOf mpi) == 0 ]] || complain "not 9 wrong"
  faulty wrong --min 4K --max 4K --in-place
  [[ $status == 1 && $(wrongOf rondo) == 9 ]] || complain "not 9 wrong"
  # What a call writes beside its result or into its input, in the eight that are checked before.
  for stray in before behind input; do
    faulty $stray --min 4K --max 4K --peer mpi
    [[ $status == 1 && $(wrongOf rondo) == 8 && $(wrongOf mpi) == 0 ]] || complain "not 8 wrong"
  done
  faulty behind --min 4K --max 4K --in-place
  [[ $status == 1 && $(wrongOf rondo) == 8 ]] || complain "not 8 wrong"
  # A fault that begins while the clock runs is seen in the last iteration.
  faulty late --min 4K --max 4K
  [[ $status == 1 && $(wrongOf rondo) == 1 ]] || complain "not 1 wrong"
  # Results of earlier calls do not pass for new ones, however often a buffer is used.
  for memory in "" --hot; do
    faulty stale --min 4K --max 4K --iters 200 $memory
    [[ $status == 1 && $(wrongOf rondo) == 2048 ]] || complain "not all 2048 wrong"
  done
  faulty wrong --min 4K --max 4K --no-check
  [[ $status == 0 ]] || complain "exit status $status, not 0"

  faulty init
  [[ $status == 1 && $(grep -c 'rondoCommInitMPI returned .*: the fake refuses' "$scratch/err") == 1 ]] ||
    complain "not said once"
  faulty call
  [[ $status == 1 && $(grep -c 'rondoAllReduce returned .*: the fake' "$scratch/err") == 1 ]] ||
    complain "not said once"
  faulty one-call
  [[ $status == 1 ]] && grep -q "rank 1: rondoAllReduce returned .* fails here" "$scratch/err" ||
    complain "the other rank waits, or the sentence lacks the rank"
fi

# The device's side, on stand-ins for the CUDA driver and for NCCL that are built here.
buildFakes() {
  local mpicxx=${TEST_MPICC:+${TEST_MPICC%cc}cxx}
  local here
  here=$(dirname "${BASH_SOURCE[0]}")
  "${mpicxx:-mpicxx}" -std=c++20 -DOMPI_SKIP_MPICXX=1 -shared -fPIC -o "$scratch/libcuda.so.1" \
    "$here/fake_cuda.cc"
  "${mpicxx:-mpicxx}" -std=c++20 -DOMPI_SKIP_MPICXX=1 -shared -fPIC -o "$scratch/libnccl.so.2" \
    "$here/fake_nccl.cc" "$scratch/libcuda.so.1"
  # One that is linked to Rondo, as Rondo's own is.
  mkdir "$scratch/ours"
  echo 'int rondoGetVersion(int* version) { return *version = 0; }' | "${TEST_MPICC:-mpicc}" -shared -fPIC -x c \
    -o "$scratch/ours/librondo.so" -
  "${mpicxx:-mpicxx}" -std=c++20 -DOMPI_SKIP_MPICXX=1 -shared -fPIC -o "$scratch/ours/libnccl.so.2" \
    "$here/fake_nccl.cc" "$scratch/libcuda.so.1" -Wl,--no-as-needed "$scratch/ours/librondo.so"
}

if [[ $fake != none ]]; then
  buildFakes
  refusing=$fake
  export LD_LIBRARY_PATH=$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  quick=(allreduce --memory device --warmup 1 --iters 3)
  refused "no CUDA device; allowed here are host and rondo" allreduce --memory device
  FAKE_CUDA_NO_DEVICE=1 FAKE_RONDO_DEVICE=1 \
    refused "--memory device needs a CUDA device; cuInit says: no CUDA-capable device" \
    allreduce --memory device
  export FAKE_RONDO_DEVICE=1
  # 4 MiB has fewer sets of buffers than a sample has calls.
  for mode in "--max 4K" "--max 4K --graph" "--max 4M --graph --graph-calls 7 --in-place" \
    "--max 4M --in-place" "--max 4M --graph" "--max 4K --hot --graph" "--max 4K --awaited"; do
    try 2 "$fake" "${quick[@]}" --min 4K --step 1024 $mode --peer nccl --csv "$scratch/rows.csv"
    checkCsv 2 "$([[ $mode == *4M* ]] && echo 4 || echo 2)"
    [[ $(rowsWith 2) == "nccl rondo" && $(rowsWith 3) == device ]] || complain "rows"
  done
  try 2 "$fake" "${quick[@]}" --type float16,int64 --op avg,prod --min 4K --max 4K \
    --csv "$scratch/rows.csv"
  checkCsv 2 4
  # The first, later ones of both libraries, of halves, cached.
  try 2 "$fake" init --memory device --peer nccl --iters 3 --csv "$scratch/rows.csv"
  [[ $status == 0 && $(rowsWith 1) == "init_cached init_first init_later init_split" ]] || complain "rows"
  [[ $(grep -c '^init_later,nccl,device,2,' "$scratch/rows.csv") == 1 && $(wc -l <"$scratch/rows.csv") == 6 ]] ||
    complain "not 5 rows, one of them NCCL's"
  for mode in "" --graph "--register --in-place" "--register --windows"; do
    try 2 "$fake" "${quick[@]}" --min 4K --max 4M --step 1024 $mode --peer nccl-sym --csv "$scratch/rows.csv"
    [[ $status == 0 && $(rowsWith 2) == "nccl-sym rondo" && $(rowsWith 12) == 0 ]] || complain "rows"
  done
  try 2 "$fake" "${quick[@]}" --min 4K --max 4K --register --windows --csv "$scratch/rows.csv"
  checkCsv 2 1
  FAKE_NCCL_NO_WINDOWS=1 refused "NCCL makes no symmetric windows here; allowed: --peer nccl" \
    allreduce --memory device --peer nccl-sym
  refused "--memory rondo: init has no buffers" init --memory rondo
  refused "--peer nccl: NCCL has no type int16" allreduce --memory device --peer nccl --type int16
  LD_LIBRARY_PATH=$scratch/ours:$LD_LIBRARY_PATH \
    refused "the libnccl.so.2 that the loader finds first is Rondo's own" allreduce --memory device --peer nccl
  # Of graphs both libraries take all sets, and each was used last as many calls before. The first 80
  # calls are two untimed rounds, those after the timed ones check.
  for calls in 20 16 7; do
    rm -f "$scratch"/log.*
    FAKE_CUDA_LOG=$scratch/log try 2 "$fake" allreduce --memory device --min 4K --max 4K --peer nccl \
      --graph --graph-calls $calls --warmup 0 --iters 60
    for log in "$scratch"/log.*; do
      awk -v calls=$calls '
        NR <= 4 * calls || NR > 124 * calls { next }
        $2 in last && (distance[$1] == 0 || NR - last[$2] < distance[$1]) { distance[$1] = NR - last[$2] }
        { last[$2] = NR; if (!seen[$1 $2]++) ++sets[$1] }
        END {
          print "rondo", sets["rondo"], distance["rondo"], "nccl", sets["nccl"], distance["nccl"]
          exit !(sets["rondo"] == sets["nccl"] && sets["rondo"] >= 56 && sets["rondo"] <= 64 &&
                 distance["rondo"] == sets["rondo"] && distance["nccl"] == sets["rondo"])
        }' "$log" >"$scratch/why" || complain "sets and distances: $(cat "$scratch/why")"
    done
  done
  # MPI by way of the host: every collective, and nothing of the results that is not theirs.
  for name in allreduce reduce bcast allgather allgatherv reduce_scatter reduce_scatterv alltoall \
    alltoallv gather gatherv scatter scatterv scan exscan sendrecv; do
    for place in "" --in-place; do
      [[ $place == "" || $name != bcast && $name != reduce_scatter* && $name != sendrecv ]] || continue
      try 2 "$fake" "$name" --memory device --warmup 1 --iters 3 --min 4K --max 4K $place --peer mpi \
        --csv "$scratch/rows.csv"
      [[ $status == 0 && $(rowsWith 2) == "mpi rondo" && $(rowsWith 3) == device ]] || complain "rows"
      [[ $(rowsWith 1) == "$name" && $(rowsWith 12) == 0 ]] || complain "wrong elements"
    done
  done
  refused "--peer mpi: allowed only without --graph" allreduce --memory device --graph --peer mpi
  refused "only collectives are timed, not latency" latency --memory device --peer mpi
  # Eight checked before, and the 20 buffers of the last sample.
  faulty wrong --min 4K --max 4K --graph
  [[ $status == 1 && $(wrongOf rondo) == 28 ]] || complain "not 28 wrong"
  faulty behind --min 4K --max 4K
  [[ $status == 1 && $(wrongOf rondo) == 8 ]] || complain "not 8 wrong"
  # Awaited calls are checked as such, one on each of the 64 sets. Of a result that is not there when
  # its call is said to have ended all 1024 elements are wrong, on both ranks.
  for place in "" --in-place; do
    faulty awaited --min 4K --max 4K --awaited $place
    [[ $status == 1 && $(wrongOf rondo) == 64 ]] || complain "not 64 wrong"
    faulty early --min 4K --max 4K --awaited $place
    [[ $status == 1 && $(wrongOf rondo) == 2048 ]] || complain "not 2048 wrong"
  done
  faulty stale --min 4K --max 4K --peer nccl
  [[ $status == 1 && $(wrongOf rondo) == 40960 && $(wrongOf nccl) == 0 ]] || complain "not 40960 wrong"
fi

finish
