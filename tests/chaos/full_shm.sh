#!/usr/bin/env bash
# Ordeals where /dev/shm has no room: Rondo's memory has no name and lies elsewhere. Needs root.
set -euo pipefail
if [[ ${1:-} != inside ]]; then
  unshare --mount true 2>/dev/null || { echo "no mount name space can be made here"; exit 77; }
  exec unshare --mount bash "$0" inside
fi
mount -t tmpfs -o size=4k none /dev/shm || { echo "no tmpfs can be mounted here"; exit 77; }
head -c 4096 /dev/zero >/dev/shm/full
if echo more 2>/dev/null >/dev/shm/more; then echo "/dev/shm is not full"; exit 1; fi
rm -f /dev/shm/more
"$TEST_BUILDDIR/tests/chaos_run" --runs 20 --seed 400
left=$(ls -A /dev/shm)
[[ $left == full ]] || { echo "left in /dev/shm: $left"; exit 1; }
