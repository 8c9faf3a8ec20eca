#!/usr/bin/env bash
# Programs of the OSU micro-benchmarks, unmodified, through librondo_mpi.so, with validation where the
# program has it. RONDO_OSU_DIR: a folder under which the built programs lie (c/mpi of its build, or
# libexec/osu-micro-benchmarks/mpi of an installation). By hand, in the build folder:
# tests/drop_in/osu.sh [RANKS...]; it takes minutes. RONDO_OSU_LAYER: the folder of librondo_mpi.so (.libs).
# RONDO_MPI (host; both with RONDO_OSU_DEVICE) is handed on. RONDO_OSU_BARE=1: without the layer, to see
# what MPI alone gives. RONDO_OSU_OPTIONS: more words for every program, such as "-T all", "-l" (in place)
# or "-k rotate" (roots). RONDO_OSU_SECONDS: no run begins later than that after the start; what was not
# run is counted and makes the script fail.
# RONDO_OSU_DEVICE=cuda: on device buffers, on programs built with CUDA; those of one or more pairs with
# D D, D H and H D. Ranks that outnumber the GPUs share GPU 0 under MPS, which is started here. At last
# MPI alone must not manage device buffers, else nothing was shown. RONDO_OSU_DEVICE=managed: managed
# memory, collectives only.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
if [[ -z ${RONDO_OSU_DIR:-} ]]; then
  echo "RONDO_OSU_DIR is not set; allowed: a folder with built OSU micro-benchmarks"
  exit 77
fi
layer=${RONDO_OSU_LAYER:-${TEST_BUILDDIR:-$PWD}/.libs}/librondo_mpi.so
[[ -f $layer ]] || { echo "no $layer"; exit 77; }
memory=${RONDO_OSU_DEVICE:-}
if [[ ! $memory =~ ^(|cuda|managed)$ ]]; then
  echo "RONDO_OSU_DEVICE is \"$memory\"; allowed: cuda, managed"
  exit 1
fi
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} MPI_TIMEOUT=${MPI_TIMEOUT:-300}
# Open MPI's sums of chars by AVX do not wrap where those that validation expects do.
export OMPI_MCA_op=${OMPI_MCA_op:-^avx}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

# Windows are MPI's alone, and start-up is no communication. Threads and children of a rank have no
# device buffers in these programs; managed memory between two ranks needs OSU's kernels.
leave=(-not -path '*/one-sided/*' -not -path '*/startup/*' -not -path '*/.libs/*')
[[ -z $memory ]] || leave+=(-not -name 'osu_latency_m[pt]')
[[ $memory != managed ]] || leave+=(-not -path '*/pt2pt/*')
mapfile -t programs < <(find "$RONDO_OSU_DIR" -type f -name 'osu_*' -perm -u+x "${leave[@]}" | sort)
if [[ ${#programs[@]} == 0 ]]; then
  echo "RONDO_OSU_DIR is \"$RONDO_OSU_DIR\", which has no program osu_*; allowed: a folder with some"
  exit 1
fi

# Processes on one GPU run at once under MPS only.
prepareDevices() {
  local gpus ranks
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
  if ((gpus < 1)); then
    echo "no GPU: device buffers need one"
    exit 77
  fi
  # Kernels are loaded before any of them spins.
  export CUDA_MODULE_LOADING=${CUDA_MODULE_LOADING:-EAGER}
  for ranks in "$@"; do
    ((ranks > gpus)) || continue
    if [[ -z ${CUDA_MPS_PIPE_DIRECTORY:-} ]]; then
      startMps || { echo "no MPS: processes that share a GPU would wait for each other"; exit 77; }
      trap 'stopMps; rm -rf "$scratch"' EXIT
    fi
    # With 32 connections each a fourth process gets no context.
    export CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_MAX_CONNECTIONS=8
    echo "$ranks processes share GPU 0 (MPS)"
  done
}
[[ -z $memory ]] || prepareDevices "${@:-2}"

# Most programs that measure one pair of ranks refuse others.
runsWith() {  # program, ranks
  case $1 in
    */osu_mbw_mr | */osu_multi_lat) return 0 ;;
    */pt2pt/*) [[ $2 == 2 ]] ;;
    *) return 0 ;;
  esac
}

# Short runs, sizes to 64 KiB (256 KiB on devices), validation.
device=${memory:+-d $memory}
sizes="-m 1:65536"
[[ -z $memory ]] || sizes="-m 1:262144"
read -ra wanted <<<"-i 5 -x 1 -u 1 $sizes -c $device ${RONDO_OSU_OPTIONS:-}"
mode=${RONDO_MPI:-host}
[[ -z $memory ]] || mode=${RONDO_MPI:-both}
preload=(-x LD_PRELOAD="$layer" -x RONDO_MPI="$mode" -x RONDO_MPI_STATS=1)
[[ ${RONDO_OSU_BARE:-0} == 0 ]] || preload=()
run() {  # ranks, program, options...
  runMpi "$1" -x LD_LIBRARY_PATH ${preload[@]+"${preload[@]}"} "${@:2}" >"$log" 2>&1
}

# A program that has no validation, or no sizes, says so and is run without: asking each for its help
# first would double the time.
runShorter() {  # ranks, program, places...; leaves what it ran with in `options`
  options=("${wanted[@]}")
  # With validation it wants as many threads to receive as to send.
  [[ $2 != */osu_latency_mt ]] || options+=(-t 2:2)
  run "$1" "$2" "${options[@]}" "${@:3}" && return 0
  local fewer
  for fewer in "-i 5 -x 1 $sizes" "-i 5 -x 1" ""; do
    grep -qE 'Invalid option|unrecognized option|Usage:' "$log" || return 1
    read -ra options <<<"$fewer $device"
    run "$1" "$2" ${options[@]+"${options[@]}"} "${@:3}" && return 0
  done
  return 1
}

