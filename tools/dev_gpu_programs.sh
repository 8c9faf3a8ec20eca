# shellcheck shell=bash
# What ./dev does for GPUs with programs that others wrote, and beside NCCL where levels and awaited
# calls are: what its figures in docs/performance.md come from. Sourced by it after tools/dev_gpu.sh.

# Programs of a folder, whose names match, into what is carried.
packFolder() {  # variable that names the folder, names, where to
  local from folder=${!1} programs
  mapfile -t programs < <(find "$folder" -type f -name "$2" -perm -u+x -not -path '*/.libs/*' 2>/dev/null)
  [[ ${#programs[@]} != 0 ]] ||
    fail "gpu-pack: $1 is \"$folder\", which has no program $2; allowed: a folder with some"
  for from in "${programs[@]}"; do install -s -D "$from" "$3/${from#"$folder"/}"; done
}

# Others' programs, built elsewhere: they are no part of Rondo.
packPrograms() {  # folder
  [[ -z ${RONDO_NCCL_TESTS_DIR-} ]] || packFolder RONDO_NCCL_TESTS_DIR '*_perf*' "$1/nccl-tests"
  [[ -z ${RONDO_OSU_DIR-} ]] || packFolder RONDO_OSU_DIR 'osu_*' "$1/osu"
  # Kernels without a library around them, bare_2 and so on, which gpu-bench runs.
  if [[ -n ${RONDO_BARE_DIR-} ]]; then
    packFolder RONDO_BARE_DIR 'bare_*' "$1/bin"
  elif [[ -r ../shared/probe/nvlink_allreduce.cu ]]; then
    packBare "$1/bin"
  fi
}

# Of a source that lies beside the checkout; it is no part of Rondo.
packBare() {  # folder
  local ranks nvcc source=../shared/probe/nvlink_allreduce.cu
  nvcc=$(sed -n 's/^NVCC = //p' "$build/Makefile")
  mkdir -p "$build/bare"
  for ranks in 2 4; do
    [[ $build/bare/bare_$ranks -nt $source ]] ||
      "$nvcc" -O3 -std=c++17 -gencode arch=compute_90,code=sm_90 -cudart static -Xcompiler -pthread -DNR=$ranks \
        -o "$build/bare/bare_$ranks" "$source" -lcuda || { say "dev: $source does not compile: no bare_$ranks"; continue; }
    install -s "$build/bare/bare_$ranks" "$1/"
  done
}

# NVIDIA's nccl-tests, OSU's micro-benchmarks and PyTorch, those of them that are here.
gpuPrograms() {  # of nccl, osu, torch; none: all of them
  local which result=0 processes ranks
  [[ $# != 0 ]] || set -- nccl osu torch
  for which in "$@"; do
    [[ $which =~ ^(nccl|osu|torch)$ ]] || fail "gpu-programs: \"$which\"; allowed: nccl, osu, torch"
  done
  gpuReady
  processes=$gpus
  ((processes > 1)) || processes=2
  for which in "$@"; do
    case $which in
      nccl)
        if [[ ! -d $build/gpu/nccl-tests ]]; then
          say "dev: no nccl-tests: RONDO_NCCL_TESTS_DIR=FOLDER ./dev gpu-pack"
          continue
        fi
        RONDO_NCCL_TESTS_DIR=$build/gpu/nccl-tests \
          tests/drop_in/nccl_tests_suite.sh "$build/gpu/lib/nccl/libnccl.so.2" || result=1
        ;;
      osu)
        if [[ ! -d $build/gpu/osu ]]; then
          say "dev: no OSU micro-benchmarks: RONDO_OSU_DIR=FOLDER ./dev gpu-pack"
          continue
        fi
        for ranks in 2 4; do
          # Ranks that outnumber the GPUs share the first of them (MPS).
          RONDO_OSU_DIR=$build/gpu/osu RONDO_OSU_LAYER=$build/gpu/lib RONDO_OSU_DEVICE=cuda MPI_TIMEOUT=60 \
            tests/drop_in/osu.sh $ranks || result=1
        done
        ;;
      torch) gpuTorch || result=1 ;;
    esac
  done
  return $result
}

# The GPUs as two hosts, NCCL over its sockets beside Rondo over UCX's TCP on loopback, in turn: three rounds.
gpuHosts() {  # most bytes
  local round each result=0
  gpuReady
  ((gpus >= 2)) || fail "gpu-hosts: one GPU here; allowed: 2 or more, as two hosts of half of them"
  each=$((gpus / 2))
  export UCX_NET_DEVICES=lo NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 MPI_TIMEOUT=120
  for round in 1 2 3; do
    say "dev: 2 hosts of $each GPUs, round $round"
    runAsHosts $((2 * each)) "$each" rondo-bench allreduce --peer nccl --min 8 --max "${1:-128M}" --step 4 \
      --budget 0.05 --csv "${OUT:-$build/gpu}/hosts_$each.$round.csv" || result=1
  done
  return $result
}

# All-reduces that are waited for one by one: Rondo's call for it beside NCCL's and its stream's end, and what
# MPI programs get that make them in a row, with kernels that stand and by graphs.
gpuAwait() {
  local linger type result=0
  gpuReady
  ((gpus >= 2)) || fail "gpu-await: one GPU here; allowed: 2 or more"
  # In runs of their own: long calls, for which no kernel stays, are not to come before short ones.
  for type in float32 float64; do
    runMpi "$gpus" rondo-bench allreduce --memory device --awaited --peer nccl --type $type --min 8 --max 1M --step 4 \
      --csv "${OUT:-$build/gpu}/await_$type.csv" || result=1
  done
  for linger in 30 0; do
    say "dev: device_path_test time-row, RONDO_MPI_LINGER=$linger"
    RONDO_MPI_LINGER=$linger runMpi 2 -x LD_LIBRARY_PATH -x LD_PRELOAD="$build/gpu/lib/librondo_mpi.so" -x RONDO_MPI=both \
      device_path_test time-row || result=1
  done
  return $result
}
