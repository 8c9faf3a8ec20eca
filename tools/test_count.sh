# Counts what tests said, into the shell variables passed, failed and skipped. Sourced by ./dev.

countGtest() {  # log of a GoogleTest program, its exit status
  local log=$1 status=$2 bad
  bad=$(grep -Ec '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log" || true)
  # A program that crashed, or failed outside its cases, has said nothing of the sort.
  if [[ $status != 0 && $bad == 0 ]]; then bad=1; fi
  passed=$((passed + $(grep -Ec '^\[       OK \] ' "$log" || true)))
  skipped=$((skipped + $(grep -Ec '^\[  SKIPPED \] .* \([0-9]+ ms\)$' "$log" || true)))
  failed=$((failed + bad))
}

countTrs() {  # automake's .trs files; a GoogleTest program counts by its cases, all else as one
  local trs log result
  for trs in "$@"; do
    log=${trs%.trs}.log
    result=$(sed -n 's/^:global-test-result: //p' "$trs" 2>/dev/null || true)
    if grep -q '^\[==========\] Running ' "$log" 2>/dev/null; then
      case $result in PASS) countGtest "$log" 0 ;; *) countGtest "$log" 1 ;; esac
      continue
    fi
    case $result in
      PASS | XFAIL) passed=$((passed + 1)) ;;
      SKIP) skipped=$((skipped + 1)) ;;
      *) failed=$((failed + 1)) ;;
    esac
  done
}
