# shellcheck shell=bash
# What ./dev does for GPUs, sourced by it. Another machine runs what this one built, so nothing here
# builds.

# build/gpu holds all that it takes: carry the checkout with that folder, or with build/gpu.tar.xz, which is a
# fifth as long, and run ./dev gpu-test there.
gpuPack() {
  local program dir=$build/gpu
  [[ -x $build/tests/gpu_tests ]] ||
    fail "this build has no GPU part: configure found no CUDA (see the summary in $build/configure.log)"
  rm -rf "$dir"
  mkdir -p "$dir/bin" "$dir/lib"
  for program in tests/gpu_{tests,death,chaos,mpi,beside} install/bin/rondo-{bench,tune}; do
    install -s "$build/$program" "$dir/bin/"
  done
  # The layer before MPI, with a program that knows nothing of Rondo.
  for program in device_path_test device_calls_test; do
    [[ -x $build/tests/drop_in/$program ]] && install -s "$build/tests/drop_in/$program" "$dir/bin/"
  done
  # Programs of NCCL's interface: one thread for all GPUs, and what the interface costs, if it was built.
  for program in "$build"/{tests/{.libs/,}nccl_gpu,benchmarks/{.libs/,}nccl_cost}; do
    # libtool's own is a script that builds here run
    if [[ -x $program && ! -e $dir/bin/${program##*/} ]]; then install -s "$program" "$dir/bin/"; fi
  done
  for program in $(ldd "$dir/bin/nccl_cost" 2>/dev/null | awk '/libbenchmark/ { print $3 }'); do
    cp "$program" "$dir/lib/"
  done
  cp -P "$build"/install/lib/librondo.so* "$build"/install/lib/librondo_mpi.so "$dir/lib/"
  # And the one for NCCL's programs, apart: rondo-bench --peer nccl wants NVIDIA's.
  mkdir "$dir/lib/nccl"
  install -s "$build/install/lib/rondo/nccl/libnccl.so.2" "$dir/lib/nccl/"
  strip "$dir"/lib/librondo.so.*.* "$dir/lib/librondo_mpi.so"
  # UCX that can move GPUs' memory, as tools/ucx_with_cuda.sh makes it.
  if [[ -n ${RONDO_UCX_CUDA-} ]]; then
    mkdir -p "$dir/ucx/ucx"
    cp -P "$RONDO_UCX_CUDA"/lib/lib{ucs,ucm,uct,ucp,cudart}.so.* "$dir/ucx/"
    cp -P "$RONDO_UCX_CUDA"/lib/ucx/*.so* "$dir/ucx/ucx/"
    find "$dir/ucx" -name '*.so*' -type f -exec strip --strip-unneeded {} +
  fi
  packPrograms "$dir"
  XZ_OPT=-T0 tar cJf "$build/gpu.tar.xz" -C "$build" gpu
}

gpuReady() {
  if [[ ! -x $build/gpu/bin/gpu_tests && -f $build/gpu.tar.xz ]]; then tar xJf "$build/gpu.tar.xz" -C "$build"; fi
  [[ -x $build/gpu/bin/gpu_tests ]] || gpuPack
  haveGpu || fail "no GPU here (nvidia-smi lists none); build/gpu is what to carry to a machine with some"
  gpus=$(nvidia-smi -L | grep -c '^GPU')
  export PATH=$build/gpu/bin:$PATH LD_LIBRARY_PATH=$build/gpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # Kernels are loaded before any of them spins; NVLink multicast can put shared GPUs out of service.
  export CUDA_MODULE_LOADING=EAGER NCCL_NVLS_ENABLE=0 MPI_TIMEOUT=300
  # shellcheck source=tests/mpi_env.sh
  . tests/mpi_env.sh
}

runAsHosts() {  # ranks, how many of them a host has, program that knows --memory, arguments...
  local ranks=$1 each=$2
  shift 2
  # shellcheck disable=SC2016
  GPUS=$gpus EACH=$each UCX_TLS=tcp,self runMpi "$ranks" sh -c 'i=$OMPI_COMM_WORLD_LOCAL_RANK
    first=$((i / EACH * EACH % GPUS)) last=$((i / EACH * EACH % GPUS + EACH - 1))
    [ $last -lt $GPUS ] || last=$((GPUS - 1))
    export RONDO_HOSTID=host$((i / EACH)) NCCL_HOSTID=host$((i / EACH))
    CUDA_VISIBLE_DEVICES=$(seq -s, $first $last) exec "$@" --memory device' sh "$@"
}

# MPI's collectives on device buffers, by the layer: right, and beside copies through the host.
gpuLayer() {  # numbers of processes, 0 for none
  local ranks what result=0
  for ranks in "$@"; do
    [[ $ranks != 0 ]] || continue
    if command -v device_calls_test >/dev/null; then
      say "dev: device_calls_test, $ranks processes"
      runMpi "$ranks" -x LD_LIBRARY_PATH -x LD_PRELOAD="$build/gpu/lib/librondo_mpi.so" -x RONDO_MPI=both device_calls_test ||
        result=1
    fi
    for what in every scattered quiet again row later later-free uneven time time-row time-later time-scattered; do
      say "dev: device_path_test $what, $ranks processes"
      runMpi "$ranks" -x LD_LIBRARY_PATH -x LD_PRELOAD="$build/gpu/lib/librondo_mpi.so" -x RONDO_MPI=both \
        -x RONDO_MPI_STATS=1 device_path_test "$what" || result=1
    done
  done
  return $result
}

# A program of NCCL's interface that drives all GPUs by one thread, and what that interface costs.
gpuOneThread() {
  command -v nccl_gpu >/dev/null || return 0
  say "dev: nccl_gpu, one thread for $gpus GPUs"
  LD_LIBRARY_PATH=$build/gpu/lib/nccl:$LD_LIBRARY_PATH bounded 150 nccl_gpu || return 1
  command -v nccl_cost >/dev/null || return 0
  local log
  log=$(LD_LIBRARY_PATH=$build/gpu/lib/nccl:$LD_LIBRARY_PATH bounded 60 nccl_cost 2>&1) || return 1
  say "$log"
  [[ $log != *"ERROR OCCURRED"* ]]
}

# PyTorch, which was written for NCCL, where it is there.
gpuTorch() {
  python3 -c 'import torch' 2>/dev/null || return 0
  local ranks library=$build/gpu/lib/nccl/libnccl.so.2 losses
  losses=$(mktemp)
  for ((ranks = 2; ranks <= processes; ranks *= 2)); do
    say "dev: PyTorch on Rondo's libnccl.so.2, $ranks processes"
    TEST_RANKS=$ranks LD_PRELOAD=$library bounded 200 python3 tests/drop_in/nccl_torch.py "$library" "$losses" || return 1
  done
}

gpuTest() {
  local result=0
  gpuThreads "$@" || result=1
  gpuProcesses || result=1
  [[ $result == 0 ]] && say "dev: all GPU tests passed on $gpus GPUs"
  return $result
}

# Those whose ranks are threads of one process.
gpuThreads() {
  local result=0
  gpuReady
  bounded 350 gpu_tests "$@" || result=1
  RONDO_P2P=off bounded 200 gpu_tests \
    --gtest_filter='*Conformance*:*Transfers*:DeviceApi.*:-*Registrations*:DeviceApi.Reg*:DeviceApi.Fifty*' || result=1
  if [[ -d $build/gpu/ucx ]]; then
    say "dev: long sends to other hosts by a UCX that has CUDA"
    LD_LIBRARY_PATH=$build/gpu/ucx:$LD_LIBRARY_PATH UCX_TLS=tcp,self,cuda_copy RONDO_NET_ZERO_COPY=on \
      RONDO_LOG=info:device bounded 100 gpu_tests --gtest_filter='FarGpu.*' || result=1
  fi
  bounded 120 gpu_death || result=1
  bounded 300 gpu_chaos --runs 24 || result=1
  return $result
}

# Whatever can, goes by kernels inside hosts.
inLevels=allreduce:device:0-:stripes,reducescatter:device:0-:hier,allgather:device:0-:hier,broadcast:device:0-:hier,reduce:device:0-:hier

# Those whose ranks are processes: one a GPU, or four on one; as hosts of two also two on each of two.
gpuProcesses() {
  local ranks processes result=0
  gpuReady
  processes=$gpus
  if ((gpus == 1)) && startMps; then
    trap stopMps EXIT
    processes=4
    export CUDA_DEVICE_MAX_CONNECTIONS=8  # with 32 each a fourth process gets no context
    say "dev: up to 4 processes share the GPU (MPS)"
  fi
  for ((ranks = 2; ranks <= processes; ++ranks)); do
    say "dev: gpu_mpi, $ranks processes"
    runMpi "$ranks" gpu_mpi || result=1
    CUDA_MODULE_LOADING=LAZY runMpi "$ranks" gpu_mpi "first communicator" || result=1
    say "dev: the same through host memory"
    RONDO_P2P=off runMpi "$ranks" gpu_mpi || result=1
  done
  if command -v device_path_test >/dev/null; then gpuLayer $(seq 2 "$processes") || result=1; fi
  gpuOneThread || result=1
  gpuTorch || result=1
  for ((ranks = 1; ranks <= processes; ranks *= 2)); do
    runMpi "$ranks" rondo-bench allreduce --memory device --max 64M --step 16 || result=1
    runMpi "$ranks" rondo-bench allreduce --memory device --max 1M --step 16 --in-place --graph || result=1
  done
  # As hosts of one GPU each, of which the network between them is this machine's.
  for ((ranks = 2; ranks <= processes; ranks += processes > 2 ? processes - 2 : 1)); do
    say "dev: $ranks hosts"
    runAsHosts "$ranks" 1 rondo-bench all --max 32K --step 64 || result=1
    runAsHosts "$ranks" 1 rondo-bench allreduce --max 16M --step 64 --graph || result=1
  done
  # As hosts of two, whose kernels do the part inside; long sends also beside those to other hosts.
  if ((gpus > 1 && gpus < 4)) && startMps; then
    trap stopMps EXIT
    processes=4
    export CUDA_DEVICE_MAX_CONNECTIONS=8
  fi
  for ((ranks = 4; ranks <= processes; ranks += 4)); do
    say "dev: $((ranks / 2)) hosts of 2 ranks"
    RONDO_TUNE=$inLevels runAsHosts "$ranks" 2 rondo-bench all --max 1M --step 64 || result=1
    runAsHosts "$ranks" 2 rondo-bench allreduce --max 16M --step 64 --graph || result=1
    # Hosts that share GPUs: their kernels, which wait for each other, must fit on them together.
    MPI_TIMEOUT=60 runAsHosts "$ranks" 2 rondo-bench alltoallv --min 1M --max 16M --step 4 --budget 0.1 ||
      result=1
  done
  [[ $result == 0 ]] && say "dev: all tests of processes passed, up to $processes of them"
  return $result
}

gpuBench() {  # most bytes
  local ranks mode peer to=${OUT:-$build/gpu}
  gpuReady
  for ((ranks = 2; ranks <= gpus; ranks *= 2)); do
    rm -f "$to/bare_$ranks" "$to/allreduce_$ranks"*.csv
    # A kernel without a library around it, if one was put there: what the links allow.
    if command -v "bare_$ranks" >/dev/null; then bounded 100 "bare_$ranks" 12346 -t60 | grep '^best' | tee "$to/bare_$ranks" || true; fi
    for mode in "" --graph; do
      for peer in nccl nccl-sym; do
        # shellcheck disable=SC2086
        runMpi "$ranks" rondo-bench allreduce --memory device --peer $peer --min 8 --max "${1:-256M}" --step 2 $mode \
          --csv "$to/allreduce_$ranks${mode:+_graph}$([[ $peer == nccl ]] || echo _sym).csv"
      done
    done
    tools/gpu_ratios.sh "$to" "$ranks"
  done
  runMpi "$gpus" rondo-bench init --memory device --peer nccl --iters 5 --csv "${OUT:-$build/gpu}/init_$gpus.csv"
  # The other collectives, sends and receives, as one table for each way of launching them.
  for mode in "" --graph; do
    # shellcheck disable=SC2086
    runMpi "$gpus" rondo-bench all --memory device --peer nccl --min 1K --max 64M --step 16 \
      --window 16 $mode --csv "${OUT:-$build/gpu}/all_$gpus${mode:+_graph}.csv"
  done
}

# What levels are chosen by, between two hosts of two ranks: what choices are worth, the fit, and what they are worth then.
# The file of costs is $OUT/tune's (or build/gpu/tune's), as the first look finds it.
gpuLevels() {
  local ranks=4 result=0
  gpuReady
  if ((gpus < ranks)) && startMps; then
    trap stopMps EXIT
    export CUDA_DEVICE_MAX_CONNECTIONS=8
  fi
  export RONDO_TUNE_DIR=${RONDO_TUNE_DIR-${OUT:-$build/gpu}/tune}
  runAsHosts $ranks 2 rondo-tune --check || result=1
  runAsHosts $ranks 2 rondo-tune --fresh --verbose || result=1
  runAsHosts $ranks 2 rondo-tune --check || result=1
  return $result
}

# Ranks in step: under the tools one rank's copies wait for another rank's kernels, and those for it. Without a
# filter every test of two ranks, and those of the API, hosts and faults with as many as they have; of processes
# memcheck alone. The tests are dealt out to the GPUs, for as long as RONDO_SANITIZE_SECONDS: under memcheck in up to
# eight parts to each, as there are cores, under racecheck in two (eight on one GPU had not ended after 200 s).
gpuSanitize() {  # gtest filter
  local tool parts tests logs each result=0 seconds=${RONDO_SANITIZE_SECONDS:-1500}
  local all='CloseLaunch.*:GraphUpdate.OtherBuffers:GraphUpdate.Groups*:DeviceApi.*:DeviceAwaited.*:FarGpu.*:LevelsGpu.*:Faults.*:Memory.*:BadInput.*:DeviceRecord.*'
  all+=':OneGpu/Conformance.*/1:OneGpu/Grid.*/2_*:OneGpu/Ranks.*/2*:OneGpu/Transfers.*/2*:OneGpu/Registrations.*/2*:OneGpu/StraightRings.*/2'
  # A host function that holds a stream up: the tools wait for it wherever anything waits.
  all+=':-Faults/GivenUp.*'
  gpuReady
  # No part without a test: the tools take a program that does nothing on a GPU for a failure.
  tests=$(gpu_tests --gtest_filter="${1:-$all}" --gtest_list_tests | grep -c '^  ' || true)
  ((tests > 0)) || fail "gpu-sanitize: no test is named \"${1:-$all}\""
  logs=$(mktemp -d)
  for tool in memcheck racecheck; do
    each=$(($(nproc) / (2 * gpus)))
    [[ $tool == memcheck ]] || each=2
    each=$((each < 2 ? 2 : each > 8 ? 8 : each))
    parts=$((tests < each * gpus ? tests : each * gpus))
    sanitizeParts $tool "${1:-$all}" || result=1
  done
  rm -r "$logs"
  [[ -n ${1-} ]] || MPI_TIMEOUT=$seconds runMpi 2 compute-sanitizer --tool memcheck --error-exitcode 1 gpu_mpi || result=1
  return $result
}

sanitizeTests() {  # tool, gtest filter
  RONDO_GPU_TESTS_IN_STEP=1 timeout -k 10 "$seconds" compute-sanitizer --tool "$1" --error-exitcode 1 \
    gpu_tests --gtest_filter="$2"
}

sanitizeParts() {  # tool, gtest filter
  local part log result=0
  local -a running=() codes=() stood
  for ((part = 0; part < parts; ++part)); do
    CUDA_VISIBLE_DEVICES=$((part % gpus)) GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part \
      sanitizeTests "$@" >"$logs/$1.$part" 2>&1 &
    running+=($!)
  done
  for ((part = 0; part < parts; ++part)); do
    codes[part]=0
    wait "${running[part]}" || codes[part]=$?
  done
  for ((part = 0; part < parts; ++part)); do
    log=$logs/$1.$part
    say "dev: $1, part $((part + 1)) of $parts"
    cat "$log"
  done
  for ((part = 0; part < parts; ++part)); do
    log=$logs/$1.$part
    [[ ${codes[part]} != 0 ]] || continue
    mapfile -t stood < <(testsGivenUp "$log")
    if ((${#stood[@]})); then sanitizeAgain "$1" "${stood[@]}" || result=1; else result=1; fi
  done
  return $result
}

# The tests of a log that failed, if each had waited for a peer until its bound, all tests ran and the tool found
# nothing.
testsGivenUp() {  # log
  awk '
    /^\[ RUN / { given = 0 }
    / was given up/ { given = 1 }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { sub(/,$/, "", $4); stood[++n] = $4; other += !given }
    /SUMMARY: 0 / { clean = 1 }
    /^\[  PASSED  \]/ { ended = 1 }
    END { for (i = 1; i <= n && clean && ended && !other; ++i) print stood[i] }' "$1"
}

# Under the tools a rank that waits may do so for kernels that wait for its next one (docs/gpu-transfers.md), so that
# a test that is not in step stands still until its bound: such are run again alone, and once more if need be.
sanitizeAgain() {  # tool, tests...
  local tool=$1 test turn result=0
  shift
  for test in "$@"; do
    for turn in 2 3; do
      say "dev: $test waited until its bound under $tool: again, turn $turn"
      if CUDA_VISIBLE_DEVICES=0 sanitizeTests "$tool" "$test"; then continue 2; fi
    done
    result=1
  done
  if [[ $result != 0 && $tool == memcheck ]]; then
    say "dev: which kernels wait in vain under memcheck without Rondo"
    CUDA_VISIBLE_DEVICES=0 timeout -k 10 120 compute-sanitizer --tool memcheck gpu_beside pairs || true
  fi
  return $result
}
