#!/usr/bin/env bash
# Files compiled for AVX define no inline function that another file may define too: the linker
# keeps one of them, and it could be the one that an older CPU cannot run.
set -euo pipefail
shopt -s nullglob
archives=("$TEST_BUILDDIR"/.libs/librondo_avx*.a)
[[ ${#archives[@]} != 0 ]] || { echo "no AVX code in this build"; exit 77; }
shared() { $TEST_NM -C --defined-only "$@" | awk 'NF >= 3 && $2 ~ /^[WVu]$/'; }

# What the check looks for is seen where it is.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'inline int twice(int x) { return 2 * x; } int (*use)(int) = twice;' >"$scratch/shared.cc"
$TEST_CXX -c -o "$scratch/shared.o" "$scratch/shared.cc"
shared "$scratch/shared.o" | grep -q 'twice(int)' || { echo "nm shows no weak symbol"; exit 1; }

found=$(shared "${archives[@]}" || true)
[[ -z $found ]] || { printf 'shared inline functions in AVX code:\n%s\n' "$found"; exit 1; }
