#!/usr/bin/env bash
# MPI programs that Debian built from others' sources, unmodified through librondo_mpi.so: ScaLAPACK's
# testers (Fortran and C over BLACS: row and column communicators, sends, MPI's broadcasts and
# reductions side by side), MUMPS's examples, NetPIPE's integrity check. `apt-get install
# scalapack-mpi-test mumps-test netpipe-openmpi`. By hand, in the build folder:
# tests/drop_in/debian_programs.sh [PROGRAM...]; minutes. Each runs without the layer first: what fails
# there is left out, and what it found right must be as much with the layer.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
layer=${TEST_BUILDDIR:-$PWD}/.libs/librondo_mpi.so
[[ -f $layer ]] || { echo "no $layer"; exit 77; }
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} MPI_TIMEOUT=${MPI_TIMEOUT:-600}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cp -r /usr/share/scalapack/. . 2>/dev/null || true
testers=$(echo /usr/lib/*/scalapack/openmpi-tests)

# The lines that say how it went, without times and rates, and how many tests passed: their residuals differ by rounding,
# as sums go in another order.
findings() {  # log
  { grep -aE 'ntegrity|tests completed|tests skipped|SOLUTION IS|Solution is|PASSED|FAILED|Failed|INFOG\(1\)' "$1" || true; } |
    sed -E 's/[0-9]+ times//; s/ +-->/ -->/' |
    awk 'match($0, /PASSED|FAILED/) { n[substr($0, RSTART, RLENGTH)]++; next } { print } END { for (w in n) print w, n[w] }' |
    sort
}

failed=0 ran=0
compare() {  # ranks, standard input or -, program, arguments...
  local ranks=$1 input=$2 name=${3##*/} mine="" bare="" code=0 began=0
  shift 2
  [[ -x $1 ]] || return 0
  [[ $input == - ]] && input=/dev/null
  began=$EPOCHREALTIME
  if ! runMpi "$ranks" "$@" <"$input" >"$scratch/bare.log" 2>&1; then
    printf '%-16s %d ranks  fails without the layer\n' "$name" "$ranks"
    return 0
  fi
  local middle=$EPOCHREALTIME
  runMpi "$ranks" -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" -x RONDO_MPI_STATS=1 "$@" <"$input" \
    >"$scratch/log" 2>&1 || code=$?
  local end=$EPOCHREALTIME
  bare=$(findings "$scratch/bare.log")
  mine=$(findings "$scratch/log")
  local result=right
  if [[ $code != 0 ]]; then
    result=FAILED
  elif [[ $bare != "$mine" ]]; then
    result=DIFFERENT
  elif ! grep -aq '^rondo_mpi: .* ranks, ' "$scratch/log"; then
    result=NO-LAYER
  fi
  ran=$((ran + 1))
  awk -v name="$name" -v ranks="$ranks" -v result="$result" -v bare="$(echo "$bare" | tr '\n' ';')" \
    -v times="$began $middle $end" \
    '$1 == "rondo_mpi:" && $2 ~ /^MPI_/ { taken += $3; passed += $5 }
     END { split(times, t, " ")
           printf "%-16s %d ranks  %-9s %.1f s bare, %.1f s layered; %d calls Rondo'\''s, %d MPI'\''s; %s\n",
             name, ranks, result, t[2] - t[1], t[3] - t[2], taken, passed, substr(bare, 1, 60) }' \
    "$scratch/log"
  if [[ $result != right ]]; then
    failed=$((failed + 1))
    diff <(echo "$bare") <(echo "$mine") || true
    tail -n 20 "$scratch/log"
  fi
}

wanted=("$@")
[[ ${#wanted[@]} != 0 ]] || wanted=(xdlu xzllt xdqr xsinv xdls xdtrd xchrd xdbrd xdnep xdsvd xzgsep \
  dsimpletest zsimpletest NPopenmpi)
for name in "${wanted[@]}"; do
  case $name in
    ?simpletest)
      kind=real
      [[ $name == [cz]* ]] && kind=cmplx
      compare 3 "/usr/lib/mumps/input_simpletest_$kind" "/usr/lib/mumps/$name"
      ;;
    NPopenmpi) compare 2 - /usr/bin/NPopenmpi -i -u 65536 -o "$scratch/np.out" ;;
    *) compare 4 - "$testers/$name" ;;
  esac
done
echo "$ran programs compared, $failed failed"
[[ $failed == 0 ]] || exit 1
[[ $ran != 0 ]] || exit 77
