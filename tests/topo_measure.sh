#!/usr/bin/env bash
# rondo-topo --measure: what it finds is kept for the next one, which shows it in tree, matrix and picture;
# with --dry-run nothing is kept; a file that is no good is said to be so and not used.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complain() { echo "$1" >&2; exit 1; }
topo=$TEST_BUILDDIR/rondo-topo
[[ -x $topo ]] || exit 77
export RONDO_TUNE_DIR=$scratch/rondo

"$topo" --measure --dry-run >"$scratch/said" 2>&1 || complain "exit status $?: $(cat "$scratch/said")"
grep -q '^Not written (--dry-run): ' "$scratch/said" || complain "it does not say where: $(cat "$scratch/said")"
[[ ! -e $RONDO_TUNE_DIR ]] || complain "--dry-run has written: $(ls "$RONDO_TUNE_DIR")"
# A machine whose kernel tells of no memory has nothing to measure here.
grep -q ' measured (' "$scratch/said" || { cat "$scratch/said"; exit 77; }

"$topo" --measure >"$scratch/measured" 2>"$scratch/errors" || complain "$(cat "$scratch/errors")"
file=$(sed -n 's/^Written: //p' "$scratch/errors")
[[ -n $file && $file == "$(ls "$RONDO_TUNE_DIR"/links-*.xml)" ]] || complain "$(cat "$scratch/errors")"
"$topo" --svg "$scratch/machine.svg" >"$scratch/later"
cmp "$scratch/measured" "$scratch/later" || complain "a later one shows something else"
grep -q 'bold: measured' "$scratch/machine.svg" || complain "the picture does not say what is measured"
"$topo" --topology "$file" >/dev/null || complain "its own file is not read"
[[ $("$topo" --xml -) == "$(cat "$file")" ]] || complain "another machine comes back"

sed -i 's/measured_latency="/&-/' "$file"
"$topo" >"$scratch/later" 2>"$scratch/errors"
grep -q "^rondo-topo: $file:[0-9]*: measured_latency is \"-.*; no link has what was measured$" "$scratch/errors" ||
  complain "$(cat "$scratch/errors")"
! grep -q measured "$scratch/later" || complain "a bad file was used: $(cat "$scratch/later")"

set +e
"$topo" --measure --topology "$file" 2>"$scratch/errors"
[[ $? == 2 ]] || complain "--measure of a file: exit status is not 2"
