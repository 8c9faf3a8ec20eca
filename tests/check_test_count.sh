#!/usr/bin/env bash
# The closing line of ./dev test counts right, also when a test program crashes.
set -euo pipefail
. "$TEST_SRCDIR/tools/test_count.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

expect() {  # passed, failed, skipped
  [[ "$passed $failed $skipped" == "$*" ]] ||
    { echo "counted $passed $failed $skipped, expected $*"; exit 1; }
}

cat >unit.log <<'END'
[==========] Running 4 tests from 1 test suite.
[       OK ] A.one (0 ms)
[       OK ] A.two (1 ms)
[  SKIPPED ] A.three (0 ms)
[  FAILED  ] A.four (12 ms)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] A.three
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.four
END
echo ':global-test-result: FAIL' >unit.trs
passed=0 failed=0 skipped=0
countTrs unit.trs
expect 2 1 1

printf '[==========] Running 2 tests\n[       OK ] A.one (0 ms)\n[ RUN      ] A.two\n' >crash.log
echo ':global-test-result: FAIL' >crash.trs
for result in PASS SKIP FAIL ERROR; do
  echo "some text" >$result.log
  echo ":global-test-result: $result" >$result.trs
done
passed=0 failed=0 skipped=0
countTrs crash.trs PASS.trs SKIP.trs FAIL.trs ERROR.trs
expect 2 3 1

passed=0 failed=0 skipped=0
countTrs absent.trs
expect 0 1 0
