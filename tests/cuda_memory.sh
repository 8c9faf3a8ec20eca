#!/usr/bin/env bash
# Memory of devices where the CUDA driver is pretended (tests/cuda/fake_driver.cc).
set -euo pipefail
[[ -x $TEST_BUILDDIR/tests/cuda_tests ]] || { echo "no CUDA in this build"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$(realpath "$TEST_BUILDDIR/tests/.libs/libfake_cuda.so")" "$scratch/libcuda.so.1"
LD_LIBRARY_PATH=$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$TEST_BUILDDIR/tests/cuda_tests" "$@"
