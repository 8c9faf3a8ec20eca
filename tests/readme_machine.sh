#!/usr/bin/env bash
# The commands of the README's "A machine that is not there", as they stand there: they draw, explain, and
# rehearse 64 hosts, whose list of flows has every byte that the links are said to carry.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complain() { echo "$1" >&2; exit 1; }

[[ -x $TEST_BUILDDIR/rondo-sim && -x $TEST_BUILDDIR/rondo-explain ]] || exit 77

# The section's first block of commands; the tools of this build instead of the installed ones.
awk '/^## / { inside = $0 == "## A machine that is not there" }
     inside && /^```/ { if (++fences == 2) exit; next }
     inside && fences == 1' "$TEST_SRCDIR/README.md" >"$scratch/commands"
[[ $(grep -c '^build/install/bin/rondo-' "$scratch/commands") == 3 ]] ||
  complain "three commands expected in the README: $(cat "$scratch/commands")"
sed -i "s|^build/install/bin/|\"\$TEST_BUILDDIR\"/|" "$scratch/commands"

cd "$scratch"
export RONDO_TUNE_DIR=/nowhere
bash -euo pipefail commands >said 2>&1 || complain "exit status $?: $(cat said)"
[[ $(head -c 4 machine.svg) == "<svg" && $(tail -n 1 machine.svg) == "</svg>" ]] ||
  complain "machine.svg is no picture"
grep -q '>cpu0<' machine.svg || complain "machine.svg has no CPU"
grep -q 'rondo:   runs ' said || complain "nothing is chosen: $(cat said)"
grep -q '^allreduce of 67108864 bytes on 512 ranks (device memory), 64 hosts$' said ||
  complain "nothing is rehearsed: $(cat said)"
[[ $(head -c 1 trace.json) == "{" && $(tail -n 1 trace.json) == *"}" ]] || complain "trace.json"

# "  75.3 %  host0/nic0 to rail0      402653184 bytes of 50 GB/s, and 63 like it"
carried=$(awk '/host0\/nic0 to rail0 / { for (i = 2; i <= NF; ++i) if ($i == "bytes") print $(i - 1) }' said)
listed=$(awk -F, 'NR > 1 && $11 ~ /host0\/nic0 rail0/ { sum += $4 } END { printf "%d", sum }' flows.csv)
[[ -n $carried && $carried == "$listed" ]] ||
  complain "flows over host0's card: $listed bytes are listed, the link carries ${carried:-none}"
