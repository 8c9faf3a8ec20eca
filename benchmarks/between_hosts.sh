#!/usr/bin/env bash
# Benchmarks of rondo-bench beside Open MPI between two hosts of name spaces (root): the tables of docs/performance.md.
#   benchmarks/between_hosts.sh [RANKS A HOST [RUNS [BENCHMARK[,BENCHMARK...] [ARGUMENTS OF rondo-bench...]]]]
# As benchmarks/against_mpi.sh, which it runs, in turn on Open MPI's TCP BTL and its UCX pml. HOSTS_RATE=1gbit bounds
# the links; then it says first what one TCP stream carries.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1-} != inside ]]; then
  exec tests/testbed/hosts 2 "$PWD/benchmarks/between_hosts.sh" inside "$@"
fi
shift
each=${1-1} runs=${2-3}
shift $(($# < 2 ? $# : 2))

stream() {  # bytes that one connection carries in two seconds
  on h1 'python3 -c "
import socket, time
s = socket.create_server((\"0.0.0.0\", 5001))
c = s.accept()[0]
c.recv(1)
n, start = 0, time.monotonic()
while True:
    got = len(c.recv(1 << 20))
    if not got: break
    n += got
print(f\"one TCP stream: {n / (time.monotonic() - start) / 1e6:.1f} MB/s\")
"' &
  sleep 0.5
  python3 -c "
import socket, sys, time
s = socket.create_connection(('$(awk '$2 == "h1" {print $1}' /etc/hosts)', 5001))
end, data = time.monotonic() + 2, bytes(1 << 20)
while time.monotonic() < end: s.sendall(data)
s.close()
"
  wait
}
[[ -z ${HOSTS_RATE:-} ]] || stream
AGAINST_HOSTS="h0:$each,h1:$each" exec benchmarks/against_mpi.sh $((2 * each)) "$runs" "$@"
