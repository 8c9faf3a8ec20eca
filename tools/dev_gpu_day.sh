# shellcheck shell=bash
# The figures of one day: all that docs/performance.md says of GPUs that was seen together, of one build, in five
# parts, with four GPUs in six. Each takes under ten minutes on four GPUs, as long as one call to a machine of
# others may be. Sourced by ./dev after tools/dev_gpu_programs.sh.

gpuDay() {  # sanitize, tests, variants, layers, programs, three
  [[ $# == 1 && $1 =~ ^(sanitize|tests|variants|layers|programs|three)$ ]] ||
    fail "gpu-day: \"$*\"; allowed: one of sanitize, tests, variants, layers, programs, three"
  gpuReady
  [[ $1 != three || $gpus -ge 4 ]] ||
    fail "gpu-day three: $gpus GPUs here; allowed: four, of which three and one run nccl-tests"
  dayResult=0
  daySeconds=${RONDO_DAY_SECONDS:-560}  # no program begins later than that
  dayLogs=$(mktemp -d)
  rondo-bench --version
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  case $1 in
    sanitize) RONDO_SANITIZE_SECONDS=${RONDO_SANITIZE_SECONDS:-190} dayStep sanitize gpuSanitize ;;
    tests) dayTests; dayBench ;;
    variants) dayVariants ;;
    layers) dayLayers ;;
    three)
      dayBeside "nccl-tests on 3" 0,1,2 "dayNcclTests 0,1,2 480" "nccl-tests on 1" 3 "dayNcclTests 3 480"
      ;;
    programs)
      dayStep "nccl-tests on $gpus" dayNcclTests 0- 400
      dayStep "OSU, 4 ranks" dayOsu 4
      ;;
  esac
  rm -r "$dayLogs"
  say "dev: gpu-day $1: $([[ $dayResult == 0 ]] && echo "all of it passed" || echo "FAILED, see above") on $gpus GPUs"
  return $dayResult
}

# Says what it runs, when and for how long, and goes on after a failure.
dayStep() {  # name, command...
  local name=$1 begin=$SECONDS status=0
  shift
  say "day: $name, $(date -u +%T)"
  "$@" || status=$?
  [[ $status == 0 ]] || dayResult=1
  say "day: $name: $([[ $status == 0 ]] && echo ok || echo "FAILED ($status)"), $((SECONDS - begin)) s"
}

