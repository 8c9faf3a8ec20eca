#!/usr/bin/env bash
# Every benchmark of the suite: MPI's calls give what the suite expects, Rondo's do where librondo
# has them, the stand-in's do, and the stand-in's faults are counted.
#   suite.sh [RONDO_BENCH [FAKE_RONDO_BENCH]]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/job.sh"

collectives=(allreduce reduce bcast allgather allgatherv reduce_scatter reduce_scatterv alltoall alltoallv gather
  gatherv scatter scatterv scan exscan)
pairs=(sendrecv latency bw bibw)
all=(all --warmup 1 --iters 4 --min 4 --max 4K --step 32 --csv "$scratch/rows.csv")

# Rows that the CSV file has of a benchmark and library, without a wrong element.
rightRows() { awk -F, -v c="$1" -v l="$2" '$1 == c && $2 == l && $12 == 0 && $9 >= 0' "$scratch/rows.csv" | wc -l; }

# Each of the benchmarks has three sizes' rows of each of the libraries, all right.
measured() {  # libraries, benchmarks...
  [[ $status == 0 ]] || complain "exit status $status, not 0"
  local name library
  for name in "${@:2}"; do
    for library in $1; do
      [[ $(rightRows "$name" "$library") == 3 ]] || complain "not 3 right rows of $library's $name"
    done
  done
}

# MPI alone: its calls, and what each rank's buffers must hold, without Rondo.
try 3 "$bench" "${all[@]}" --library mpi --root 2 --type int16
measured mpi "${collectives[@]}" "${pairs[@]}" overlap_allreduce
grep -q '# mbw_mr is left out: needs an even number of ranks' "$scratch/out" || complain "mbw_mr"
try 4 "$bench" "${all[@]}" --library mpi --in-place --window 5
measured mpi "${collectives[@]/reduce_scatter*/allreduce}" "${pairs[@]}" mbw_mr

# Rondo beside MPI.
try 2 "$bench" "${all[@]}" --peer mpi --root 1 --plot "$scratch/all.svg"
measured "rondo mpi" allreduce bcast
for name in "${collectives[@]}" "${pairs[@]}" mbw_mr overlap; do
  grep -Eq "^$name(_allreduce)?," "$scratch/rows.csv" || complain "$name is missing"
done
[[ $(rightRows barrier rondo) == 1 && $(rightRows init_later mpi) == 1 ]] || complain "barrier, init"
grep -q '<svg ' "$scratch/all.svg" && grep -q '</svg>' "$scratch/all.svg" || complain "the picture"

# Of several types every row says its own, in the table and in the picture.
try 2 "$bench" all --type int8,float64 --warmup 1 --iters 4 --min 16 --max 512 --step 32 --plot "$scratch/all.svg"
[[ $status == 0 && $(grep -c ' rondo  *int8 ' "$scratch/out") -ge 36 ]] && grep -q '^# data  *int8, float64; sum$' "$scratch/out" ||
  complain "types in the table"
grep -q '>rondo float64 sum<' "$scratch/all.svg" && grep -q '>rondo int8<' "$scratch/all.svg" || complain "types in the picture"

# A curve is drawn though the first one is a single point; a point alone is said with its size.
try 2 "$bench" bcast --type complex128,int8 --warmup 1 --iters 4 --min 4 --max 16 --step 2 --plot "$scratch/one.svg"
[[ $status == 0 && $(grep -c '<polyline' "$scratch/one.svg") -ge 2 ]] || complain "no curve"
try 2 "$bench" bcast --warmup 1 --iters 4 --min 4K --max 4K --plot "$scratch/one.svg"
[[ $status == 0 ]] && grep -Eq '>bcast: rondo [0-9.]+ us of 4KiB<' "$scratch/one.svg" || complain "no size"

# Buffers begin where --align and --offset say, and the head says so.
for memory in host rondo; do
  try 2 "$bench" allreduce --warmup 1 --iters 4 --min 480 --max 480 --align 1M --offset 4,8 --memory $memory
  [[ $status == 0 ]] && grep -q '^# run .*, aligned to 1M, 4 and 8 bytes behind' "$scratch/out" || complain "alignment"
done
try 2 "$bench" overlap --warmup 1 --iters 4 --max 4 --polls 3
[[ $status == 0 ]] && grep -q '^# run .*, 3 polls$' "$scratch/out" || complain "polls"
# Two ranks' long blocks stay at home: three quarters of the average go out.
try 2 "$bench" alltoallv --warmup 1 --iters 4 --min 4K --max 4K --csv "$scratch/rows.csv"
awk -F, 'NR == 2 { want = 3072 / $9 / 1000; exit !($11 > 0.99 * want && $11 < 1.01 * want) }' "$scratch/rows.csv" ||
  complain "bandwidth of alltoallv"

