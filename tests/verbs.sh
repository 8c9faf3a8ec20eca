#!/usr/bin/env bash
# Between hosts over real verbs: processes at the two ends of a virtual cable, in a virtual machine
# with Soft-RoCE. UCX's log says what it used. Needs what tests/testbed/rdma-vm --prepare gets.
set -euo pipefail

# ---- outside: the machine sees this file system ----
if [[ ${1:-} != inside ]]; then
  cd "$TEST_BUILDDIR"
  export RDMA_VM_TIMEOUT=${RDMA_VM_TIMEOUT:-150} LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs
  exec "$TEST_SRCDIR/tests/testbed/rdma-vm" bash "$TEST_SRCDIR/tests/verbs.sh" inside
fi

# ---- inside ----
program=$TEST_BUILDDIR/tests/.libs/verbs_rank
[[ -x $program ]] || program=$TEST_BUILDDIR/tests/verbs_rank
export UCX_LOG_LEVEL=info
failures=0
# over TRANSPORT NAME-IN-THE-LOG DEVICE-OF-EACH-RANK...: devices are hosts
over() {
  local tls=$1 log=$2 file r=0 device
  shift 2
  file=$(mktemp -u)
  local pids=()
  for device in "$@"; do
    UCX_TLS=$tls UCX_NET_DEVICES=$device:1 RONDO_HOSTID=$device RONDO_NET_IF=eth0 \
      "$program" "$file" $# $r 7 >"$file.$r" 2>&1 &
    pids+=($!)
    r=$((r + 1))
  done
  for r in "${!pids[@]}"; do
    wait "${pids[$r]}" || failures=1
    grep -v ' UCX ' "$file.$r" || true
    grep -q "ep_cfg.*am($log" "$file.$r" || { echo "rank $r: UCX names no $log"; failures=1; }
    grep 'ep_cfg' "$file.$r" | sed 's/.*UCX *INFO */  /' | sort -u
  done
}
start=$SECONDS
echo "== two ranks, rc"
over rc_v rc_verbs/rxe rxe0 rxe1
echo "== three ranks, ud"
over ud_v ud_verbs/rxe rxe0 rxe1 rxe0
echo "$((SECONDS - start)) s"
exit $failures
