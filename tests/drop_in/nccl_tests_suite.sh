#!/usr/bin/env bash
# nccl_tests_suite.sh LIBRARY : NVIDIA's nccl-tests, built by whom it may concern and unmodified, on
# Rondo's libnccl.so.2 (LIBRARY), with every result checked by them (-c 1): all programs; one thread
# for all GPUs, one thread a GPU, one process a GPU; all types and operators, in and out of place; all
# roots; graphs, registered buffers and windows, aggregated and blocking calls. Not part of `make check`:
# needs RONDO_NCCL_TESTS_DIR, the folder of the built programs (NAME_perf, and for one process a GPU
# NAME_perf_mpi; either may be missing), and GPUs (else 77).
# RONDO_NCCL_TESTS_GPUS: how many GPUs (all there are). RONDO_NCCL_TESTS_SECONDS: no run begins later
# than that after the start; what was not run is counted and makes the suite fail.
# RONDO_NCCL_TESTS_ONLY: an expression of grep -E; only runs whose line begins with it ("mpi all_reduce
# -b 8 ...") are made.
# RONDO_NCCL_TESTS_OTHER=1: LIBRARY is another NCCL, to compare with.
# RONDO_NCCL_TESTS_SHARED="2 4": numbers of processes that share GPU 0 under MPS, which is started here
# unless CUDA_MPS_PIPE_DIRECTORY names a daemon's. All runs but those of one GPU are then made with one
# process a rank, with smaller sizes: minutes for each number.
set -euo pipefail
library=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
programs=${RONDO_NCCL_TESTS_DIR:-}
if [[ -z $programs ]]; then
  echo "RONDO_NCCL_TESTS_DIR is not set; allowed: a folder with built nccl-tests"
  exit 77
fi
if ! compgen -G "$programs/*_perf*" >/dev/null; then
  echo "RONDO_NCCL_TESTS_DIR is \"$programs\", which has no program *_perf; allowed: one that has"
  exit 1
fi
[[ -f $library ]] || { echo "no library $library"; exit 1; }
gpus=${RONDO_NCCL_TESTS_GPUS:-$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)}
[[ $gpus -ge 1 ]] || { echo "no GPU"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
shared=${RONDO_NCCL_TESTS_SHARED:-}
if [[ -n $shared ]]; then
  if [[ ! $shared =~ ^[0-9]+(\ +[0-9]+)*$ ]]; then
    echo "RONDO_NCCL_TESTS_SHARED is \"$shared\"; allowed: numbers of processes, such as \"2 4\""
    exit 1
  fi
  if [[ -z ${CUDA_MPS_PIPE_DIRECTORY:-} ]]; then
    startMps || { echo "no MPS: processes that share a GPU would wait for each other"; exit 77; }
    trap 'stopMps; rm -rf "$scratch"' EXIT
  fi
  # With 32 connections each a fourth process gets no context; kernels are loaded before any spins.
  export NCCL_TESTS_DEVICE=0 CUDA_DEVICE_MAX_CONNECTIONS=8 CUDA_MODULE_LOADING=${CUDA_MODULE_LOADING:-EAGER}
fi
export NCCL_DEBUG=VERSION NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0} MPI_TIMEOUT=${MPI_TIMEOUT:-300}
deadline=${RONDO_NCCL_TESTS_SECONDS:-86400}
runs=0 failed=0 checked=0 absent=0 late=0 notFor=0
declare -A made=()

# Rows of the table, values that were checked, wrong ones: of both halves, in and out of place. Counted from
# a row's end, as hypercube names no operator.
readTable() {
  awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 12 {
         ++rows
         for (i = NF - 4; i <= NF; i += 4) if ($i != "N/A") { ++checks; wrong += $i }
       }
       END { printf "%d %d %.0f\n", rows, checks, wrong }' "$log"
}

# Whose library answered: it says so by itself.
isRondo() { [[ -n ${RONDO_NCCL_TESTS_OTHER:-} ]] || grep -qi 'rondo' "$log"; }

# Where GPU 0 is shared there is one way, so that some runs are the same; those of one GPU are left out.
goesShared() {  # how, program, options...
  [[ $1 != one && -z ${made[${*:2}]:-} ]] || return 1
  made[${*:2}]=1
}

