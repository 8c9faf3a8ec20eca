#!/usr/bin/env bash
# docs/compatibility.md names every function of MPI's header and of NCCL's interface, and says of
# them what the libraries do.
set -euo pipefail
page=$TEST_SRCDIR/docs/compatibility.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0
complain() {
  echo "$*"
  wrong=1
}

# Rows of the table under a headline, as "what happens|name", a line for every name.
rows() {  # headline
  ${TEST_AWK:-awk} -F'|' -v headline="$1" '
    /^#/ { inside = index($0, headline) == 1 }
    inside && /^\| .*`/ {
      happens = $3
      sub(/^ */, "", happens)
      sub(/[ ,;:.].*/, "", happens)
      names = $2
      while (match(names, /`[^`]*`/)) {
        name = substr(names, RSTART, RLENGTH)
        names = substr(names, RSTART + RLENGTH)
        gsub(/`/, "", name)
        both = sub(/\(v\)$/, "", name)
        print happens "|" name
        if (both) print happens "|" name "v"
      }
    }' "$page"
}

echo "== MPI: every function has a row"
rows "## MPI functions" >"$scratch/mpi"
cut -d'|' -f2 "$scratch/mpi" | sort >"$scratch/named"
uniq -d "$scratch/named" >"$scratch/twice"
[[ ! -s $scratch/twice ]] || complain "named twice: $(tr '\n' ' ' <"$scratch/twice")"
printf '%s\n' '#include <mpi.h>' '#if __has_include(<mpi-ext.h>)' '#include <mpi-ext.h>' '#endif' >"$scratch/mpi.c"
# shellcheck disable=SC2086  # the compiler may be several words
${TEST_MPICC:-mpicc} -E "$scratch/mpi.c" | tr '\n' ' ' | grep -oE '\bMPIX?_[A-Za-z0-9_]+ *\(' |
  tr -d ' (' | sort -u >"$scratch/functions"
[[ $(wc -l <"$scratch/functions") -ge 300 ]] || complain "MPI's header has few functions"
grep -F '*' "$scratch/named" >"$scratch/globs"
comm -23 "$scratch/functions" "$scratch/named" | while read -r name; do
  while read -r glob; do
    # shellcheck disable=SC2053  # a pattern
    [[ $name == $glob ]] && continue 2
  done <"$scratch/globs"
  echo "$name"
done >"$scratch/missing"
[[ ! -s $scratch/missing ]] || complain "without a row: $(tr '\n' ' ' <"$scratch/missing")"
# What is named must be there, in Open MPI 4.1's header or in a newer one.
grep -vF '*' "$scratch/named" | grep '^MPI_' | comm -23 - "$scratch/functions" >"$scratch/unknown"
[[ ! -s $scratch/unknown ]] || complain "no such function: $(tr '\n' ' ' <"$scratch/unknown")"

layer=$TEST_BUILDDIR/.libs/librondo_mpi.so
if [[ -f $layer ]]; then
  echo "== MPI: what passes through the layer is named, and the other way round"
  ${TEST_NM:-nm} -D --defined-only "$layer" |
    ${TEST_AWK:-awk} '$3 ~ /^MPIX?_[A-Z][a-z]/ { print $3 }' | sort >"$scratch/exported"
  comm -23 "$scratch/exported" "$scratch/named" >"$scratch/silent"
  [[ ! -s $scratch/silent ]] || complain "exported without a row: $(tr '\n' ' ' <"$scratch/silent")"
  grep -E '^(answered|watched)\|' "$scratch/mpi" | cut -d'|' -f2 | sort |
    comm -23 - "$scratch/exported" >"$scratch/claimed"
  [[ ! -s $scratch/claimed ]] || complain "not in the layer: $(tr '\n' ' ' <"$scratch/claimed")"
  # Where Fortran's calls come to it at all, all of C's do.
  ${TEST_NM:-nm} -D --defined-only "$layer" |
    ${TEST_AWK:-awk} '$3 ~ /^mpix?_.*[^_]_$/ { print substr($3, 1, length($3) - 1) }' | sort >"$scratch/fortran"
  tr '[:upper:]' '[:lower:]' <"$scratch/exported" | sort | comm -23 - "$scratch/fortran" >"$scratch/c_only"
  [[ ! -s $scratch/fortran || ! -s $scratch/c_only ]] || complain "not from Fortran: $(tr '\n' ' ' <"$scratch/c_only")"
  # What mpi_f08 calls by a second name past the layer has to come to it by the first.
  f08=$(${TEST_MPIFORT:-mpifort} -print-file-name=libmpi_usempif08.so 2>/dev/null) || true
  if [[ -s $scratch/fortran && -f $f08 ]]; then
    ${TEST_NM:-nm} -D --undefined-only "$f08" |
      ${TEST_AWK:-awk} '$2 ~ /^pmpi_.*_$/ { print substr($2, 2, length($2) - 2) }' | sort |
      comm -12 - "$scratch/fortran" >"$scratch/second"
    [[ -s $scratch/second ]] || complain "$f08 calls nothing by a second name"
    ${TEST_NM:-nm} -D --defined-only "$layer" |
      ${TEST_AWK:-awk} 'sub(/_f08_$/, "", $3) { print $3 }' | sort | comm -23 "$scratch/second" - >"$scratch/past"
    [[ ! -s $scratch/past ]] || complain "mpi_f08's go past the layer: $(tr '\n' ' ' <"$scratch/past")"
  else
    echo "no library of mpi_f08 is found: what it calls by a second name is not looked at"
  fi
fi

echo "== NCCL: the same"
rows "## NCCL functions" >"$scratch/nccl"
cut -d'|' -f2 "$scratch/nccl" | sort >"$scratch/named"
${TEST_AWK:-awk} '!/^#/ && NF { print $1 }' "$TEST_SRCDIR/tests/drop_in/nccl_symbols.txt" |
  sort >"$scratch/functions"
diff "$scratch/functions" "$scratch/named" >"$scratch/diff" || {
  cat "$scratch/diff"
  complain "< has no row, > is no function of NCCL's"
}
for kind in $(cut -d'|' -f1 "$scratch/mpi" "$scratch/nccl" | sort -u); do
  case $kind in
    answered | watched | "MPI's" | taken | accepted | refused | 0) ;;
    *) complain "a row says \"$kind\" first, which is none of the words that the page explains" ;;
  esac
done
exit $wrong
