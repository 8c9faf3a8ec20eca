# For the scripts here to source: the two programs, a scratch folder, and runs of a benchmark.
#   . job.sh [RONDO_BENCH [FAKE_RONDO_BENCH]]
builddir=${TEST_BUILDDIR-build}
bench=${1-$builddir/rondo-bench}
fake=${2-${1:+none}}
fake=${fake:-$builddir/tests/fake_rondo_bench}
environment=$(dirname "${BASH_SOURCE[0]}")/../mpi_env.sh
if [[ -f $environment ]]; then
  . "$environment"
else
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  runMpi() { local ranks=$1; shift; timeout -k 5 120 mpirun --oversubscribe -n "$ranks" "$@"; }
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
what=

complain() {
  printf 'FAILED %s: %s\n' "$what" "$*"
  sed 's/^/    /' "$scratch/out" "$scratch/err"
  failures=$((failures + 1))
}

# Runs the benchmark; leaves $scratch/out, $scratch/err and $status.
try() {  # ranks, program, arguments...
  what="${*:2}, $1 ranks"
  status=0
  runMpi "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
}

# Starts a check that has a scratch folder of its own, beside a few others: Open MPI sleeps for
# seconds when a job ends, above all when it fails.
apart() {  # function, arguments...
  while (($(jobs -rp | wc -l) >= 6)); do wait -n || true; done
  (
    home=$scratch
    scratch=$(mktemp -d "$home/apart.XXXXXX") failures=0
    "$@" >"$scratch/said" 2>&1
    [[ $failures == 0 ]] || cp "$scratch/said" "$home/failed.${scratch##*.}"
  ) &
}

# For after the last check.
finish() {
  local said
  wait
  for said in "$scratch"/failed.*; do
    [[ -f $said ]] || continue
    cat "$said"
    failures=$((failures + 1))
  done
  [[ $failures == 0 ]] || { echo "$failures checks failed"; exit 1; }
  echo "all checks passed"
}
