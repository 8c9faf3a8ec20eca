#!/usr/bin/env bash
# What a tool prints or writes to a full disk is missed: a sentence says what and why, and the exit status is not 0.
# A reader that has seen enough is no reason for a sentence.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
[[ -w /dev/full ]] || { echo "no /dev/full here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export RONDO_TUNE_DIR=$scratch/dir
failures=0
full='No space left on device'

complain() { echo "$*, and it said: $(head -c 2000 "$scratch/said")"; failures=1; }

# Those that this build has.
tool() {  # name
  [[ -x $TEST_BUILDDIR/$1 ]]
}

# Nothing printed arrives.
lost() {  # exit status, name, arguments...
  local wanted=$1 name=$2 status=0
  shift 2
  tool "$name" || return 0
  timeout 120 "$TEST_BUILDDIR/$name" "$@" >/dev/full 2>"$scratch/said" || status=$?
  [[ $status == "$wanted" ]] || complain "exit status $status, expected $wanted: $name $*"
  [[ $(grep -c "^$name: cannot write standard output: $full\$" "$scratch/said") == 1 ]] ||
    complain "not told once by $name $*"
}

# A file is not complete.
cut() {  # exit status, words, name, arguments...
  local wanted=$1 words=$2 name=$3 status=0
  shift 3
  tool "$name" || return 0
  timeout 120 "$TEST_BUILDDIR/$name" "$@" >"$scratch/out" 2>"$scratch/said" || status=$?
  [[ $status == "$wanted" ]] || complain "exit status $status, expected $wanted: $name $*"
  [[ $(grep -cF -- "$name: $words" "$scratch/said") == 1 ]] || complain "no \"$words\" by $name $*"
}

# The reader goes after a line. With the signal blocked the tool sees an error instead.
enough() {  # name, arguments...
  local name=$1
  shift
  tool "$name" || return 0
  ("$TEST_BUILDDIR/$name" "$@" || true) 2>"$scratch/said" | head -n 1 >/dev/null
  [[ ! -s $scratch/said ]] || complain "not quiet: $name $* | head"
  (trap '' PIPE; exec 3> >(true); sleep 0.2; "$TEST_BUILDDIR/$name" "$@" >&3 2>"$scratch/said") || true
  [[ ! -s $scratch/said ]] || complain "not quiet without the signal: $name $*"
}

two=(--topology "1 cpu, 2 gpu nvlink=100 nvswitch")
for name in rondo-info rondo-explain rondo-topo rondo-sim; do
  status=2
  [[ $name == rondo-info || $name == rondo-explain ]] || status=1
  lost $status $name --help
done
lost 4 rondo-status --help
lost 3 rondo-doctor --help
lost 3 rondo-doctor --json
lost 2 rondo-info
lost 2 rondo-info --options
lost 2 rondo-explain --docs
lost 2 rondo-explain allreduce ring --verify
lost 1 rondo-topo "${two[@]}"
lost 1 rondo-topo "${two[@]}" --xml -
lost 1 rondo-sim "${two[@]}" --bytes 1M
lost 1 rondo-sim "${two[@]}" --channels --op barrier  # flushes each line itself
lost 1 rondo-tune --help
lost 1 rondo-bench --version
lost 1 rondo-bench barrier --iters 1

for kind in csv json svg; do ln -s /dev/full "$scratch/full.$kind"; done
cut 1 "$scratch/full.csv: $full" rondo-sim "${two[@]}" --bytes 1M --flows "$scratch/full.csv"
cut 1 "$scratch/full.json: $full" rondo-sim "${two[@]}" --bytes 1M --flows "$scratch/full.json"
cut 1 "$scratch/full.json: $full" rondo-sim "${two[@]}" --bytes 1M --trace "$scratch/full.json"
cut 1 "$scratch/full.svg: $full" rondo-sim "${two[@]}" --bytes 1M --svg "$scratch/full.svg"
for option in --svg --xml --nccl-xml; do
  cut 1 "$scratch/full.svg: $full" rondo-topo "${two[@]}" $option "$scratch/full.svg"
done
for option in csv json plot; do
  cut 1 "--$option /dev/full: cannot be written ($full)" rondo-bench barrier --iters 1 --$option /dev/full
done

# Rank 0's own end of the pipe is full, as it is where mpirun gives it a file.
if tool rondo-tune; then
  status=0
  # shellcheck disable=SC2016
  runMpi 2 bash -c 'exec "$0" --seconds 0.1 --max 64K --dry-run >/dev/full' "$TEST_BUILDDIR/rondo-tune" \
    >"$scratch/out" 2>"$scratch/said" || status=$?
  [[ $status == 1 ]] || complain "exit status $status of rondo-tune"
  [[ $(grep -c "^rondo-tune: cannot write standard output: $full\$" "$scratch/said") == 1 ]] ||
    complain "not told once by rondo-tune"
fi

enough rondo-explain --docs
enough rondo-info --options
enough rondo-topo "${two[@]}"
exit $failures
