#!/usr/bin/env bash
# benchmarks/against_mpi.sh on a stand-in for mpirun: what its tables say of rows, and that a run
# that failed is no result.
#   against_mpi.sh
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/benchmarks/against_mpi.sh
python3 -c '' 2>/dev/null || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

complain() {
  printf 'FAILED %s: %s\n' "$what" "$*"
  sed 's/^/    /' "$scratch/out" "$scratch/err"
  failures=$((failures + 1))
}

# Writes the header and ROWS to the file of --csv; of run ODD ODD_ROWS, with exit status ODD_STATUS.
cat >"$scratch/mpirun" <<'END'
#!/usr/bin/env bash
for ((i = 1; i < $#; ++i)); do [[ ${!i} != --csv ]] || { next=$((i + 1)) csv=${!next}; }; done
header=collective,library,memory,ranks,bytes,type,op,usec_min,usec_p50,usec_p99,busbw_GBps,wrong
[[ $csv != *."${ODD-none}".csv ]] || odd=yes ROWS=$ODD_ROWS
printf '%s\n' "$header" ${ROWS-} >"$csv"
[[ ! ${odd-} ]] || exit "$ODD_STATUS"
END
chmod +x "$scratch/mpirun"

row() { echo "$1,$2,host,2,$3,$4,$5,1,$6,9,1,$7"; }  # benchmark, library, bytes, type, op, p50, wrong
pair() { row "$1" rondo "$2" "$3" "$4" "$5" 0; row "$1" mpi "$2" "$3" "$4" "$6" 0; }

table() {  # expected status, words of its output, benchmarks
  what="against_mpi.sh $3, ${ODD-none} has ${ODD_ROWS-} and status ${ODD_STATUS-}"
  status=0
  PATH=$scratch:$PATH RONDO_BENCH=/bin/true "$script" 2 2 "$3" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$1" ]] || complain "exit status $status, not $1"
  cat "$scratch/out" "$scratch/err" | grep -qF -- "$2" || complain "does not say: $2"
}

export ROWS
ROWS=$(pair allreduce 4 float32 sum 1 2; pair allreduce 1572864 float32 sum 30 60)
table 0 '| 4 | 1.00 | 2.00 | 0.50 | 2.00 | 0.50 | **0.50** |' allreduce
table 0 '| 1536 Ki | 30.00 |' allreduce
table 0 '0 wrong elements.' allreduce
table 0 '| | 4 | 1536 Ki |' allreduce,reduce

# Types and operators have rows of their own.
ROWS=$(pair allreduce 4096 float32 sum 1 2; pair allreduce 4096 int8 sum 8 2; pair allreduce 4096 int8 max 6 2)
table 0 '| 4 Ki float32 sum | 1.00 |' allreduce
table 0 '| 4 Ki int8 max | 6.00 |' allreduce
# What is timed without MPI has none.
ROWS=$(pair allreduce 4 float32 sum 1 2; row allreduce rondo 4 bfloat16 sum 1 0)
table 0 '| 4 float32 | 1.00 |' allreduce

# A run that failed after its header, or on the way, is none; one with a wrong element is.
export ODD=ucx.2 ODD_STATUS=1 ODD_ROWS=
ROWS=$(pair allreduce 4 float32 sum 1 2; pair allreduce 16 float32 sum 1 2)
table 1 'allreduce failed with exit status 1' allreduce
ODD_ROWS=$(pair allreduce 4 float32 sum 1 2)
table 1 'allreduce failed with exit status 1' allreduce
ODD_STATUS=0
table 1 'allreduce.ucx.2.csv has 2 rows, allreduce.default.1.csv has 4' allreduce
ODD_STATUS=1 ODD_ROWS=${ROWS%0}3
table 1 '3 wrong elements.' allreduce
ODD_STATUS=139
table 139 'allreduce failed with exit status 139' allreduce

[[ $failures == 0 ]] || { echo "$failures checks failed"; exit 1; }
echo "all checks passed"