try 3 "$bench" init --peer mpi --iters 3 --csv "$scratch/rows.csv"
grep -q '^# meeting  *MPI_Barrier$' "$scratch/out" || complain "how the ranks meet"
# The first; later and split of both libraries, cached: over 2 and over 3 ranks.
[[ $status == 0 && $(wc -l <"$scratch/rows.csv") == 12 ]] || complain "not 11 rows"

try 2 "$bench" allreduce --peer mpi --warmup 1 --iters 4 --max 4K --step 32 --plot "$scratch/one.svg" \
  --json "$scratch/a.json"
[[ $status == 0 && $(grep -c '<polyline' "$scratch/one.svg") == 6 ]] || complain "the picture"

# compare: no MPI job needed.
compare() {  # expected status, arguments...
  what="compare ${*:2}"
  status=0
  "$bench" compare "${@:2}" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$1" ]] || complain "exit status $status, not $1"
}
sed -E 's/("usec_p50": )([0-9.e-]+)/\11e9/' "$scratch/a.json" >"$scratch/b.json"
compare 0 "$scratch/a.json" "$scratch/a.json"
grep -q '6 rows compared, 0 past' "$scratch/out" || complain "not 6 rows"
compare 1 "$scratch/a.json" "$scratch/b.json"
grep -q '6 rows compared, 6 past' "$scratch/out" || complain "not 6 losses"
compare 0 "$scratch/b.json" "$scratch/a.json"
compare 0 "$scratch/a.json" "$scratch/b.json" --columns min,p99
compare 2 "$scratch/a.json"
grep -q 'compare needs two files' "$scratch/err" || complain "its sentence"
compare 2 "$scratch/a.json" "$scratch/all.svg"
grep -q 'all.svg: is not a JSON file' "$scratch/err" || complain "its sentence"
compare 2 "$scratch/a.json" "$scratch/none.json"
grep -q 'none.json: cannot be read (No such file' "$scratch/err" || complain "its sentence"
compare 2 "$scratch/a.json" "$scratch/a.json" --columns p42
grep -q -- '--columns p42: allowed are min, p50, p99' "$scratch/err" || complain "its sentence"
compare 2 "$scratch/a.json" "$scratch/a.json" --threshold 0
grep -q -- '--threshold 0: allowed is a number above 0' "$scratch/err" || complain "its sentence"

# Wrong elements of a row that has no partner, rows that are gone, settings that differ.
sed -E '0,/"wrong": 0/s//"wrong": 5/; s/"bytes": 128/"bytes": 129/; s/(rotating buffers)/\1, hot/' \
  "$scratch/a.json" >"$scratch/b.json"
sed -E 's/"bytes": 4,/"bytes": 5,/' "$scratch/b.json" >"$scratch/c.json"
compare 1 "$scratch/a.json" "$scratch/c.json"
grep -q '2 rows compared, 0 past the threshold of 1.1, 1 with wrong elements, 4 gone' "$scratch/out" ||
  complain "wrong rows"
grep -q 'They differ in run, after: .*rotating buffers, hot' "$scratch/out" || complain "settings"

# Data that is only moved has any type, at MPI too.
for name in bcast alltoallv; do
  try 2 "$bench" $name --warmup 1 --iters 4 --min 480 --max 480 --peer mpi --type all \
    --csv "$scratch/rows.csv"
  [[ $status == 0 && $(rightRows $name rondo) == 22 && $(rightRows $name mpi) == 22 ]] ||
    complain "not 22 right rows of each"
done
# Buffers that begin anywhere an element may.
for name in allreduce alltoall gatherv; do
  for offset in 1 3,5; do
    try 2 "$bench" $name --warmup 1 --iters 4 --min 480 --max 480 --type int8 --offset $offset \
      --csv "$scratch/rows.csv"
    [[ $status == 0 && $(rightRows $name rondo) == 1 ]] || complain "no right row at $offset"
  done
done
# Every collective in groups, in place and not; with pre-multiplied sums where it reduces.
for name in "${collectives[@]}" barrier; do
  for how in "" --in-place; do
    [[ $how && $name =~ bcast|barrier ]] && continue
    op=
    [[ $name =~ reduce|scan ]] && op="--op premulsum,max"
    [[ $name == barrier ]] || sizes="--min 480 --max 7680"
    try 3 "$bench" $name --warmup 1 --iters 4 --group 3 $how $op ${sizes-} --csv "$scratch/rows.csv"
    [[ $status == 0 ]] || complain "exit status $status, not 0"
    sizes=
  done
done

