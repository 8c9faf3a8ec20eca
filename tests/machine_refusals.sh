#!/usr/bin/env bash
# What rondo-topo, rondo-sim and rondo-explain are given from outside and cannot take: one sentence that says
# where it is wrong and what was expected, exit status 2, no crash. A deadlock names its ranks.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export RONDO_TUNE_DIR=/nowhere
topo=$TEST_BUILDDIR/rondo-topo sim=$TEST_BUILDDIR/rondo-sim explain=$TEST_BUILDDIR/rondo-explain
[[ -x $topo && -x $sim && -x $explain ]] || exit 77
cd "$scratch"
failures=0

said() {  # exit status, a part of the sentence, command...
  local wanted=$1 part=$2 status=0
  shift 2
  timeout 120 "$@" >said 2>&1 || status=$?
  [[ $status == "$wanted" ]] || { echo "exit status $status, expected $wanted: $*"; failures=1; }
  grep -qF -- "$part" said || { echo "no \"$part\" by $*: $(head -c 2000 said)"; failures=1; }
}
machine() { printf '<rondo-topology version="1">\n%s\n</rondo-topology>\n' "$1"; }

echo '<a><b>' >unclosed.xml
printf '<!DOCTYPE l [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>\n<l>&b;</l>\n' >bomb.xml
machine '<host name="a"><cpu name="c" cores="99999999999999999999"/></host>' >absurd.xml
machine '<host name="a"><cpu name="c"/></host><host name="b"><cpu name="c"/></host>' >apart.xml
machine '<host name="a"><cpu name="c"/><toaster/><toaster/></host>' >toaster.xml
machine "<host name=\"a\">$(seq -f '<cpu name="c%.0f"/>' 1000000)</host>" >million.xml
said 2 'rondo-topo: unclosed.xml:1: it ends too early: <b> of line 1 is not closed' "$topo" --topology unclosed.xml
said 2 'rondo-topo: bomb.xml:1: declares the entity "a"; entities are not allowed' "$topo" --topology bomb.xml
said 2 'rondo-topo: absurd.xml:2: cores is "99999999999999999999"; allowed: 1 to 65536' "$topo" --topology absurd.xml
said 2 'more than 262144 nodes' "$topo" --topology million.xml
said 0 'toaster.xml:2: unknown element <toaster> in <host> is ignored' "$topo" --topology toaster.xml
[[ $(grep -c 'is ignored' said) == 1 ]] || { echo "more than one warning: $(cat said)"; failures=1; }
said 2 'rondo-topo: none.xml cannot be read: No such file' "$topo" --topology none.xml
said 2 'character 1, at "1000000": expected a number of hosts from 1 to 65536' "$topo" --topology "1000000 x (8 gpu)"
said 2 'at "toasters": expected cpu, pci, gpu or nic' "$topo" --topology "2 toasters"
said 2 'there is no way from a/c to b/c' "$topo" --topology apart.xml --svg apart.svg

two=(--topology "2 gpu nvlink=100 nvswitch" --bytes 1M)
said 2 'there is no way from a/c to b/c' "$sim" --topology apart.xml --ranks 2
said 2 'no way leads from host0/gpu1 to host0/gpu0; allowed: GPUs that are joined' "$sim" --topology "2 gpu" --bytes 1M
said 2 '3 ranks; allowed on this machine: 1 to 2, one on each GPU' "$sim" "${two[@]}" --ranks 3
said 2 '--op is "allreduse"; allowed: allreduce, ' "$sim" "${two[@]}" --op allreduse
said 2 '--bytes is "1Q"; allowed: 1 to 16384G' "$sim" --topology "2 gpu nvlink=100 nvswitch" --bytes 1Q
said 2 'the algorithm is "foo"; allowed for allreduce: ' "$sim" "${two[@]}" --algorithm foo
said 2 '--flows is "flows.txt"; allowed: a name that ends in .csv or .json' "$sim" "${two[@]}" --flows flows.txt
said 1 '/nowhere/flows.csv: No such file' "$sim" "${two[@]}" --flows /nowhere/flows.csv
printf 'HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n3\nlayer x y\n' >work.txt
said 2 'work.txt:3: found "y"; expected: 12 columns, not 3' "$sim" --topology "2 gpu nvlink=100 nvswitch" --workload work.txt
said 1 'rondo-sim: deadlock: ' "$sim" --topology "3 gpu nvlink=100 nvswitch" --bytes 1M --algorithm ring --depth 0
for rank in 0 1 2; do
  grep -qE "rank $rank, .*: waits for a slot to rank $(((rank + 1) % 3)) \(0 of 0 in use\)" said ||
    { echo "rank $rank is not named: $(cat said)"; failures=1; }
done

# Who asks for what takes minutes is told so first.
timeout 20 "$sim" --topology "512 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail" --op alltoall --bytes 1M \
  --algorithm pairwise >said 2>&1 || true
grep -Eq '^rondo-sim: pairwise takes about [0-9]+ million steps to simulate, some [0-9]+ s or more$' said ||
  { echo "not told how long it takes: $(cat said)"; failures=1; }

