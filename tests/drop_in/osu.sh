#!/usr/bin/env bash
# Every program of the OSU micro-benchmarks for host memory, unmodified, through librondo_mpi.so, with
# validation where the program has it. RONDO_OSU_DIR: a folder under which the built programs lie
# (c/mpi of its build, or libexec/osu-micro-benchmarks/mpi of an installation). By hand, in the build
# folder: tests/drop_in/osu.sh [RANKS...]; it takes minutes. RONDO_MPI (host) is handed on. RONDO_OSU_BARE=1:
# without the layer, to see what MPI alone gives. RONDO_OSU_OPTIONS: more words for every program, such as
# "-T all", "-l" (in place) or "-k rotate" (roots).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/mpi_env.sh"
if [[ -z ${RONDO_OSU_DIR:-} ]]; then
  echo "RONDO_OSU_DIR is not set; allowed: a folder with built OSU micro-benchmarks"
  exit 77
fi
layer=${TEST_BUILDDIR:-$PWD}/.libs/librondo_mpi.so
[[ -f $layer ]] || { echo "no $layer"; exit 77; }
export LD_LIBRARY_PATH=${layer%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} MPI_TIMEOUT=${MPI_TIMEOUT:-300}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

# Windows are MPI's alone, and start-up is no communication.
mapfile -t programs < <(find "$RONDO_OSU_DIR" -type f -name 'osu_*' -perm -u+x \
  -not -path '*/one-sided/*' -not -path '*/startup/*' -not -path '*/.libs/*' | sort)
if [[ ${#programs[@]} == 0 ]]; then
  echo "RONDO_OSU_DIR is \"$RONDO_OSU_DIR\", which has no program osu_*; allowed: a folder with some"
  exit 1
fi

# Most programs that measure one pair of ranks refuse others.
runsWith() {  # program, ranks
  case $1 in
    */osu_mbw_mr | */osu_multi_lat) return 0 ;;
    */pt2pt/*) [[ $2 == 2 ]] ;;
    *) return 0 ;;
  esac
}

# Short runs, sizes to 64 KiB, validation.
read -ra wanted <<<"-i 5 -x 1 -u 1 -m 1:65536 -c ${RONDO_OSU_OPTIONS:-}"
preload=(-x LD_PRELOAD="$layer" -x RONDO_MPI="${RONDO_MPI:-host}" -x RONDO_MPI_STATS=1)
[[ ${RONDO_OSU_BARE:-0} == 0 ]] || preload=()
run() {  # ranks, program, options...
  runMpi "$1" -x LD_LIBRARY_PATH ${preload[@]+"${preload[@]}"} "${@:2}" >"$log" 2>&1
}

# A program that has no validation, or no sizes, says so and is run without: asking each for its help
# first would double the time.
runShorter() {  # ranks, program; leaves what it ran with in `options`
  options=("${wanted[@]}")
  run "$1" "$2" "${options[@]}" && return 0
  local fewer
  for fewer in "-i 5 -x 1 -m 1:65536" "-i 5 -x 1" ""; do
    grep -qE 'Invalid option|unrecognized option|Usage:' "$log" || return 1
    read -ra options <<<"$fewer"
    run "$1" "$2" "${options[@]}" && return 0
  done
  return 1
}

failed=0 ran=0 validated=0
for program in "${programs[@]}"; do
  for ranks in "${@:-2}"; do
    runsWith "$program" "$ranks" || continue
    result=ran
    if ! runShorter "$ranks" "$program"; then
      result=FAILED
    elif grep -qE 'VALIDATION ERROR|[[:space:]]Fail([[:space:]]|$)' "$log"; then
      result=WRONG
    elif [[ " ${options[*]-} " == *" -c "* ]] && grep -qE '[[:space:]]Pass([[:space:]]|$)' "$log"; then
      result=right
      validated=$((validated + 1))
    fi
    ran=$((ran + 1))
    counts=$(awk '$1 == "rondo_mpi:" && $2 ~ /^MPI_/ { taken += $3; passed += $5 }
      END { printf "%d calls Rondo'\''s, %d MPI'\''s", taken, passed }' "$log")
    printf '%-34s %2d ranks  %-7s %s\n' "${program##*/}" "$ranks" "$result" "$counts"
    case $result in
      FAILED | WRONG)
        failed=$((failed + 1))
        cat "$log"
        ;;
    esac
  done
done
echo "$ran runs of ${#programs[@]} programs, $validated validated, $failed failed"
[[ $failed == 0 ]]
