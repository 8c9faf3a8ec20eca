#!/usr/bin/env bash
# Every header compiles alone, and the check sees one that does not.
set -euo pipefail
export CC=$TEST_CC CXX=$TEST_CXX
export CPPFLAGS="-I$TEST_BUILDDIR $TEST_CPPFLAGS"
check=$TEST_SRCDIR/tools/check_headers.sh
sh "$check" "$TEST_SRCDIR/src"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/api"
echo 'inline std::string f() { return {}; }' >"$scratch/api/needs_string.h"
echo 'struct S { int f() { return 0; } };' >"$scratch/api/rondo.h"
if said=$(sh "$check" "$scratch"); then
  echo "a header without its includes and a public one that is not C went unnoticed"
  exit 1
fi
grep -q 'needs_string.h does not compile alone' <<<"$said"
grep -q 'rondo.h does not compile alone with: .*c11' <<<"$said"