# A deadlock is no result anywhere, and a root is one of the ranks.
cores=(--topology "1 cpu cores=4")
for what in --channels "--workload blocked.txt" "--workload stages.txt"; do
  printf 'MICRO\n1\na -1 1 ALLREDUCE 1024 1 NONE 0 1 NONE 0 1\n' >blocked.txt
  printf 'MODEL pp: 2 pp_comm: 1024\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n' >stages.txt
  # shellcheck disable=SC2086
  said 1 'rondo-sim: deadlock: ' "$sim" "${cores[@]}" --depth 0 $what
  grep -qE "rank [0-3], .*: waits for " said || { echo "no rank is named with $what: $(cat said)"; failures=1; }
done
for op in allreduce reduce scatter broadcast; do
  said 2 '--root is 4; allowed: 0 to 3' "$sim" "${cores[@]}" --channels --op $op --bytes 1K --root 4
done
said 2 '--root is 4; allowed: 0 to 3' "$sim" --topology "4 gpu nvlink=450 nvswitch" --channels --bytes 1K --root 4

# What would change nothing is refused.
for option in --flows --trace --svg; do
  said 2 '--channels is given; allowed without --flows, --trace and --svg' "$sim" "${two[@]}" --channels $option none.csv
done
for option in "--op reduce" "--bytes 1M" "--root 1"; do
  # shellcheck disable=SC2086
  said 2 'allowed without --op, --bytes and --root' "$sim" "${cores[@]}" --workload work.txt $option
done
for periods in -1 18446744073709551616; do
  said 2 'rondo-sim: --periods: Value ' "$sim" "${two[@]}" --periods $periods
done
# A range has its ends.
"$sim" --topology "2 gpu nvlink=100 nvswitch" --channels --op allreduce --bytes 1K-8K >said
[[ $(awk '$1 == "allreduce" { printf "%s ", $2 }' said) == "1024 4096 8192 " ]] ||
  { echo "not the sizes of 1K-8K: $(cat said)"; failures=1; }

# A barrier has no bytes, and no bandwidth, whatever --bytes says.
said 0 'barrier of 0 bytes on 2 ranks' "$sim" "${two[@]}" --op barrier
grep -q '^  oneshot .* us  bus     0.00 GB/s' said || { echo "a barrier's bandwidth: $(cat said)"; failures=1; }

said 2 '--ranks is 9; allowed on this machine' "$explain" allreduce 1M --ranks 9 --topology "8 gpu nvlink=450 nvswitch" --memory device
# CLI11's sentences are the program's, too.
said 2 'rondo-topo: The following argument was not expected: --nonsense' "$topo" --nonsense
said 2 'rondo-sim: --topology is required' "$sim"
said 2 'rondo-explain: --ranks: Value 0 not in range 1 to 4096' "$explain" allreduce ring --ranks 0
said 2 'rondo-info: The following argument was not expected: --nonsense' "$TEST_BUILDDIR/rondo-info" --nonsense

said 2 '"64KX" is no size; allowed: 1 to 16384G bytes, as in 64K' "$explain" allreduce 64KX
# A size is one however it is written.
"$explain" allreduce 64K --ranks 4 --cpus 4 >plain
for size in 64KB 64KiB 65536 65536B 64k; do
  "$explain" allreduce $size --ranks 4 --cpus 4 | cmp plain - || { echo "rondo-explain's $size is not 64K"; failures=1; }
done
sizes() { "$sim" --topology "2 gpu nvlink=100 nvswitch" --channels --op allreduce "$@" | awk '$1 == "allreduce"'; }
[[ $(sizes --bytes 64KiB-1MB --chunk 16KB) == "$(sizes --bytes 64K-1M --chunk 16K)" && -n $(sizes --bytes 1MB) ]] ||
  { echo "rondo-sim's 64KiB-1MB is not 64K-1M"; failures=1; }
said 2 '--chunk is "16KX"; allowed: 1 to 16384G' "$sim" --topology "2 gpu nvlink=100 nvswitch" --chunk 16KX
said 2 '--json and a size; allowed: with an algorithm' "$explain" allreduce 64K --json
said 2 '--verify and a size; allowed: with an algorithm' "$explain" allreduce 64K --verify
said 2 '--choose; allowed: with --count, or a size as in 64K' "$explain" allreduce --choose
said 2 '--count and a size; allowed: one of them' "$explain" allreduce 64K --count 5
said 2 '--lanes and a size; allowed: with an algorithm' "$explain" allreduce 64K --lanes 2
said 2 '--cpus and an algorithm; allowed: with a size as in 64K, or with --choose' "$explain" allreduce ring --cpus 2
said 2 '--choose and an algorithm; allowed: one of them' "$explain" allreduce ring --choose --count 5
for option in "--root 3" "--groups 2x2" "--cpus 1"; do
  # shellcheck disable=SC2086
  said 2 "${option% *} and --memory device; allowed: with --memory host" \
    "$explain" broadcast 64K --memory device $option
done
said 2 'argument BYTES is "18446744073709551615"; allowed: up to 16384G' "$explain" allreduce 18446744073709551615
said 2 'none.xml cannot be read' "$explain" allreduce 64K --ranks 4 --topology none.xml
exit $failures
