#!/usr/bin/env bash
# A dependency that was asked for in a folder is found there or is an error: the system's never stands in.
set -euo pipefail
[[ -x $TEST_SRCDIR/configure && -f $TEST_BUILDDIR/config.log ]] || { echo "no configure here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# What this build's configure found out spares most of the time; where things lie is asked anew.
grep -E '^(ac|am|lt|rondo)_cv_' "$TEST_BUILDDIR/config.log" |
  grep -vE '^(ac_cv_env_|ac_cv_prog_CXXCPP|ac_cv_path_(MPICC|MPIRUN|NVCC)|rondo_cv_link)' >"$scratch/site"
# What else was asked for stays; of the sources' place a build may have another name.
eval "set -- $("$TEST_BUILDDIR/config.status" --config)"
for name in ucx gtest; do
  mkdir "$scratch/$name"
  if (cd "$scratch/$name" && CONFIG_SITE=$scratch/site "$TEST_SRCDIR/configure" "$@" --srcdir="$TEST_SRCDIR" --with-cuda=no \
    "--with-$name=$scratch/nowhere") >"$scratch/$name.log" 2>&1; then
    echo "configure --with-$name=$scratch/nowhere is content:"
    grep "checking for $name" "$scratch/$name.log"
    exit 1
  fi
  grep "error: .*--with-$name=$scratch/nowhere" "$scratch/$name.log" ||
    { echo "--with-$name=$scratch/nowhere failed otherwise:"; tail -n 3 "$scratch/$name.log"; exit 1; }
done
