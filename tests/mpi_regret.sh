#!/usr/bin/env bash
# The regret benchmark, briefly: every registered algorithm is timed, computes what it should, and the table is whole:
# the planner's choice is one of those timed, the best one is the quickest of them, and the ratio is that of the two.
# No time is judged.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export RONDO_TUNE_DIR=$scratch
regret=$TEST_BUILDDIR/benchmarks/regret explain=$TEST_BUILDDIR/rondo-explain

[[ -x $regret && -x $explain ]] || exit 77

fail() { echo "$*"; exit 1; }

# The algorithms of a collective in the order of the registry, but for hierarchies, which one host has no use for.
# "... reduce tree, reduce hier, ..."
registered() {  # collective
  "$explain" --help | grep -o '  algorithm TEXT .*' | grep -oE "(^|[ ,])$1 [a-z0-9]+" | awk '{ print $NF }' |
    grep -vE '^(hier|stripes)$'
}

# A row, and the times of all under it:
#        64  oneshot/1/32K         0.82        0.55  oneshot           0.54    1.00
#            oneshot 0.54, twoshot 0.67, ring 0.66
check() {  # collective, ranks, sizes, file
  registered "$1" | awk -v collective="$1" -v ranks="$2" -v sizes="$3" '
    function wrong(what) { printf "line %d: %s: %s\n", FNR, what, $0; bad = 1; exit 1 }
    function same(a, b) { return a - b < 0.0051 * (1 + b) && b - a < 0.0051 * (1 + b) }
    NR == FNR { name[++names] = $1; next }
    FNR == 1 {
      if ($0 !~ "^" collective " on " ranks " ranks, costs: ") wrong("no head")
      next
    }
    FNR == 2 { if ($0 !~ /bytes +chosen +predicted +measured +best +measured +ratio$/) wrong("no heads"); next }
    $1 == "within" { summary = $0; next }
    NF == 0 { next }
    $1 ~ /^[0-9]+$/ {
      if (NF != 7 && !(NF == 8 && $8 == "*")) wrong("not seven columns")
      split($2, cut, "/")
      bytes = $1; chosen = cut[1]; predicted = $3; mine = $4; best = $5; least = $6; ratio = $7
      if (expected && bytes != expected) wrong("not " expected " bytes")
      expected = bytes * 2
      if (predicted <= 0 || mine <= 0 || least <= 0) wrong("a time is none")
      rows++
      next
    }
    {
      sub(/^ +/, "")
      n = split($0, each, ", ")
      if (n != names) wrong(n " algorithms timed, " names " registered")
      split("", time)
      for (i = 1; i <= n; i++) {
        split(each[i], pair, " ")
        if (pair[1] != name[i]) wrong("not " name[i])
        if (pair[2] <= 0) wrong("no time")
        time[pair[1]] = pair[2]
        if (pair[2] < least - 0.0051) wrong(pair[1] " is quicker than the best one, " least)
      }
      if (!(chosen in time)) wrong(chosen " was chosen, but not timed")
      if (!(best in time) || !same(time[best], least)) wrong(best " is best, but not at " least)
      # All three are rounded to hundredths.
      if (chosen == best ? ratio != 1 : ratio < (mine - 0.006) / (least + 0.006) - 0.006 ||
                                        least > 0.006 && ratio > (mine + 0.006) / (least - 0.006) + 0.006)
        wrong("the ratio is " ratio)
      eaches++
    }
    END {
      if (bad) exit 1
      if (names < 2) { print "no algorithms of " collective; exit 1 }
      if (rows != sizes || eaches != sizes) { print rows " rows, " eaches " of all, expected " sizes; exit 1 }
      if (summary !~ "within 5 % at [0-9]+ of " sizes " sizes; median [0-9.]+, worst [0-9.]+$") {
        print "no summary: " summary; exit 1
      }
    }' - "$4" || { cat "$4"; fail "the table of $1 is not whole"; }
}

run() {  # ranks, collective, least, most, sizes
  runMpi "$1" "$regret" "$2" --min "$3" --max "$4" --seconds 0.02 --each --check >"$scratch/said" 2>"$scratch/erred" ||
    { cat "$scratch/said" "$scratch/erred"; fail "it failed: $2 on $1 ranks"; }
  check "$2" "$1" "$5" "$scratch/said"
}

run 2 allreduce 8 64 4
run 2 allreduce 64K 128K 2
for collective in broadcast allgather reducescatter alltoall reduce gather scatter scan exscan; do
  run 2 $collective 1K 1K 1
done
run 3 allreduce 1K 1K 1

# On both kinds of memory, the best one for both beside the chosen one.
runMpi 2 "$regret" allreduce --min 4K --max 8K --seconds 0.02 --memory both --check >"$scratch/said" 2>"$scratch/erred" ||
  { cat "$scratch/said" "$scratch/erred"; fail "--memory both"; }
grep -qE '^ +8192 +[a-z]+ +[0-9.]+ +[0-9.]+ +[a-z]+ +[0-9.]+ +[0-9.]+ +[a-z]+ +[0-9.]+ +[a-z]+ +[0-9.]+$' \
  "$scratch/said" || { cat "$scratch/said"; fail "no row of 8 KiB"; }
grep -q 'within 5 % of 2 sizes: chosen [0-2] ordinary, [0-2] mapped' "$scratch/said" || fail "no summary"

for wrong in "allreduce --min 1" "fly" "allreduce --seconds 0"; do
  status=0
  # shellcheck disable=SC2086
  runMpi 2 "$regret" $wrong >"$scratch/said" 2>&1 || status=$?
  [[ $status != 0 ]] && grep -qE 'allowed|there are|seconds' "$scratch/said" ||
    { cat "$scratch/said"; fail "not refused: $wrong"; }
done
