#!/usr/bin/env bash
# What rondo-topo --measure left of the links between packages is what ranks choose by, as rank 0's host found it;
# the log and rondo-info say where it comes from. A file that is no good is told once, and is no reason to fail.
# The machine is pretended: hwloc's, of two packages of a core.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*"; exit 1; }
expect() {  # text, pattern
  grep -qE -- "$2" <<<"$1" || { printf '%s\n' "$1"; fail "no \"$2\" above"; }
}
taskset -c 0 true && taskset -c 1 true || exit 77
[[ -x $TEST_BUILDDIR/rondo-topo && -x $TEST_BUILDDIR/rondo-bench ]] || exit 77  # no libxml2
export RONDO_TUNE_DIR=$scratch RONDO_EXPLAIN=1 RONDO_LOG=info
machine="pack:2 core:1 pu:1"
info() { HWLOC_SYNTHETIC=$machine "$TEST_BUILDDIR/rondo-info"; }

# Ranks 0 and 1 on the first package, 2 and 3 on the second. mpirun itself would bind by such a machine, and hang.
cat >"$scratch/bound" <<'BOUND'
#!/usr/bin/env bash
export HWLOC_SYNTHETIC="MACHINE"
exec taskset -c $((OMPI_COMM_WORLD_RANK / 2)) "$@"
BOUND
sed -i "s/MACHINE/$machine/" "$scratch/bound"
chmod +x "$scratch/bound"
job() {
  runMpi 4 "$scratch/bound" "$TEST_BUILDDIR/rondo-bench" allreduce --min 64 --max 64 --warmup 0 --iters 3 2>&1
}

said=$(info)
expect "$said" '^links +as the machine claims \(no links-[0-9a-f]{16}\.xml in '
file=$scratch/$(grep -o 'links-[0-9a-f]*\.xml' <<<"$said")
costs=$(grep -o 'costs-[0-9a-f]*\.txt' <<<"$said")
out=$(job) || fail "$out"
expect "$out" '^rondo: links: packages 60 GB/s and 100ns apart, 60 GB/s into each$'

cat >"$file" <<'XML'
<rondo-topology version="1"><host name="any"><cpu name="cpu0"/><cpu name="cpu1"/>
<link kind="socket" between="cpu0 cpu1" bandwidth="60GB/s" latency="100ns" measured_bandwidth="28GB/s" measured_latency="170ns"/>
</host></rondo-topology>
XML
out=$(job) || fail "$out"
expect "$out" '^rondo: links: packages 28 GB/s and 170ns apart, 28 GB/s into each \(measured\)$'
expect "$out" "links of this host: $file: 1 measured, 1 of them between packages or on the way to network cards"
expect "$(info)" "^links +$file: 1 measured, 1 of them "
expect "$(info)" "^costs +built-in \\(no $costs in "  # found by the same name as before

sed -i 's/170ns/fast/' "$file"
out=$(job) || fail "$out"
expect "$out" '^rondo: links: packages 60 GB/s and 100ns apart, 60 GB/s into each$'
[[ $(grep -c '^rondo: warning: .*measured_latency is "fast"; allowed: ' <<<"$out") == 1 ]] || fail "$out"
expect "$(info)" "^links +as the machine claims \\($file is no good\\)"