# Bad input: one sentence with the words given here, exit status 2.
refused() { apart checkRefused "$@"; }
checkRefused() {  # words, ranks, arguments...
  local words=$1
  try "$2" "$bench" "${@:3}"
  [[ $status == 2 ]] || complain "exit status $status, not 2"
  grep '^rondo-bench: ' "$scratch/err" | grep -qF -- "$words" || complain "does not say: $words"
}
refused "--root 2: allowed is a rank from 0 to 1" 2 bcast --root 2
refused "mbw_mr: 3 ranks; allowed is an even number" 3 mbw_mr --library mpi
refused "latency: 1 rank; allowed are 2 or more" 1 latency --library mpi
refused "--op avg: not defined for scan" 2 scan --op avg
refused "--peer nccl: allowed only with allreduce, reduce, bcast" 2 scan --memory device --peer nccl
refused "--library mpi: MPI has no type like bfloat16" 2 reduce --library mpi --type bfloat16
refused "MPI leaves the block of an in-place reduce_scatter" 2 reduce_scatter --library mpi --in-place
refused "unknown option --op" 2 alltoall --op sum
refused "unknown option --memory" 2 barrier --memory host
refused "--collective latency: allowed are allreduce" 2 overlap --collective latency
refused "--window 0: allowed is a whole number from 1" 2 bw --window 0
refused "--offset 4,64: allowed are multiples of 4, the size of an element, below --align, which is 64" 2 allreduce --offset 4,64
refused "--offset 2: allowed are multiples of 4" 2 allreduce --offset 2
refused "--offset 1,2,3: allowed are 1 to 2 sizes" 2 allreduce --offset 1,2,3
refused "--offset 4,8: allowed is one number with --in-place" 2 allreduce --offset 4,8 --in-place
refused "--offset 4,8: allowed is one number with bcast" 2 bcast --offset 4,8
refused "--offset 4,8: allowed is one number with bcast" 2 overlap --collective bcast --offset 4,8
refused "--root 7: allowed only with a collective that has a root, not allreduce" 2 overlap --root 7
refused "--root 7: allowed is a rank from 0 to 1" 2 overlap --collective bcast --root 7
refused "MPI's displacements are at most 2147483647 elements" 2 allgatherv --max 8G --peer mpi
refused "MPI counts at most 2147483647 elements, and --max 8G of int8" 2 reduce_scatterv --max 8G --type int8 --peer mpi
refused "--op minloc: not defined for int8" 2 reduce_scatterv --max 1500M --type int8 --op minloc --peer mpi
refused "--align 48: allowed is a power of two from 16 to 1M" 2 allreduce --align 48
refused "--library mpi: allowed only without --peer" 2 bcast --library mpi --peer mpi

# What a later benchmark of all would refuse is refused before anything runs or is written.
refusedFirst() { apart checkRefusedFirst; }
checkRefusedFirst() {
  checkRefused "--root 7: allowed is a rank from 0 to 1" 2 all --root 7 --json "$scratch/none.json"
  [[ ! -e $scratch/none.json && ! -s $scratch/out ]] || complain "has begun"
}
refusedFirst

if [[ $fake != none ]]; then
  try 3 "$fake" "${all[@]}" --peer mpi --root 1 --type int32
  measured "rondo mpi" "${collectives[@]}" "${pairs[@]}" overlap_allreduce
  try 4 "$fake" "${all[@]}" --in-place
  measured rondo "${collectives[@]}" "${pairs[@]}" mbw_mr
  try 2 "$fake" overlap --collective alltoall --peer mpi --warmup 1 --iters 4 --max 4K --polls 2 \
    --csv "$scratch/rows.csv"
  [[ $status == 0 && $(rightRows overlap_alltoall rondo) == 3 ]] || complain "not 3 right rows"
  head -1 "$scratch/rows.csv" | grep -q 'wrong,usec_comm,usec_compute,overlap_pct$' || complain "columns"

  for memory in host rondo; do
    FAKE_RONDO_ALIGN=1048576 try 2 "$fake" allreduce --warmup 1 --iters 4 --min 480 --max 480 --align 1M --memory $memory
    [[ $status == 0 ]] || complain "buffers begin elsewhere"
  done
  FAKE_RONDO_ALIGN=1048576 try 2 "$fake" allreduce --warmup 1 --iters 4 --min 480 --max 480 --align 512K
  [[ $status == 1 ]] || complain "buffers do not begin at odd multiples"

  # Right values in the wrong place, another rank's block, a missing last element: never passes.
  noticed() {  # fault, benchmarks...
    local name
    FAKE_RONDO_FAULT=$1 try 2 "$fake" "${all[@]}" --peer mpi --min 128
    what="$what, fault $1"
    [[ $status == 1 ]] || complain "exit status $status, not 1"
    for name in "${@:2}"; do
      [[ $(rightRows "$name" rondo) == 0 && $(rightRows "$name" mpi) == 2 ]] ||
        complain "Rondo's $name passes, or MPI's does not"
    done
  }
  noticed shift "${collectives[@]:1}" "${pairs[@]}" mbw_mr
  noticed swap "${collectives[@]:3}"
  noticed short "${collectives[@]:1}"
fi

finish
