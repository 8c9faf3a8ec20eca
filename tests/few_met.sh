#!/usr/bin/env bash
# few_met.sh: unit tests of what is between hosts, as if their communicators had so many ranks that not all meet: with
# RONDO_TEST_FEW_MET=0 nobody does before it has something to say, with 1 those who stand opposite on the next hosts do.
set -euo pipefail
units=$TEST_BUILDDIR/tests/unit_tests
failures=0
# few VALUE HOSTS FILTER
few() {
  RONDO_TEST_FEW_MET=$1 RONDO_TEST_HOSTS=$2 timeout 300 "$units" --gtest_brief=1 --gtest_filter="$3" || failures=1
}
# But for those of connections that are there without having been used.
between='FarDevice.*:FarLeaving.*:FarZeroCopy.*:FarSurvey.*:LevelsComms.*:WorldHosts.*:UcxZeroCopy.*:UcxPorts.*:*UcxRails.*'
few 0 1 "$between:-*AfterItsConnectionWasLost*:*WhoIsLostIsNamedToEverybody*"
few 1 1 'LevelsComms.*:LevelsSends.GroupsOfAnyMixture:FarSurvey.*:WorldHosts.*'
few 0 2 'WorldChildren.*:World*Mismatch*:WorldAbort.By*:WorldConformanceEdges.*'
few 1 3 'WorldChildren.*:World*Mismatch*:WorldConformanceEdges.*'
exit $failures
