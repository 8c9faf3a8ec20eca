#!/usr/bin/env bash
# Networks that do not serve between hosts: transports that UCX has not, devices that are not there, cards
# that do not meet. Every rank says the same, which names host, settings and link. Hosts of name
# spaces with two cards each; needs root.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/hosts_rank
if [[ ${1:-} != inside ]]; then
  HOSTS_CARDS=2 exec "$TEST_SRCDIR/tests/testbed/hosts" 2 bash "$TEST_SRCDIR/tests/hosts_networks.sh" inside
fi

# ---- inside: on host h0; `on h1 COMMAND` and `cut h1 1` are given ----
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=1; }

# start NAME "SETTINGS ON h0" "SETTINGS ON h1": rank 0 on h0, 1 and 2 on h1. The id goes by eth0.
start() {
  local where=(h0 h1 h1) settings=("$2" "$3" "$3") r
  name=$scratch/$1
  pids=()
  for r in 0 1 2; do
    on "${where[$r]}" "exec env RONDO_NET_IF=eth0 ${settings[$r]} timeout 60 '$rank' '$name' 3 $r 10 ${then:-}" \
      >"$name.$r" 2>&1 &
    pids+=($!)
  done
}
# refused NAME "SETTINGS ON h0" "SETTINGS ON h1" PART...: no communicator, and the same sentence everywhere,
# with all parts.
refused() {
  local section=$1 r part said first="" status
  start "$1" "$2" "$3"
  shift 3
  for r in 0 1 2; do
    status=0
    wait "${pids[$r]}" || status=$?
    said=$(grep '^rank .* WRONG: ' "$name.$r" | sed 's/^rank . *: //') || true
    [[ $status == 1 ]] || fail "$section: rank $r ended with $status: $(cat "$name.$r")"
    [[ -n $first ]] || first=$said
    [[ $said == "$first" ]] || fail "$section: rank $r said \"$said\", rank 0 \"$first\""
  done
  for part; do
    grep -qF -- "$part" <<<"$first" || fail "$section: \"$first\" has no \"$part\""
  done
  echo "$section: $first"
}

all() { refused "$1" "$2" "$2" "${@:3}"; }
all none UCX_TLS=nosuch \
  'rank 0: host "h0": UCX ' ' has no way to other hosts with UCX_TLS="nosuch"' 'allowed: transports and devices' tcp/eth0
all memory UCX_TLS=sm,self 'UCX_TLS="sm,self" and UCX_NET_DEVICES="eth0"' tcp/eth0
all noDevice UCX_NET_DEVICES=eth7 'UCX_NET_DEVICES="eth7"' 'leave some of' tcp/eth0
refused oneHost UCX_NET_DEVICES=eth1 UCX_NET_DEVICES=eth7 'rank 1: host "h1": UCX' 'UCX_NET_DEVICES="eth7"'
refused differ UCX_TLS=tcp,self UCX_TLS=self \
  'ranks differ in the transports that UCX may use: ranks 1-2 have UCX_TLS="self", rank 0 has UCX_TLS="tcp,self"'
all loopback UCX_NET_DEVICES=lo \
  'no way from host "h0" to rank 1 on host "h1" (tcp/lo here, tcp/lo there): ' 'Destination is unreachable'

# Frames that nobody answers, as behind a firewall.
far=$(on h1 ip -4 -o addr show dev eth1 | awk '{sub("/.*", "", $4); print $4; exit}')
ip neigh add "$far" lladdr 02:00:00:00:00:99 nud permanent dev eth1
limit=RONDO_BOOT_TIMEOUT_MS=9000
all apart "UCX_NET_DEVICES=eth1 $limit" \
  'nothing came from rank 1 on host "h1" in 9000 ms (tcp/eth1 here, tcp/eth1 there)' UCX_NET_DEVICES
all oneCard "UCX_NET_DEVICES=eth0,eth1 $limit" \
  'nothing came from rank 1 on host "h1" in 9000 ms on one of its network cards (tcp/eth1 here, tcp/eth1 there)'
# The same processes once it is gone.
then=again start again "UCX_NET_DEVICES=eth1 $limit" "UCX_NET_DEVICES=eth1 $limit"
for r in 0 1 2; do
  for _ in $(seq 1200); do grep -q 'at first: .* nothing came from rank 1' "$name.$r" && break; sleep 0.05; done
done
ip neigh del "$far" dev eth1
touch "$name.again" "$name.stop"
for r in 0 1 2; do wait "${pids[$r]}" || fail "again: $(cat "$name.$r")"; done
grep -h . "$name".[0-2]

# A network that says no.
ip route add unreachable "$far"
all refusing UCX_NET_DEVICES=eth1 'no way from host "h0" to rank 1 on host "h1" (tcp/eth1 here, tcp/eth1 there): '
ip route del unreachable "$far"

# A card without a carrier is none.
cut h1 1
all pulled UCX_NET_DEVICES=eth0,eth1 'rank 1: host "h1": UCX ' 'UCX_NET_DEVICES="eth1"' 'leave some of' tcp/eth0

start works UCX_NET_DEVICES=eth0 UCX_NET_DEVICES=eth0
touch "$name.stop"
for r in 0 1 2; do wait "${pids[$r]}" || fail "works: $(cat "$name.$r")"; done
exit $failures