# What the statistics say of the program's own call; of messages that some were copied. Barriers, what is MPI's for its
# types and what neighbours exchange are not counted by memory.
saidOfDevices() {  # program
  local call=${1##*/osu_}
  awk -v call="MPI_${call^}" '$2 == call { for (i = 7; i <= NF; i++) said = said " " $i; print said }' "$log"
}
seenOnDevices() {  # program
  case $1 in
    */pt2pt/*) grep -qE '^rondo_mpi: MPI_[A-Z][A-Za-z_]* .*by way of the host' "$log" ;;
    */osu_barrier | */osu_ibarrier | */osu_*alltoallw | */osu_*neighbor_*) return 0 ;;
    *) [[ $(saidOfDevices "$1") =~ on\ devices|by\ way\ of\ the\ host ]] ;;
  esac
}

failed=0 ran=0 validated=0 late=0
judge() {  # program, ranks, places...
  local result=ran counts status=0
  runShorter "$2" "$1" "${@:3}" || status=$?
  # osu_latency_mt of 7.2 ends without MPI_Finalize, which mpirun makes a failure of.
  [[ $status == 0 || $1 != */osu_latency_mt ]] || ! grep -q 'exiting improperly' "$log" ||
    ! grep -qE '[[:space:]]Pass([[:space:]]|$)' "$log" || status=0
  if grep -qE 'VALIDATION ERROR|[[:space:]]Fail([[:space:]]|$)' "$log"; then
    result=WRONG
  elif [[ $status != 0 ]]; then
    result=FAILED
  elif [[ -n $memory && ${#preload[@]} != 0 ]] && ! seenOnDevices "$1"; then
    result=UNSEEN
  elif [[ " ${options[*]-} " == *" -c "* ]] && grep -qE '[[:space:]]Pass([[:space:]]|$)' "$log"; then
    result=right
    validated=$((validated + 1))
  fi
  ran=$((ran + 1))
  counts=$(awk '$1 == "rondo_mpi:" && $2 ~ /^MPI_/ { taken += $3; passed += $5 }
    END { printf "%d calls Rondo'\''s, %d MPI'\''s", taken, passed }' "$log")
  [[ -z $memory ]] || counts="$counts;$(saidOfDevices "$1")"
  printf '%-34s %2d ranks %4s %-7s %s\n' "${1##*/}" "$2" "${*:3}" "$result" "$counts"
  case $result in
    FAILED | WRONG | UNSEEN)
      failed=$((failed + 1))
      tail -n 60 "$log"
      ;;
  esac
}

places=("")
for program in "${programs[@]}"; do
  [[ -z $memory || $program != */pt2pt/* ]] || places=("D D" "D H" "H D")
  [[ $program == */pt2pt/* ]] || places=("")
  for ranks in "${@:-2}"; do
    runsWith "$program" "$ranks" || continue
    for place in "${places[@]}"; do
      # 7.2 fills buffers of more than a pair as if only rank 0 were a sender, by the host on a device.
      [[ $program != */osu_multi_lat || $ranks == 2 || $place != *H* ]] || continue
      if ((SECONDS >= ${RONDO_OSU_SECONDS:-86400})); then
        late=$((late + 1))
        continue
      fi
      # shellcheck disable=SC2086
      judge "$program" "$ranks" $place
    done
  done
done

# The proof that all this shows something: MPI alone reads a device's addresses as the host's.
mpiAlone() {  # program, options...
  local found
  found=$(find "$RONDO_OSU_DIR" -type f -name "$1" -perm -u+x "${leave[@]}" | head -n 1)
  [[ -n $found ]] || return 0
  preload=()
  if MPI_TIMEOUT=60 run 2 "$found" "${@:2}" && ! grep -qE '[[:space:]]Fail([[:space:]]|$)' "$log"; then
    echo "$1 without the layer: right; so this MPI takes device buffers itself, and nothing was shown"
    failed=$((failed + 1))
  else
    echo "$1 without the layer: not right, as it must be: $(grep -m 1 -E 'Signal:|Fail|Bad address|exited' "$log" || true)"
  fi
}
if [[ $memory == cuda && ${RONDO_OSU_BARE:-0} == 0 ]]; then
  mpiAlone osu_allreduce "${wanted[@]}"
  mpiAlone osu_latency "${wanted[@]}" D D
fi
echo "$ran runs of ${#programs[@]} programs, $validated validated, $failed failed, $late not run"
[[ $failed == 0 && $late == 0 ]]
