#!/usr/bin/env bash
# benchmarks/bare_allreduce: every kernel's result is right, and every row has its figures.
set -euo pipefail
bare=$TEST_BUILDDIR/benchmarks/bare_allreduce
[[ $(nproc) -ge 2 ]] || { echo "two cores are needed"; exit 77; }

for sets in '' --rotate; do
  out=$("$bare" --min 64 --max 64K --step 32 --runs 1 $sets)
  printf '%s\n' "$out"
  row='^ +[0-9]+  (ordinary|mapped) +[0-9.]+ +[0-9.]+  (bounce|direct-[a-z-]+) +[0-9.]+ +[0-9.]+$'
  rows=$(grep -cE "$row" <<<"$out")
  [[ $rows == 6 ]] || { echo "$rows rows, expected 6"; exit 1; }
done

# Refusals name the option and what is allowed.
if "$bare" --runs 0 2>err.$$; then echo "--runs 0 was accepted"; exit 1; fi
grep -q -- '--runs' err.$$ && rm err.$$
