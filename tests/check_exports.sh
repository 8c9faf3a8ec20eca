#!/usr/bin/env bash
# librondo.so exports the functions that the public headers declare, and nothing else, under its
# versioned name.
set -euo pipefail
library=$TEST_BUILDDIR/.libs/librondo.so
[[ -f $library ]] || { echo "no shared library in this build"; exit 77; }

declared=$(cat "$TEST_SRCDIR"/src/api/rondo{,_*}.h |
  sed -n 's/^RONDO_API .*[ *]\(rondo[A-Z][A-Za-z0-9]*\)(.*/\1/p' | sort)
exported=$($TEST_NM -D --defined-only "$library" | awk '$2 != "A" { print $3 }' |
  sed 's/@.*//' | sort)
[[ -n $declared ]] || { echo "found no declaration"; exit 1; }
diff <(echo "$declared") <(echo "$exported") || {
  echo "< is declared but not exported, > is exported but not declared"
  exit 1
}
readelf -d "$library" | grep -q 'SONAME.*\[librondo\.so\.0\]'

# Programs load it, and the one that stands for NCCL, when they run: CUDA's runtime brings more of a thread's
# data than there is room for in what the loader keeps for those that want it at a fixed offset.
! readelf -d "$library" | grep -q STATIC_TLS || { echo "librondo.so cannot be loaded by dlopen"; exit 1; }
