#!/usr/bin/env bash
# Communicators that ULFM shrank, where MPI has it; where it has not, that configure said so, and that
# what would use it compiles.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
program=$TEST_BUILDDIR/tests/mpi/ulfm_test

found=$(sed -n 's/^rondo_cv_mpi_ulfm=//p' "$TEST_BUILDDIR/config.log")
said=$("$TEST_BUILDDIR/rondo-info" | sed -n 's/^ULFM of MPI *//p')
[[ -n $found && $said == "$found" ]] ||
  { echo "configure found \"$found\" and rondo-info says \"$said\""; exit 1; }

if [[ $found == yes ]]; then
  # The killed rank makes mpirun's own status what it will.
  out=$(timeout -k 5 120 "$TEST_MPIRUN" --with-ft ulfm --oversubscribe -n 3 "$program" 2>&1) || true
  (($(grep -c '^survivor: rank [02], one of 2$' <<<"$out") == 2)) ||
    { echo "not both survivors went on:"; echo "$out"; exit 1; }
  exit 0
fi

out=$(runMpi 1 "$program")
grep -x 'this MPI has no ULFM' <<<"$out"
read -ra compiler <<<"${TEST_CXX:-g++}"
read -ra flags <<<"$TEST_CPPFLAGS"
compile() {  # flags...; only looks
  "${compiler[@]}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror "$@" "${flags[@]}" \
    -I"$TEST_SRCDIR/src" -I"$TEST_SRCDIR/src/api"
}
stub=$TEST_SRCDIR/tests/mpi/ulfm_stub
for source in src/api/mpi_bootstrap.cc tests/mpi/ulfm_test.cc; do
  compile -I"$stub" -DHAVE_MPI_ULFM=1 "$TEST_SRCDIR/$source"
done
# Without the stub these uses have nothing to stand on: it is the stub that was compiled.
if compile -DHAVE_MPI_ULFM=1 "$TEST_SRCDIR/src/api/mpi_bootstrap.cc" 2>/dev/null; then
  echo "mpi_bootstrap.cc compiles without ULFM's declarations"
  exit 1
fi
