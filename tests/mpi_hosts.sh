#!/usr/bin/env bash
# Every collective through the MPI door on communicators that span hosts, over UCX on TCP: hosts
# made of name spaces where the system allows it, and of RONDO_HOSTID everywhere.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
hosts=$TEST_SRCDIR/tests/testbed/hosts
program=$TEST_BUILDDIR/tests/mpi/collectives_test
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# Two processes of one machine are on different hosts if they say so.
cat >"$scratch/asHost" <<'AS'
#!/usr/bin/env bash
map=($HOST_OF_RANK)
export RONDO_HOSTID=host${map[$OMPI_COMM_WORLD_RANK]}
exec "$@"
AS
chmod +x "$scratch/asHost"
say() { echo "== $*"; }

for map in "0 1 1" "0 1 0 2"; do
  say "hosts of RONDO_HOSTID: ranks on $map"
  HOST_OF_RANK=$map runMpi "$(wc -w <<<"$map")" "$scratch/asHost" "$program" || failures=1
done

# Over which network the bytes go is UCX's own word.
say "two ranks, UCX's log"
HOST_OF_RANK="0 1" UCX_TLS=tcp,self UCX_LOG_LEVEL=info runMpi 2 "$scratch/asHost" "$program" \
  >"$scratch/log" 2>&1 || failures=1
grep -q 'ep_cfg.*am(tcp/' "$scratch/log" || { echo "UCX names no TCP endpoint"; failures=1; }

say "ranks that would use different networks"
cat >"$scratch/differ" <<'DIFFER'
#!/usr/bin/env bash
[[ $OMPI_COMM_WORLD_RANK == 0 ]] || export UCX_TLS=tcp,self,sm
export RONDO_HOSTID=host$OMPI_COMM_WORLD_RANK
exec "$@"
DIFFER
chmod +x "$scratch/differ"
if UCX_TLS=tcp,self runMpi 2 "$scratch/differ" "$program" >"$scratch/log" 2>&1; then
  echo "different UCX_TLS were accepted"
  failures=1
fi
grep -q 'ranks differ in the transports that UCX may use: rank 1 has UCX_TLS="tcp,self,sm"' \
  "$scratch/log" || { cat "$scratch/log"; failures=1; }

# Every algorithm of every collective, around the chunk's length: the unit tests' ranks on two hosts.
units=$TEST_BUILDDIR/tests/unit_tests
if [[ -x $units ]]; then
  say "unit tests on two hosts"
  RONDO_TEST_HOSTS=2 "$units" --gtest_brief=1 --gtest_filter='WorldConformanceEdges.*:World*Mismatch*' || failures=1
fi

# Name spaces: other machines to everything but the file system.
onHosts() {  # slots of every host...
  local where="" ranks=0 k=0 slots
  for slots in "$@"; do
    where+=${where:+,}h$k:$slots
    k=$((k + 1))
    ranks=$((ranks + slots))
  done
  say "$# hosts with $* ranks"
  timeout --foreground -k 10 "${MPI_TIMEOUT:-600}" "$hosts" $# \
    "${TEST_MPIRUN:-mpirun}" --bind-to none -n $ranks --host "$where" "$program"
}
status=0
onHosts 1 1 || status=$?
if [[ $status == 77 ]]; then
  echo "no hosts of name spaces here: only those of RONDO_HOSTID were tested"
  [[ $failures == 0 ]] && exit 77
  exit 1
fi
[[ $status == 0 ]] || failures=1
# With two cards, long messages go by both.
say "2 hosts with 2 1 ranks and two cards"
cat >"$scratch/cards" <<'CARDS'
#!/usr/bin/env bash
"$@" || exit
read -r first </sys/class/net/eth0/statistics/tx_bytes
read -r second </sys/class/net/eth1/statistics/tx_bytes
echo "host h0 sent $first bytes by eth0, $second by eth1"
((second > first / 20))
CARDS
chmod +x "$scratch/cards"
HOSTS_CARDS=2 timeout --foreground -k 10 "${MPI_TIMEOUT:-600}" "$hosts" 2 "$scratch/cards" \
  "${TEST_MPIRUN:-mpirun}" --bind-to none -x UCX_NET_DEVICES -n 3 --host h0:2,h1:1 "$program" || failures=1
for shape in "2 2" "3 3" "1 1 1" "2 2 2" "3 3 3" "3 1 2"; do
  onHosts $shape || failures=1
done
exit $failures
