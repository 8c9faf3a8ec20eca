#!/usr/bin/env bash
# Between hosts over real verbs: processes at the two ends of a virtual cable, in a virtual machine
# with Soft-RoCE. UCX's log says what it used. Needs what tests/testbed/rdma-vm --prepare gets.
set -euo pipefail

# ---- outside: the machine sees this file system ----
if [[ ${1:-} != inside ]]; then
  cd "$TEST_BUILDDIR"
  export RDMA_VM_TIMEOUT=${RDMA_VM_TIMEOUT:-800} LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs
  exec "$TEST_SRCDIR/tests/testbed/rdma-vm" bash "$TEST_SRCDIR/tests/verbs.sh" inside
fi

# ---- inside ----
program=$TEST_BUILDDIR/tests/.libs/verbs_rank
[[ -x $program ]] || program=$TEST_BUILDDIR/tests/verbs_rank
export UCX_LOG_LEVEL=info
failures=0
# over TRANSPORT NAME-IN-THE-LOG LEAST-COUNT DEVICES-OF-EACH-RANK...: devices are hosts
over() {
  local tls=$1 log=$2 least=$3 file r=0 device
  shift 3
  file=$(mktemp -u)
  local pids=()
  for device in "$@"; do
    UCX_TLS=$tls UCX_NET_DEVICES=$device:1 RONDO_HOSTID=$device RONDO_NET_IF=eth0 \
      "$program" "$file" $# $r 7 "$least" >"$file.$r" 2>&1 &
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
over rc_v rc_verbs/rxe 0 rxe0 rxe1
echo "== two ranks, ud"
over ud_v ud_verbs/rxe 0 rxe0 rxe1
echo "== three ranks, rc, long ones"
over rc_v rc_verbs/rxe 300000 rxe0 rxe1 rxe0

# Device memory, pretended, that the cards read and write themselves: 3 rounds of 9.6 MB, 3 pieces each; and by way of
# the host's. Soft-RoCE loses what it has no room for: a card with so much to read breaks the connection there, so UCX
# reads a little at a time.
echo "== two ranks, rc, long sends of device memory where it lies"
far=$TEST_BUILDDIR/tests/.libs/far_rank
[[ -x $far ]] || far=$TEST_BUILDDIR/tests/far_rank
for how in auto:9 off:0; do
  file=$(mktemp -u) pids=()
  for r in 0 1; do
    UCX_TLS=rc_v UCX_NET_DEVICES=rxe$r:1 RONDO_HOSTID=rxe$r RONDO_NET_IF=eth0 RONDO_NET_ZERO_COPY=${how%:*} \
      UCX_RC_VERBS_MAX_GET_ZCOPY=64k UCX_RC_VERBS_TX_NUM_GET_BYTES=128k \
      "$far" "$file" 2 $r 2400001 sends >"$file.$r" 2>&1 &
    pids+=($!)
  done
  for r in 0 1; do
    wait "${pids[$r]}" || failures=1
    grep -v ' UCX ' "$file.$r" || true
    grep -q "the network wrote ${how#*:} pieces" "$file.$r" || { echo "rank $r: ${how#*:} were expected"; failures=1; }
  done
done

# A second cable, and long messages on both: UCX's own rails (UCX_MAX_RNDV_RAILS, 2 of them).
echo "== two ranks with two cards each, rc, long ones"
export PATH=$PATH:/usr/sbin:/sbin
ip link add eth2 mtu 4200 type veth peer name eth3 mtu 4200
for end in 2 3; do
  ip address add 10.98.0.$((end - 1))/24 dev eth$end
  ip link set eth$end up
  rdma link add rxe$end type rxe netdev eth$end
done
sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
first=$(sent rxe0) second=$(sent rxe2)
over rc_v 'rc_verbs/rxe.:1 rc_verbs/rxe' 300000 rxe0:1,rxe2 rxe1:1,rxe3
first=$(($(sent rxe0) - first)) second=$(($(sent rxe2) - second))
echo "rank 0 sent $first packets by its first card, $second by its second"
((second > first / 5)) || { echo "the second card has next to nothing to do"; failures=1; }
echo "$((SECONDS - start)) s"
exit $failures
