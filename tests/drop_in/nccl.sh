#!/usr/bin/env bash
# libnccl.so.2: what it exports, how it is found, and what it says of NCCL's variables. Its calls are
# tested by tests/nccl_tests, on GPUs by tests/nccl_gpu and tests/drop_in/nccl_torch.sh.
set -euo pipefail
library=$TEST_BUILDDIR/.libs/libnccl.so.2
[[ -f $library ]] || { echo "no shared library in this build"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

echo "== every name that programs ask for, twice, and no other"
awk '!/^#/ && NF { print $1; print "p" $1 }' "$TEST_SRCDIR/tests/drop_in/nccl_symbols.txt" |
  sort >"$scratch/asked"
[[ $(wc -l <"$scratch/asked") -ge 100 ]] || { echo "the list of names is short"; exit 1; }
$TEST_NM -D --defined-only "$library" | awk '{ print $3 }' | sort >"$scratch/exported"
diff "$scratch/asked" "$scratch/exported" || {
  echo "< is asked for but not exported, > is exported but not in the list"
  exit 1
}
# A profiler's ncclX comes before this one's.
strong=$($TEST_NM -D --defined-only "$library" | awk '$3 ~ /^nccl/ && $2 != "W" { print $3 }')
[[ -z $strong ]] || { echo "not weak: $strong"; exit 1; }

echo "== its name, and where it looks for Rondo"
readelf -d "$library" >"$scratch/dynamic"
grep -q 'SONAME.*\[libnccl\.so\.2\]' "$scratch/dynamic"
grep -q 'NEEDED.*\[librondo\.so\.0\]' "$scratch/dynamic"
grep -qE '(RPATH|RUNPATH).*\$ORIGIN/\.\./\.\.' "$scratch/dynamic"

echo "== NCCL's variables"
run() {  # NAME=VALUE...
  local filter=NcclLife.OneThreadMakesAllRanksInAGroup
  env "$@" "$TEST_BUILDDIR/tests/nccl_tests" --gtest_filter=$filter >"$scratch/said" 2>&1 ||
    { cat "$scratch/said"; exit 1; }
}
said() { grep -q -- "$1" "$scratch/said" || { cat "$scratch/said"; echo "missing: $1"; exit 1; }; }
unset ${!NCCL_@}
run NCCL_NVLS_ENABLE=0 NCCL_DEBUG_SUBSYS=ALL NCCL_CUMEM_ENABLE=1 NCCL_VERSION=2.28.3-1
! grep -q 'rondo nccl' "$scratch/said" || { cat "$scratch/said"; exit 1; }
run NCCL_ALGO=Ring NCCL_SOCKET_IFNAME=lo NCCL_P2P_DISABLE=1 NCCL_FROBNICATE=1
said 'NCCL_P2P_DISABLE (Rondo: RONDO_P2P)'
said 'NCCL_ALGO (Rondo: RONDO_TUNE)'
said 'NCCL_SOCKET_IFNAME (Rondo: RONDO_NET_IF)'
said 'NCCL_FROBNICATE'
[[ $(grep -c 'do nothing here' "$scratch/said") == 1 ]] || { echo "more than one warning"; exit 1; }
run NCCL_DEBUG=VERSION
said 'answers as NCCL 2.28.9'
if grep -q 'ncclCommInitRankConfig: rank' "$scratch/said"; then echo "too much said"; exit 1; fi
run NCCL_DEBUG=info
said 'ncclCommInitRankConfig: rank 1 of 2'

echo "== the sentence behind an error code, in the log"
failing() {  # NAME=VALUE...
  env "$@" "$TEST_BUILDDIR/tests/nccl_tests" --gtest_filter='NcclErrors.*Config*:NcclGroup.SimulateEnd*' \
    >"$scratch/said" 2>&1 || { cat "$scratch/said"; exit 1; }
}
failing NCCL_DEBUG=WARN
said '^rondo nccl \[.*:[0-9]*\]: ncclGroupSimulateEnd: rondoGroupPredict: nothing predicts sends and receives'
failing NCCL_DEBUG=VERSION
if grep -q 'nothing predicts sends and receives' "$scratch/said"; then echo "said without WARN"; exit 1; fi

echo "== ... in a file"
failing NCCL_DEBUG=WARN NCCL_DEBUG_FILE="$scratch/log.%h.%p"
if grep -q 'nothing predicts sends and receives' "$scratch/said"; then echo "said on standard error, too"; exit 1; fi
file=$(compgen -G "$scratch/log.$(uname -n).[0-9]*") || { echo "no file"; ls "$scratch"; exit 1; }
grep -q 'ncclGroupSimulateEnd: rondoGroupPredict: nothing predicts sends and receives' "$file" || { cat "$file"; exit 1; }
failing NCCL_DEBUG=WARN NCCL_DEBUG_FILE="$scratch/nowhere/log"
said 'NCCL_DEBUG_FILE: .*/nowhere/log: No such file'
said 'ncclGroupSimulateEnd: rondoGroupPredict: nothing predicts sends and receives'
