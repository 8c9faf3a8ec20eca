#!/usr/bin/env bash
# Files compiled for AVX define no inline function that another file may define too: the linker
# keeps one of them, and it could be the one that an older CPU cannot run.
set -euo pipefail
shopt -s nullglob
archives=("$TEST_BUILDDIR"/.libs/librondo_avx*.a)
[[ ${#archives[@]} != 0 ]] || { echo "no AVX code in this build"; exit 77; }
weak=$($TEST_NM -C --defined-only "${archives[@]}" |
  awk 'NF >= 3 && $2 ~ /^[WVu]$/' | grep -Ev ' rondo::(avx2|avx512)::' || true)
[[ -z $weak ]] || { printf 'shared inline functions in AVX code:\n%s\n' "$weak"; exit 1; }
