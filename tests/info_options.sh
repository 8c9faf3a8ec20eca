#!/usr/bin/env bash
# rondo-info --options says of each wrong value in the environment what a job says, and prints all the rest.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
info=$TEST_BUILDDIR/rondo-info bench=$TEST_BUILDDIR/rondo-bench
[[ -x $info && -x $bench ]] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

complain() { echo "$*"; failures=1; }

# The sentence beside the variable, which ends with status 2 and a line that names it.
refusal() {  # NAME=VALUE, with others that are right before it
  local status=0 setting=${!#}
  env "$@" "$info" --options >out 2>err || status=$?
  [[ $status == 2 ]] || complain "exit status $status with $setting"
  grep -qx "rondo-info: what is set would be refused: ${setting%%=*}" err ||
    complain "$setting is not told of: $(cat err)"
  [[ $(grep -c '^    refused: ' out) == 1 && $(grep -c '^    now: ' out) == "$rows" ]] ||
    complain "not every variable once with $setting"
  awk -v name="${setting%%=*}" '/^[^ ]/ { at = $1 } at == name && sub(/^    refused: /, "")' out >sentence
  sentence=$(cat sentence)
}

"$info" --options >out 2>err || complain "exit status $? with nothing wrong"
[[ ! -s err ]] || complain "nothing is wrong, and it said: $(cat err)"
! grep -q '^    refused: ' out || complain "nothing is wrong, and something is refused"
rows=$(grep -c '^    now: ' out)
[[ $rows -ge 30 ]] || complain "only $rows variables"

# By the library.
for setting in RONDO_CPU=sse9 RONDO_TUNE=fast RONDO_TUNE=allreduce:host:0-64X:ring RONDO_GROUPS=socket \
  RONDO_GROUPS=0,x RONDO_POOL_BYTES=1K RONDO_REPRODUCIBLE=yes RONDO_SM_BUDGET=all RONDO_P2P=on \
  RONDO_NET_ZERO_COPY=1 RONDO_DEPENDENT_LAUNCH=1 RONDO_REGISTER=0 RONDO_TIMEOUT_MS=1s RONDO_BOOT_TIMEOUT_MS=0 \
  RONDO_LOG=loud RONDO_LOG_FILE=%d RONDO_DUMP_SIGNAL=KILL; do
  refusal "$setting"
  env "$setting" "$bench" barrier --iters 1 >job 2>&1 && complain "a job takes $setting"
  [[ -n $sentence ]] && grep -qF -- "$sentence" job || complain "$setting: \"$sentence\", but a job says: $(cat job)"
done
# By those that join by unique id only.
refusal RONDO_NET_IF=none9
[[ $sentence == 'environment variable RONDO_NET_IF is "none9": there is no "none9"; allowed: '* ]] ||
  complain "no word about RONDO_NET_IF"

# By the layer before MPI; its rehearsal makes the machine.
layer=$TEST_BUILDDIR/.libs/librondo_mpi.so
if [[ -f $layer ]]; then
  machine="2 gpu nvlink=100 nvswitch:2"
  export LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for setting in RONDO_MPI=gpu RONDO_MPI_STATS=yes RONDO_MPI_MEASURE=no RONDO_MPI_LINGER=5us \
    "RONDO_VIRTUAL=3 toasters:2" "RONDO_VIRTUAL=$machine$machine" RONDO_VIRTUAL=/nowhere/machine.xml:2 \
    "RONDO_VIRTUAL_RANK=last" "RONDO_VIRTUAL_GRAPH=some" RONDO_VIRTUAL_OUT=/nowhere/run; do
    all=("$setting")
    [[ $setting != RONDO_VIRTUAL_* ]] || all=("RONDO_VIRTUAL=$machine" "$setting")
    refusal "${all[@]}"
    env "${all[@]}" LD_PRELOAD="$layer" "$bench" barrier --iters 1 >job 2>&1 &&
      complain "the layer takes $setting"
    [[ -n $sentence ]] && grep -qF -- "$sentence" job ||
      complain "$setting: \"$sentence\", but the layer says: $(cat job)"
  done
  refusal RONDO_VIRTUAL_RANK=7 "RONDO_VIRTUAL=$machine"
  [[ $sentence == *"argument rank is 7; allowed: 0 to 1" ]] || complain "a rank that is not there: \"$sentence\""
fi

# Several at once.
RONDO_CPU=sse9 RONDO_MPI=gpu RONDO_LOG=loud "$info" --options >out 2>err && complain "several are taken"
grep -qx 'rondo-info: what is set would be refused: RONDO_CPU, RONDO_LOG, RONDO_MPI' err || complain "not all: $(cat err)"
exit $failures