check() {  # how, program, options...
  if [[ -n $shared ]]; then
    goesShared "$@" || return 0
    set -- mpi "${@:2}"
  fi
  local how=$1 name=$2 program=$programs/$2_perf code=0 result=right begin rows checks wrong
  shift 2
  local command=() bounded=(timeout -k 5 "$MPI_TIMEOUT" env)
  case $how in
    mpi)
      program+=_mpi
      command=(runMpi "$processes" -x LD_PRELOAD="$library" "$program")
      ;;
    all) command=("${bounded[@]}" LD_PRELOAD="$library" "$program" -g "$gpus") ;;
    threads) command=("${bounded[@]}" LD_PRELOAD="$library" "$program" -t "$gpus") ;;
    one) command=("${bounded[@]}" LD_PRELOAD="$library" "$program" -g 1) ;;
  esac
  grep -qE -- "^(${RONDO_NCCL_TESTS_ONLY:-.})" <<<"$how $name $*" || return 0
  if [[ ! -x $program ]]; then
    absent=$((absent + 1))
    return 0
  fi
  if ((SECONDS >= deadline)); then
    late=$((late + 1))
    return 0
  fi
  runs=$((runs + 1))
  begin=$EPOCHREALTIME
  "${command[@]}" -c 1 "$@" >"$log" 2>&1 || code=$?
  read -r rows checks wrong < <(readTable)
  checked=$((checked + checks))
  if [[ $code == 0 && $rows == 0 ]] && grep -q 'is not a power of 2, skipping' "$log"; then
    notFor=$((notFor + 1))
    runs=$((runs - 1))
    printf '%-8s %-15s %-40s says that it is not for so many ranks\n' "$how" "$name" "$*"
    return 0
  elif [[ $wrong != 0 ]]; then
    result=WRONG
  elif [[ $code != 0 || $checks == 0 ]] || ! grep -q 'Out of bounds values : 0 OK' "$log"; then
    result=FAILED
  elif ! isRondo; then
    result=NOT-RONDO
  fi
  printf '%-8s %-15s %-40s %4d rows %4d checks %3.0f wrong %5.1f s  %s\n' "$how" "$name" "$*" "$rows" \
    "$checks" "$wrong" "$(awk "BEGIN { print $EPOCHREALTIME - $begin }")" "$result"
  if [[ $result != right ]]; then
    failed=$((failed + 1))
    { grep -vE '^ +[0-9]+ ' "$log" || true; } | tail -n 25
    awk '$1 ~ /^[0-9]+$/ && NF >= 12 && ($(NF - 4) + 0 > 0 || $NF + 0 > 0)' "$log" | head -n 5
  fi
}

sizes=(-b 8 -e 128M -f 4 -n 5)
few=(-b 8 -e 8M -f 32 -n 2)
large=(-b 1G -e 1G -n 5)
if [[ -n $shared ]]; then
  sizes=(-b 8 -e 32M -f 16 -n 3)
  few=(-b 8 -e 2M -f 64 -n 2)
  large=(-b 256M -e 256M -n 2)
fi
all=(all_reduce reduce_scatter reduce all_gather broadcast alltoall gather scatter sendrecv hypercube)
# Programs of other versions of the suite, where they are.
for extra in "$programs"/*_perf; do
  extra=${extra##*/}
  extra=${extra%_perf}
  [[ " ${all[*]} " == *" $extra "* || $extra == '*' ]] || all+=("$extra")
done

everyRun() {
  local name mode
  for name in "${all[@]}"; do
    check mpi "$name" "${sizes[@]}"
  done
  for name in "${all[@]}"; do
    case $name in
      all_reduce | reduce_scatter) check all "$name" "${few[@]}" -d all -o all ;;
      reduce) check all "$name" "${few[@]}" -d all -o all -r -1 ;;
      sendrecv) check all "$name" "${few[@]}" -d all ;;
      # One thread puts all its GPUs' steps into one group, where the second may not send what the first
      # receives: wrong by NCCL's library too (4 x H200, 2026-11).
      hypercube) check mpi "$name" "${few[@]}" -d all -r -1 ;;
      *) check all "$name" "${few[@]}" -d all -r -1 ;;
    esac
  done
  for name in "${all[@]}"; do
    check threads "$name" "${sizes[@]}"
  done
  for name in all_reduce reduce_scatter all_gather alltoall broadcast sendrecv; do
    check mpi "$name" "${sizes[@]}" -G 2
  done
  for name in all_reduce reduce sendrecv; do
    check all "$name" "${sizes[@]}" -G 2 -o all
    check threads "$name" "${sizes[@]}" -G 2
  done
  for mode in 1 2; do
    check mpi all_reduce "${sizes[@]}" -R "$mode"
    check mpi all_gather "${sizes[@]}" -R "$mode"
    check all reduce_scatter "${sizes[@]}" -R "$mode"
    check threads alltoall "${sizes[@]}" -R "$mode"
  done
  check mpi all_reduce "${few[@]}" -d all -o all
  check threads all_reduce "${few[@]}" -d bfloat16 -o all
  for name in all_reduce all_gather reduce_scatter; do
    check mpi "$name" "${large[@]}"
  done
  check all all_reduce "${sizes[@]}" -m 4
  check mpi all_reduce "${sizes[@]}" -m 4
  check mpi reduce "${few[@]}" -z 1
  check mpi all_gather "${few[@]}" -y 1
  check mpi all_reduce -b 4 -e 4004 -i 100 -n 2 -d half
  for name in "${all[@]}"; do
    check one "$name" -b 8 -e 1M -f 16 -n 2
  done
}

for processes in ${shared:-$gpus}; do
  [[ -z $shared ]] || echo "$processes processes share GPU 0"
  made=()
  everyRun
done

[[ $absent == 0 ]] || echo "$absent runs left out: their programs are not in $programs"
[[ $notFor == 0 ]] || echo "$notFor runs said that they are not for so many ranks"
[[ $late == 0 ]] || echo "$late runs left out: no time"
where="$gpus GPUs"
[[ -z $shared ]] || where="GPU 0 with $shared processes"
echo "$runs runs on $where, $checked results checked, $failed runs failed"
[[ $failed == 0 && $late == 0 && $runs != 0 ]]
