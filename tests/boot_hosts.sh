#!/usr/bin/env bash
# Joining by unique id across two hosts, made of network namespaces: which network is chosen, IPv4
# and IPv6, a scanner, a cable that is cut before and after ranks have joined.
set -euo pipefail
rank=$TEST_BUILDDIR/tests/boot_rank

# ---- outside: make the hosts; needs root ----
if [[ ${1:-} != inside ]]; then
  [[ $(id -u) == 0 ]] || { echo "skipped: needs root, to make network namespaces"; exit 77; }
  command -v ip >/dev/null || { echo "skipped: needs iproute2"; exit 77; }
  tag=rondo$$
  ip netns add "$tag-probe" 2>/dev/null || { echo "skipped: network namespaces cannot be made here"; exit 77; }
  ip netns del "$tag-probe"
  testbed=$TEST_SRCDIR/tests/testbed/hosts
  if [[ -x $testbed ]]; then
    "$testbed" 2 bash "$TEST_SRCDIR/tests/boot_hosts.sh" inside
    exit
  fi
  dir=$(mktemp -d)
  trap 'ip netns del "$tag-h0"; ip netns del "$tag-h1"; rm -rf "$dir"' EXIT
  for host in h0 h1; do
    ip netns add "$tag-$host"
    ip -n "$tag-$host" link set lo up
  done
  ip link add eth0 netns "$tag-h0" type veth peer name eth0 netns "$tag-h1"
  for host in h0 h1; do
    ip -n "$tag-$host" addr add "10.78.0.$((${host#h} + 1))/24" dev eth0
    ip -n "$tag-$host" link set eth0 up
  done
  printf '#!/bin/sh\nhost=$1; shift; exec ip netns exec "%s-$host" unshare --uts sh -c "hostname $host; $*"\n' "$tag" >"$dir/on"
  printf '#!/bin/sh\nexec ip -n "%s-$1" link set eth0 down\n' "$tag" >"$dir/cut"
  printf '#!/bin/sh\nexec ip -n "%s-$1" link set eth0 up\n' "$tag" >"$dir/mend"
  chmod +x "$dir"/{on,cut,mend}
  PATH=$dir:$PATH "$dir/on" h0 "bash '$TEST_SRCDIR/tests/boot_hosts.sh' inside"
  exit
fi

# ---- inside: on host h0; `on h1 COMMAND`, `cut h1` and `mend h1` are given ----
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=1; }

# What a container engine leaves on every host, with the same address everywhere.
for host in h0 h1; do
  on $host 'ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up'
  on $host "ip addr add fd78::$((${host#h} + 1))/64 dev eth0 nodad; ip route add default dev eth0"
done
own=$(ip -4 -o addr show dev eth0 | awk '{sub("/.*", "", $4); print $4; exit}')

# group NAME RANKS [PAUSE]: even ranks on h0, odd ones on h1, in the background; prints nothing.
# (`wait` tells how they ended; NAME.R is what rank R said)
declare -A pids
group() {
  local name=$scratch/$1 ranks=$2 r
  pids=()
  for ((r = 0; r < ranks; r++)); do
    if ((r % 2)); then
      on h1 "${JOINER:-} RONDO_BOOT_TIMEOUT_MS=${LIMIT:-10000} '$rank' '$name' $ranks $r ${3:-}" >"$name.$r" 2>&1 &
    else
      env ${MAKER:-} RONDO_BOOT_TIMEOUT_MS="${LIMIT:-10000}" "$rank" "$name" "$ranks" $r ${3:-} >"$name.$r" 2>&1 &
    fi
    pids[$r]=$!
  done
}
succeed() {  # name
  local r
  for r in "${!pids[@]}"; do wait "${pids[$r]}" || fail "$1: $(cat "$scratch/$1.$r")"; done
}
failWith() {  # name, rank, a part of its sentence
  if wait "${pids[$2]}"; then fail "$1: rank $2 did not fail"; fi
  grep -qF -- "$3" "$scratch/$1.$2" || fail "$1: rank $2 said \"$(cat "$scratch/$1.$2")\", not \"$3\""
}

group plain 7
succeed plain
grep -q "^id: $own port [0-9]* or fd78::1 port" "$scratch/plain.0" || fail "plain: $(cat "$scratch/plain.0")"
cat "$scratch"/plain.[01]

# A scanner on the other host, that knows the port, while ranks join.
group scanned 4 "$scratch/go"
for _ in $(seq 400); do [[ -e $scratch/scanned ]] && break; sleep 0.02; done
port=$(awk '/^id:/ {print $4}' "$scratch/scanned.0")
on h1 "bash -c 'for i in 1 2 3; do (echo GET / HTTP/1.0; head -c 3000 /dev/urandom) >/dev/tcp/$own/$port; done'" || true
touch "$scratch/go"
succeed scanned

# The docker bridge only if it is asked for: then h1 finds its own and nobody behind it.
MAKER=RONDO_NET_IF=docker0 LIMIT=2000 group bridge 2
failWith bridge 1 'nobody answers for the id on host "h0" (172.17.0.1 port'
failWith bridge 0 'rank 1 of 2 did not join within 2000 ms'
JOINER=RONDO_NET_IF=eth7 LIMIT=2000 group wish 2
failWith wish 1 'RONDO_NET_IF is "eth7": there is no "eth7"'
failWith wish 0 'rank 1 of 2 did not join within 2000 ms'

# The cable is cut before the other host's ranks have joined ...
# (The limit begins with the first rank: on a busy machine the others take seconds to start.)
cut h1
LIMIT=9000 group cut 4
failWith cut 0 'ranks 1, 3 of 4 did not join within 9000 ms'
failWith cut 2 'ranks 1, 3 of 4 did not join within 9000 ms'
failWith cut 1 'the process that made the id, on host "h0", cannot be reached from host "h1"'
failWith cut 3 'the process that made the id, on host "h0", cannot be reached from host "h1"'
mend h1
on h1 'ip route add default dev eth0; ip addr add fd78::2/64 dev eth0 nodad' 2>/dev/null || true

# ... and after: silence, since nobody says that the connections are gone.
LIMIT=6000 group late 4 "$scratch/late.go"
for r in 0 1 2 3; do
  for _ in $(seq 500); do [[ -e $scratch/late.go.$r ]] && break; sleep 0.02; done
done
cut h1
touch "$scratch/late.go"
failWith late 0 'ranks 1, 3 of 4 joined but did not go on within 6000 ms'
failWith late 2 'ranks 1, 3 of 4 joined but did not go on within 6000 ms'
for r in 1 3; do failWith late $r 'rank 0 of 4 joined but did not go on within 6000 ms'; done
mend h1
on h1 'ip route add default dev eth0; ip addr add fd78::2/64 dev eth0 nodad' 2>/dev/null || true

# IPv6 alone.
for host in h0 h1; do on $host 'ip -4 addr flush dev eth0; ip -6 route add default dev eth0' 2>/dev/null || true; done
RONDO_NET_IF= group six 5
succeed six
grep -q '^id: fd78::1 port' "$scratch/six.0" || fail "six: $(cat "$scratch/six.0")"

exit $failures