# Several steps beside each other, on GPUs of their own: what each says comes in one piece.
dayBeside() {  # name, GPUs ("0,1"), command in one word; and so on, by threes
  local -a names=() pids=()
  local k begin=$SECONDS status
  while (($# >= 3)); do
    (export CUDA_VISIBLE_DEVICES=$2; eval "$3") >"$dayLogs/${#names[@]}" 2>&1 &
    names+=("$1")
    pids+=($!)
    building[day${#pids[@]}]=$!  # for ./dev's trap
    shift 3
  done
  for k in "${!names[@]}"; do
    status=0
    wait "${pids[k]}" || status=$?
    [[ $status == 0 ]] || dayResult=1
    say "day: ${names[k]}"
    cat "$dayLogs/$k"
    unset "building[day$((k + 1))]"
    say "day: ${names[k]}: $([[ $status == 0 ]] && echo ok || echo "FAILED ($status)"), within $((SECONDS - begin)) s"
  done
}

dayShard() {  # which
  GTEST_TOTAL_SHARDS=$gpus GTEST_SHARD_INDEX=$1 GTEST_BRIEF=1 bounded 250 gpu_tests
}

dayTests() {
  local gpu ranks shards=() last=$((gpus - 1))
  for ((gpu = 0; gpu < gpus; ++gpu)); do shards+=("gpu_tests, part $gpu of $gpus" $gpu "dayShard $gpu"); done
  dayBeside "${shards[@]}"
  dayStep "gpu_tests on all" bounded 100 gpu_tests --gtest_brief=1 --gtest_filter='*BesideCaptures.*:DeviceApi.*:DeviceAwaited.*:Devices.*:GpuStorm.*'
  dayBeside death 0 "bounded 120 gpu_death" chaos $last "bounded 200 gpu_chaos --runs 6"
  dayStep beside bounded 60 gpu_beside
  for ((ranks = 2; ranks <= gpus; ++ranks)); do
    dayStep "gpu_mpi, $ranks processes" runMpi "$ranks" gpu_mpi
  done
  dayStep "gpu_mpi loaded lazily" env CUDA_MODULE_LOADING=LAZY bash -c '. tests/mpi_env.sh; runMpi "$1" gpu_mpi "first communicator"' - "$gpus"
  RONDO_P2P=off dayStep "gpu_mpi through host memory" runMpi "$gpus" gpu_mpi
}

dayNccl() {  # ranks, collective, options...
  runMpi "$1" rondo-bench "$2" --memory device --peer nccl "${@:3}"
}

dayBench() {
  local type mode
  # Its methods but copy engines (5) and barriers (7): 6 is a ring of bulk copies, the best of them from 64 MiB.
  command -v "bare_$gpus" >/dev/null && dayStep "bare, $gpus GPUs" bounded 100 "bare_$gpus" 12346 -t60
  for mode in "" --graph; do
    dayStep "all-reduce $mode" dayNccl "$gpus" allreduce --min 8 --max 1G --step 2 --budget 0.05 $mode
  done
  dayStep "all-gather by copies" dayNccl "$gpus" allgather --register --copy-engines --min 1G --max 1G --budget 0.1
  dayStep "all-to-all by copies" dayNccl "$gpus" alltoall --register --copy-engines --min 1G --max 1G --budget 0.1
  for type in float32 bfloat16 float16; do
    dayStep "$type" runMpi "$gpus" rondo-bench allreduce --memory device --type $type --min 8 --max 128M --step 8 --budget 0.05
  done
  if ((gpus > 2)); then
    command -v bare_2 >/dev/null && dayStep "bare, 2 GPUs" bounded 60 bare_2 124 -t20
    for mode in "" --graph; do
      dayStep "all-reduce $mode, 2 GPUs" dayNccl 2 allreduce --min 8 --max 2M --step 4 --budget 0.05 $mode
    done
    dayStep "communicators of 2" dayNccl 2 init --iters 5
  fi
  dayStep "communicators of $gpus" dayNccl "$gpus" init --iters 5
  for mode in "" --graph; do
    dayStep "all $mode" dayNccl "$gpus" all --min 1K --max 64M --step 16 --window 16 --budget 0.1 $mode
  done
}

# The same beside NCCL with all buffers in its symmetric windows: those for which it has other kernels then (its broadcasts
# of 4 MiB from windows stood still, 2 x H200, NCCL 2.28.3). In place; registered.
dayVariants() {
  local mode name
  for mode in "" --graph; do
    dayStep "all-reduce $mode, NCCL's windows" dayNcclWindows allreduce --min 8 --max 1G --step 2 --budget 0.05 $mode
    dayStep "all-reduce $mode in place" dayNccl "$gpus" allreduce --in-place --min 8 --max 1G --step 4 --budget 0.05 $mode
    dayStep "all-reduce $mode, registered" dayNccl "$gpus" allreduce --register --copy-engines --min 8 --max 1G --step 4 --budget 0.05 $mode
    dayStep "all-reduce $mode, registered, in place" dayNccl "$gpus" allreduce --register --copy-engines --in-place --min 256M --max 1G --step 4 --budget 0.05 $mode
    for name in allgather reduce_scatter alltoall; do
      dayStep "$name $mode, NCCL's windows" dayNcclWindows $name --min 1K --max 64M --step 4 --budget 0.05 $mode
    done
  done
}

dayNcclWindows() {  # collective, options...
  MPI_TIMEOUT=60 runMpi "$gpus" rondo-bench "$1" --memory device --peer nccl-sym "${@:2}"
}

# Seconds in which programs may still begin, or as many as are asked for if that is less.
dayLeft() {  # seconds
  local left=$((daySeconds - SECONDS))
  ((left > 20)) || left=20
  echo $((left < ${1:-left} ? left : ${1:-left}))
}

# GPUs of a list, or from the first on ("0-").
dayNcclTests() {  # GPUs, seconds
  local count
  [[ -d $build/gpu/nccl-tests ]] || { say "day: no nccl-tests in build/gpu"; return 1; }
  [[ $1 != 0- ]] || set -- "$(seq -s, 0 $((gpus - 1)))" "$2"
  count=$(tr , '\n' <<<"$1" | wc -l)
  CUDA_VISIBLE_DEVICES=$1 RONDO_NCCL_TESTS_GPUS=$count RONDO_NCCL_TESTS_SECONDS=$(dayLeft "$2") MPI_TIMEOUT=120 \
    RONDO_NCCL_TESTS_DIR=$build/gpu/nccl-tests tests/drop_in/nccl_tests_suite.sh "$build/gpu/lib/nccl/libnccl.so.2"
}

dayOsu() {  # ranks
  [[ -d $build/gpu/osu ]] || { say "day: no OSU programs in build/gpu"; return 1; }
  RONDO_OSU_DIR=$build/gpu/osu RONDO_OSU_LAYER=$build/gpu/lib RONDO_OSU_DEVICE=cuda MPI_TIMEOUT=40 \
    RONDO_OSU_SECONDS=$(dayLeft) RONDO_OSU_OPTIONS="-u 0" tests/drop_in/osu.sh "$1"
}

# Two processes: losses beside NCCL's own.
dayTorch() {
  TEST_RANKS=2 bounded 200 tests/drop_in/nccl_torch.sh "$build/gpu/lib/nccl/libnccl.so.2"
}

dayTorchAlone() {  # processes
  TEST_RANKS=$1 LD_PRELOAD=$build/gpu/lib/nccl/libnccl.so.2 bounded 200 \
    python3 tests/drop_in/nccl_torch.py "$build/gpu/lib/nccl/libnccl.so.2" "$dayLogs/losses"
}

dayTorchAndOsu() {
  local result=0
  dayTorch || result=1
  dayOsu 2 || result=1
  return $result
}

dayLayers() {
  if ((gpus >= 4)); then
    dayBeside "nccl-tests on 2" 0,1 "dayNcclTests 0,1 330" "PyTorch and OSU, 2 ranks" 2,3 "dayTorchAndOsu"
  else
    dayStep PyTorch dayTorch
    dayStep "OSU, 2 ranks" dayOsu 2
    dayStep "nccl-tests on 1" dayNcclTests 0 150
  fi
  dayStep "one thread for all" gpuOneThread
  dayStep layers gpuLayer 2 $((gpus > 2 ? gpus : 0))
  ((gpus < 4)) || dayStep "PyTorch, 4 processes" dayTorchAlone 4
}
