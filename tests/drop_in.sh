#!/usr/bin/env bash
# Programs that know nothing of Rondo, with librondo_mpi.so before MPI.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
programs=$TEST_BUILDDIR/tests/drop_in
layer=$TEST_BUILDDIR/.libs/librondo_mpi.so
[[ -f $layer ]] || { echo "no shared library in this build"; exit 77; }
# As a built program finds its libraries before they are installed.
export LD_LIBRARY_PATH=$TEST_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

# A driver whose memory the host cannot touch. With it, and RONDO_MPI=both, calls of any size are Rondo's.
mkdir "$scratch/fake"
# shellcheck disable=SC2086  # the compiler may be several words
${TEST_CXX:-c++} -shared -fPIC -o "$scratch/fake/libcuda.so.1" "$TEST_SRCDIR/tests/drop_in/fake_driver.cc"
withDriver() {  # command...
  LD_LIBRARY_PATH=$scratch/fake:$LD_LIBRARY_PATH "$@"
}
# And communicators that seem to have devices, by a library before librondo.so.
# shellcheck disable=SC2086
${TEST_CXX:-c++} -std=c++20 -shared -fPIC -I"$TEST_SRCDIR/src" -o "$scratch/pretended.so" \
  "$TEST_SRCDIR/tests/drop_in/pretended_device.cc"
withDevices() {  # command...
  local layer=$layer:$scratch/pretended.so
  withDriver "$@"
}

layered() {  # ranks, then NAME=VALUE for the job's environment or arguments of mpirun...
  local ranks=$1 settings=()
  shift
  while [[ $1 == *=* ]]; do
    settings+=(-x "$1")
    shift
  done
  runMpi "$ranks" -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" ${settings[@]+"${settings[@]}"} "$@"
}

fail() {
  echo "$*"
  cat "$log"
  exit 1
}

# The statistics say of `call`: so many taken, so many passed on, and why.
counted() {  # call, taken, passed on, why
  awk -v call="$1" -v taken="$2" -v passed="$3" -v why="$4" '
    $1 == "rondo_mpi:" && $2 == call {
      for (i = 7; i <= NF; i++) said = said (i > 7 ? " " : "") $i
      found = $3 == taken && $5 == passed && said == why
    }
    END { exit !found }' "$log" || fail "expected $1: $2 taken, $3 passed on, why: $4"
}

for ranks in 1 2 3 4; do
  echo "== every call against MPI's own, $ranks ranks"
  layered $ranks RONDO_MPI_STATS=1 "$programs/collectives_test" expect-layer >"$log" 2>&1 ||
    fail "collectives_test failed"
  grep ' checks on a rank' "$log"
done
grep -q '^rondo_mpi: MPI_Allreduce .* type [1-9].* operator [1-9].* arguments [1-9]' "$log" ||
  fail "the reasons of MPI_Allreduce"
# Of the 40 calls on the last of many communicators 31 are MPI's before it becomes Rondo's: 58 on a rank
# with those on others; it would be 67.
grep -q '^rondo_mpi: MPI_Allreduce .* many communicators 232' "$log" ||
  fail "communicators that are hardly used"

# The usual call is remembered only where nothing is counted.
for ranks in 2 3 4; do
  echo "== v-collectives made again but for one thing, $ranks ranks"
  runMpi $ranks "$programs/again_test" >"$log" 2>&1 || fail "again_test without the layer"
  layered $ranks RONDO_MPI_MEASURE=0 "$programs/again_test" >"$log" 2>&1 || fail "again_test failed"
  grep ' checks on a rank' "$log"
done
layered 2 RONDO_MPI_STATS=1 RONDO_MPI_MEASURE=0 "$programs/again_test" >"$log" 2>&1 ||
  fail "again_test, counted"
counted MPI_Alltoallv 360 0 ""
counted MPI_Allgatherv 354 0 ""

# Non-blocking calls of few bytes are MPI's, but with RONDO_MPI=both.
for ranks in 1 2 3; do
  echo "== the same by non-blocking calls, and requests, $ranks ranks"
  withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/later_test" expect-layer \
    >"$log" 2>&1 || fail "later_test failed"
  grep ' checks on a rank' "$log"
  [[ $ranks = 1 ]] || grep -q '^rondo_mpi: MPI_Ialltoallv  *[1-9]' "$log" || fail "nothing taken"
  withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/requests_test" >"$log" 2>&1 ||
    fail "requests_test failed"
  grep ' checks on a rank' "$log"
done
grep -q '^rondo_mpi: MPI_Waitsome  *[1-9]' "$log" || fail "no row of MPI_Waitsome"
for which in long threads; do
  echo "== requests that come again: $which"
  layered 2 "$programs/requests_test" $which >"$log" 2>&1 || fail "requests_test $which failed"
  grep ' checks on a rank' "$log"
done
layered 2 RONDO_MPI_STATS=1 "$programs/requests_test" long >"$log" 2>&1 || fail "requests_test long"
grep -q '^rondo_mpi: MPI_Iallreduce  *[1-9]' "$log" || fail "no MPI_Iallreduce taken"
# Where the receiver copies by itself, the sender need not do anything.
OMPI_MCA_btl_vader_single_copy_mechanism=none layered 3 RONDO_MPI_MEASURE=0 "$programs/requests_test" progress >"$log" 2>&1 ||
  fail "requests_test progress"

# Three starts of each kind in three sizes, of which the least is MPI's, but with RONDO_MPI=both.
for ranks in 1 2 3; do
  echo "== persistent collectives, $ranks ranks"
  runMpi $ranks "$programs/persistent_test" >"$log" 2>&1 || fail "persistent_test without the layer"
  layered $ranks RONDO_MPI_STATS=1 "$programs/persistent_test" layered >"$log" 2>&1 || fail "persistent_test failed"
  grep ' checks on a rank' "$log"
  [[ $ranks = 1 ]] || counted MPI_Ialltoallv $((ranks * 6)) 0 ""
done
withDriver layered 2 RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/persistent_test" layered >"$log" 2>&1 ||
  fail "persistent_test with a driver"
counted MPI_Ialltoallv $((2 * 9)) 0 ""

echo "== in a group of the program's own"
for ranks in 2 3; do
  withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/own_group_test" >"$log" 2>&1 ||
    fail "own_group_test failed"
  counted MPI_Iallreduce $((ranks * 2)) 0 ""
done

echo "== Rondo's requests beside MPI's, by size"
layered 2 RONDO_MPI_STATS=1 "$programs/later_test" expect-layer >"$log" 2>&1 || fail "later_test, host"
for call in allreduce reduce_scatter bcast allgatherv scatter; do
  grep -q "^rondo_mpi: MPI_I$call  *[1-9].* few bytes [1-9]" "$log" || fail "MPI_I$call by size"
done
grep -q '^rondo_mpi: MPI_Ibarrier  *0 .* few bytes [1-9]' "$log" || fail "MPI_Ibarrier by size"

# Three such calls a round, and ranks agree on sizes in a barrier after 16 calls, after 32 if they were what
# they had been, and so on: in rounds 6, 12, 23, 45, 51 and 62 of 72. The first 24 and the last 24 are of few
# bytes: Rondo's are 1 to 6 and 46 to 62. Of the blocking calls, which agree at the 17th, 33rd, 65th and 81st,
# 48 are small, of which 16 are Rondo's, and 48 large: all but the first 16.
echo "== sizes that no rank knows alone"
layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/collectives_test" uneven >"$log" 2>&1 || fail "uneven"
for call in Igatherv Iscatterv Ialltoallv; do
  counted MPI_$call $((3 * 23)) $((3 * 49)) "few bytes $((3 * 49))"
done
for call in Gatherv Scatterv Alltoallv; do
  counted MPI_$call $((3 * 16)) $((3 * 16)) "few bytes $((3 * 16))"
done
withDriver layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/collectives_test" uneven >"$log" 2>&1 ||
  fail "uneven with a driver"
counted MPI_Igatherv $((3 * 23)) $((3 * 49)) "few bytes $((3 * 49))"
counted MPI_Gatherv $((3 * 16)) $((3 * 16)) "few bytes $((3 * 16))"

echo "== MPI_Finalize before the end of non-blocking calls"
withDriver layered 2 RONDO_MPI=both "$programs/finalize_test" begun >"$log" 2>&1 || fail "finalize_test begun"
if grep -q 'never waited for' "$log"; then fail "a call that ends was given up"; fi
withDriver layered 2 RONDO_MPI=both "$programs/finalize_test" lonely >"$log" 2>&1 || fail "finalize_test lonely"
grep -q 'MPI_Finalize: 1 non-blocking collectives, the first one MPI_Ibarrier, were never' "$log" ||
  fail "no sentence about a call that cannot end"

echo "== attributes of MPI_COMM_SELF that call MPI, and calls of static objects' ends"
for taken in host both off; do
  for when in self late; do
    withDriver layered 2 RONDO_MPI=$taken "$programs/finalize_test" $when >"$log" 2>&1 ||
      fail "finalize_test $when, $taken"
  done
done

echo "== calls before MPI_Init and after MPI_Finalize are MPI's to refuse"
for when in before after; do
  if layered 2 "$programs/finalize_test" $when >"$log" 2>&1; then fail "a call $when was accepted"; fi
  grep -qi "MPI_Allreduce.* $when MPI_" "$log" || fail "no sentence of MPI's about a call $when"
done

echo "== without the layer the test of whose functions run fails"
if runMpi 1 "$programs/collectives_test" expect-layer >"$log" 2>&1; then
  fail "a program without the layer found it"
fi
grep -q 'wrong: the layer is mapped' "$log" || fail "another failure than the layer's absence"

echo "== threads, and what is counted"
withDriver layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/thread_test" >"$log" 2>&1 || fail "thread_test"
counted MPI_Allreduce 540 0 ""
counted MPI_Bcast 540 0 ""
counted MPI_Iallreduce 1080 0 ""
counted MPI_Barrier 27 0 ""
layered 2 RONDO_MPI_STATS=1 "$programs/thread_test" alike >"$log" 2>&1 || fail "alike"
counted MPI_Allreduce 600 0 ""
counted MPI_Barrier 600 0 ""
layered 2 "$programs/thread_test" alike >"$log" 2>&1 || fail "alike, not counted"
layered 2 RONDO_MPI_STATS=1 "$programs/thread_test" serialized >"$log" 2>&1 || fail "serialized"
counted MPI_Allreduce 0 360 "thread level 360"
layered 1 RONDO_MPI_STATS=1 "$programs/thread_test" >"$log" 2>&1 || fail "one rank"
counted MPI_Bcast 0 180 "one rank 180"

echo "== communicators of a group, beside their parent's collectives"
layered 2 "$programs/create_group_test" >"$log" 2>&1 || fail "create_group_test"

echo "== RONDO_MPI"
for mode in off device; do
  layered 2 RONDO_MPI=$mode RONDO_MPI_STATS=1 "$programs/thread_test" >"$log" 2>&1 || fail "$mode"
  counted MPI_Allreduce 0 360 "RONDO_MPI 360"
done
grep -q 'RONDO_MPI=device: no device memory is looked for: ' "$log" || fail "no warning"
layered 2 RONDO_MPI_STATS=1 "$programs/thread_test" >"$log" 2>&1 || fail "host"
counted MPI_Allreduce 360 0 ""
counted MPI_Iallreduce 0 720 "few bytes 720"
for setting in RONDO_MPI=gpu RONDO_MPI_STATS=yes RONDO_MPI_MEASURE=no RONDO_MPI_LINGER=-1 RONDO_MPI_LINGER=1001 \
  RONDO_MPI_LINGER=5us; do
  if layered 2 $setting "$programs/thread_test" >"$log" 2>&1; then fail "$setting was accepted"; fi
  grep -q "environment variable ${setting%=*} is \"${setting#*=}\"; allowed: " "$log" ||
    fail "no sentence about $setting"
done
if runMpi 1 -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" -x RONDO_MPI=off "$programs/thread_test" : \
  -n 1 -x LD_LIBRARY_PATH -x LD_PRELOAD="$layer" "$programs/thread_test" >"$log" 2>&1; then
  fail "ranks with different RONDO_MPI were accepted"
fi
grep -q 'ranks have different RONDO_MPI' "$log" || fail "no sentence about different RONDO_MPI"

echo "== movements that come often are tried with MPI too"
for ranks in 2 3; do
  layered $ranks RONDO_MPI_STATS=1 "$programs/measured_test" 250 >"$log" 2>&1 || fail "measured_test"
  for call in Allgather Allgatherv Alltoall Bcast Gather Scatter Scan Exscan Ibcast Iallgather Ialltoall Iexscan; do
    grep -q "^rondo_mpi: MPI_$call .* MPI is quicker [1-9]" "$log" || fail "MPI_$call was not tried with MPI"
  done
  # Floats, whose bits depend on the order of more than two.
  awk -v ranks=$ranks '$2 == "MPI_Reduce" { tried = $5 > 0 } END { exit tried != (ranks == 2) }' "$log" ||
    fail "MPI_Reduce and MPI"
done
# Nothing is counted, and MPI is the quicker one: calls go to it before all else, but for the trials' and wrong
# ones, in step with ranks that have other types.
# shellcheck disable=SC2086
${TEST_CC:-cc} -D_GNU_SOURCE -shared -fPIC -I"$TEST_SRCDIR/src/api" -o "$scratch/slow.so" "$TEST_SRCDIR/tests/drop_in/slow_rondo.c" -ldl
layer=$layer:$scratch/slow.so MPI_TIMEOUT=100 layered 2 "$programs/measured_test" 900 >"$log" 2>&1 ||
  fail "measured_test, not counted"
# Whatever ends the requests of non-blocking ones, beside computing. Of two ranks' 3,000 calls trials alone give MPI 640
# at most, however disturbed; one that is seen gives it most of those that follow. A busy machine takes the processor
# from ranks for milliseconds: Rondo's calls are later than that.
for way in wait test waitall testall waitany testany waitsome testsome; do
  layer=$layer:$scratch/slow.so layered 2 RONDO_LATE_US=2000 RONDO_MPI_STATS=1 "$programs/measured_test" 3000 $way >"$log" 2>&1 ||
    fail "measured_test, $way"
  awk '$2 == "MPI_Ibcast" { mpis = $5 } END { exit mpis < 800 }' "$log" || fail "MPI is quicker at MPI_Ibcast, $way"
done
layered 2 RONDO_MPI_STATS=1 RONDO_MPI_MEASURE=0 "$programs/measured_test" 120 >"$log" 2>&1 ||
  fail "measured_test, off"
! grep -q 'MPI is quicker' "$log" || fail "RONDO_MPI_MEASURE=0 tries MPI"

echo "== Rondo makes no communicator: all goes to MPI, and the statistics say why"
layered 2 RONDO_TUNE=rubbish RONDO_MPI_STATS=1 "$programs/thread_test" >"$log" 2>&1 || fail "rubbish"
counted MPI_Allreduce 0 360 "no Rondo communicator 360"
grep -q 'no Rondo communicator: .*rubbish' "$log" || fail "no reason"
layered 2 RONDO_TUNE=rubbish "$programs/thread_test" >"$log" 2>&1 || fail "rubbish without statistics"
(($(grep -c '^rondo_mpi: rank 0: no Rondo communicator: .*rubbish' "$log") == 1)) ||
  fail "a wrong setting is not told once"

echo "== mistakes"
for ranks in 2 3; do
  withDriver layered $ranks RONDO_MPI=both "$programs/mistake_test" >"$log" 2>&1 || fail "mistake_test failed"
done
layer=$layer:$scratch/slow.so MPI_TIMEOUT=100 layered 2 RONDO_LATE_US=2000 "$programs/mistake_test" mpis >"$log" 2>&1 ||
  fail "mistake_test where MPI is quicker"

echo "== device buffers"
for ranks in 2 3; do
  withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/device_test" >"$log" 2>&1 || fail "device_test failed"
  # Three of each: all ranks' buffers on devices, then rank 0's alone.
  for call in Send Recv Sendrecv Issend; do
    counted MPI_$call $((3 * (ranks + 1))) 0 "by way of the host $((3 * (ranks + 1)))"
  done
done
# Where no collective is Rondo's, messages on devices are all the same: by Open MPI's word for MPI_THREAD_SERIALIZED.
withDriver layered 2 RONDO_MPI=both OMPI_MPI_THREAD_LEVEL=2 "$programs/device_test" >"$log" 2>&1 ||
  fail "device_test serialized"
for ranks in 1 2 3; do
  echo "== device buffers in calls that are MPI's, $ranks ranks"
  withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$programs/device_calls_test" >"$log" 2>&1 ||
    fail "device_calls_test failed"
  [[ $ranks = 1 ]] || grep -q '^rondo_mpi: MPI_Win_attach: base is device memory, .*; allowed: host memory' "$log" ||
    fail "no sentence about a window on a device"
  grep ' checks on a rank' "$log"
done
path=$programs/device_path_test
for ranks in 2 3 4; do
  echo "== between devices, $ranks ranks"
  withDevices layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$path" every >"$log" 2>&1 || fail "every"
  # Of 48 on a rank 6 have device memory on all ranks, some bytes, and are not in place; in 16 one rank has some.
  counted MPI_Alltoall $((ranks * 48)) 0 "on devices $((ranks * 6)), by way of the host $((ranks * 10 + 16))"
  # Of 144 on a rank a quarter has bytes on all devices; in 48 rank 0 alone has some, in 12 nobody has.
  for call in Scan Exscan; do
    counted MPI_$call $((ranks * 144)) 0 "on devices $((ranks * 36)), by way of the host $((ranks * 12 + 48))"
  done
  # By sends and receives, in six of their calls at least, and with counts that are alike as one count.
  for call in MPI_Allgatherv MPI_Gatherv MPI_Scatterv MPI_Alltoallv MPI_Reduce_scatter; do
    awk -v call=$call -v least=$((ranks * 6)) '$2 == call { sub(/.*on devices /, ""); found = $1 + 0 >= least }
      END { exit !found }' "$log" || fail "the way of $call"
  done
  withDevices layered $ranks RONDO_MPI=device RONDO_MPI_STATS=1 "$path" every >"$log" 2>&1 || fail "device"
  grep -q '^rondo_mpi: MPI_Bcast .* host memory [0-9]*, on devices [0-9]*, by way of' "$log" ||
    fail "the ways of MPI_Bcast"
done
for ranks in 2 3; do
  echo "== reduce-scatters between devices, $ranks ranks"
  withDevices layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$path" scattered >"$log" 2>&1 || fail "scattered"
  # On a rank 30 with memory on all devices, and two long ones; 30 with memory on rank 0's alone; 30 with none.
  counted MPI_Reduce_scatter $((ranks * 92)) 0 "on devices $((ranks * 32)), by way of the host 30"
  counted MPI_Ireduce_scatter $((ranks * 90)) 0 "on devices $((ranks * 30)), by way of the host 30"
  counted MPI_Reduce_scatter_block $((ranks * 18)) 0 "on devices $((ranks * 6)), by way of the host 6"
  counted MPI_Ireduce_scatter_block $((ranks * 18)) 0 "on devices $((ranks * 6)), by way of the host 6"
done
# 50 calls without device memory, then 50 with: the 13 before ranks look again go by way of the host.
withDevices layered 2 RONDO_MPI=both RONDO_MPI_STATS=1 "$path" quiet >"$log" 2>&1 || fail "quiet"
counted MPI_Allreduce 200 0 "on devices 74, by way of the host 26"
withDevices layered 2 RONDO_MPI=device RONDO_MPI_STATS=1 "$path" quiet >"$log" 2>&1 || fail "quiet, device"
counted MPI_Allreduce 100 100 "host memory 100, on devices 100"
for ranks in 2 3; do
  echo "== calls that come again, $ranks ranks"
  withDevices layered $ranks RONDO_MPI=both "$path" again >"$log" 2>&1 || fail "again"
done
for what in begin end instantiate; do
  withDevices layered 2 RONDO_MPI=both FAKE_GRAPHS=$what "$path" again >"$log" 2>&1 || fail "again, no $what"
done
for ranks in 2 3; do
  echo "== non-blocking calls between devices, $ranks ranks"
  withDevices layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$path" later >"$log" 2>&1 || fail "later"
  # Each of them 18 times on a rank: all ranks have device memory, rank 0 has, none has.
  for call in Ireduce Ireduce_scatter Ireduce_scatter_block Ibcast Iallgather Igatherv Iscatter Ialltoall; do
    counted MPI_$call $((ranks * 18)) 0 "on devices $((ranks * 6)), by way of the host 6"
  done
  withDevices layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$path" later-threads >"$log" 2>&1 ||
    fail "later-threads"
  # Threads have a communicator each: how many of their calls meet is the day's.
  grep -Eq "^rondo_mpi: MPI_Iallreduce +$((ranks * 153)) .*by way of the host [1-9]" "$log" ||
    fail "later-threads: calls are missing"
  withDevices layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 FAKE_FREE=waits "$path" later-free \
    >"$log" 2>&1 || fail "later-free"
  grep -q '^200 times memory was freed, communicators: 2' "$log" || fail "later-free did not free"
  # More than those before there is a way: calls on two communicators do not overlap on devices.
  ! grep -q "^rondo_mpi: MPI_Iallreduce .* by way of the host $((ranks * 2))\$" "$log" || fail "later-free overlapped"
  withDevices layered $ranks RONDO_MPI=both PRETEND_FAILS=call "$path" later-failing >"$log" 2>&1 ||
    fail "later-failing"
  grep -q '^rondo_mpi: MPI_Iallreduce: on device memory: .' "$log" || fail "no sentence about a launch"
  withDevices layered $ranks RONDO_MPI=both "$path" later-differing >"$log" 2>&1 || fail "later-differing"
  withDevices layered $ranks RONDO_MPI=both "$path" later-lonely >"$log" 2>&1 || fail "later-lonely"
  grep -q 'MPI_Finalize: 1 non-blocking collectives, the first one MPI_Iallreduce, were never' "$log" ||
    fail "no sentence about a call on devices that cannot end"
done
# Three such calls a half of a round, and a barrier: after 6 halves ranks agree that they are small. In 8 of 24
# rounds all ranks have device memory, which blocking calls move between the devices.
withDevices layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 "$path" uneven >"$log" 2>&1 || fail "uneven, devices"
for call in Gatherv Scatterv Alltoallv; do
  counted MPI_$call 30 42 "few bytes 42, on devices 24, by way of the host 1"
  counted MPI_I${call,} 9 63 "few bytes 63, by way of the host 4"
done
# The calls of OSU's programs.
for program in allreduce reduce_scatter bcast alltoallv igather alltoallw ialltoallw bw latency_persistent bw_persistent; do
  ln -s "$programs/osu_pattern" "$scratch/osu_$program"
  withDevices layered 2 RONDO_MPI=both "$scratch/osu_$program" -c -d cuda -i 2 -x 1 -u 1 -m 1:8192 D H >"$log" 2>&1 ||
    fail "osu_$program"
  grep -q '^8192 .* Pass$' "$log" || fail "osu_$program checked nothing"
done

echo "== the calls of OSU's programs on host memory"
for program in allreduce_persistent bcast_persistent alltoallv_persistent reduce_scatter_persistent alltoallw ialltoallw \
  igatherv ibarrier multi_lat mbw_mr; do
  ln -sf "$programs/osu_pattern" "$scratch/osu_$program"
  layered 4 RONDO_MPI_STATS=1 "$scratch/osu_$program" -c -i 2 -x 1 -u 1 -m 1024:16384 >"$log" 2>&1 || fail "osu_$program"
  grep -q '^16384 .* Pass$' "$log" || fail "osu_$program checked nothing"
  [[ $program != *_persistent ]] || grep -q '^rondo_mpi: MPI_I[a-z_]*  *[1-9]' "$log" || fail "osu_$program was MPI's"
done
passes() {  # ranks, program, sizes it is right at
  ln -sf "$programs/osu_pattern" "$scratch/osu_$2"
  layered "$1" "$scratch/osu_$2" -c -i 3 -x 1 -u 1 -m 1024:16384 >"$log" 2>&1 || fail "osu_$2"
  [[ $(grep -c ' Pass$' "$log") = "$3" ]] || fail "osu_$2 is not right at $3 sizes"
}
for call in allgather allgatherv alltoall alltoallv alltoallw; do
  passes 4 neighbor_$call 10  # on a grid and on a graph
  passes 4 ineighbor_$call 10
done
for call in allgather allgatherv alltoall alltoallv alltoallw; do
  for program in neighbor_$call ineighbor_$call; do
    ln -sf "$programs/osu_pattern" "$scratch/osu_$program"
    withDevices layered 4 RONDO_MPI=both "$scratch/osu_$program" -c -d cuda -i 2 -x 1 -u 1 -m 1024:16384 >"$log" 2>&1 ||
      fail "osu_$program on devices"
    [[ $(grep -c ' Pass$' "$log") = 10 ]] || fail "osu_$program on devices is not right at 10 sizes"
  done
done
passes 2 latency_mt 5
passes 2 latency_mp 10  # while children are there, and when they are gone

echo "== no way between devices"
for setting in PRETEND_FAILS=make FAKE_STREAMS=1 PRETEND_LACKS=rondoAllReduce; do
  withDevices layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 $setting "$path" alone >"$log" 2>&1 || fail "$setting"
  counted MPI_Allreduce 60 0 "by way of the host 60"
  [[ $setting = *LACKS* ]] || grep -q '^rondo_mpi: rank 1: device memory goes by way of the host: .' "$log" ||
    fail "no reason"
done
# Three ranks on two GPUs, whose kernels take turns but under MPS.
withDevices layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 FAKE_GPUS=2 "$path" alone >"$log" 2>&1 || fail "shared GPU"
counted MPI_Allreduce 60 0 "by way of the host 60"
[[ $(grep -c '^rondo_mpi: rank 0: device memory goes by way of the host: ranks 0 and 2 share a GPU' "$log") = 1 ]] ||
  fail "no word of a shared GPU, or not once"
withDevices layered 3 RONDO_MPI=both RONDO_MPI_STATS=1 FAKE_GPUS=2 FAKE_MPS=1 "$path" every >"$log" 2>&1 || fail "MPS"
counted MPI_Alltoall 144 0 "on devices 18, by way of the host 46"
withDriver layered 2 RONDO_MPI=both RONDO_MPI_STATS=1 "$path" alone >"$log" 2>&1 || fail "no kernels"
counted MPI_Allreduce 40 0 "by way of the host 40"
[[ $(grep -c '^rondo_mpi: rank 0: device memory goes by way of the host: .*config.device is 0' "$log") = 1 ]] ||
  fail "no reason of Rondo's, or not once"
for ranks in 2 3; do
  withDevices layered $ranks RONDO_MPI=both PRETEND_FAILS=call "$path" failing >"$log" 2>&1 || fail "failing"
  grep -q '^rondo_mpi: MPI_Allreduce: on device memory: .*rank 1 aborted' "$log" ||
    fail "no sentence about a call that failed"
done

withDevices layered 3 RONDO_MPI=both FAKE_GRAPHS=launch "$path" failing >"$log" 2>&1 || fail "failing graph"
grep -q 'cuGraphLaunch failed with CUresult' "$log" || fail "no sentence about a graph"
for ranks in 2 3; do
  withDevices layered $ranks RONDO_MPI=both "$path" differing >"$log" 2>&1 || fail "differing"
done

if withDriver layered 2 RONDO_MPI=host "$programs/device_test" >"$log" 2>&1; then
  fail "device memory was touched without harm: the fake is none"
fi

fortran=${TEST_MPIFORT:-mpifort}
if $fortran -o "$scratch/fortran_test" -J "$scratch" "$TEST_SRCDIR/tests/drop_in/fortran_test.f90" \
  >"$log" 2>&1; then
  for ranks in 1 2 3; do
    echo "== Fortran, $ranks ranks"
    withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$scratch/fortran_test" >"$log" 2>&1 ||
      fail "fortran_test failed"
  done
  # Both modules' calls came to the layer: the old one's on the grid, mpi_f08's broadcast.
  counted MPI_Scan 3 0 ""
  counted MPI_Iallreduce 15 0 ""
  counted MPI_Bcast 3 0 ""
  # On three graphs.
  counted MPI_Exscan 9 0 ""
  # Modules first.
  $fortran -o "$scratch/fortran_device_test" -J "$scratch" "$TEST_SRCDIR"/tests/drop_in/fortran_device{,_*}.f90 \
    -L"$scratch/fake" -l:libcuda.so.1 >"$log" 2>&1 || fail "$fortran does not compile fortran_device_test.f90"
  for ranks in 1 2 3; do
    echo "== Fortran's calls on device buffers, $ranks ranks"
    withDriver layered $ranks RONDO_MPI=both "$scratch/fortran_device_test" "$scratch/file" >"$log" 2>&1 ||
      fail "fortran_device_test failed"
  done
  if printf '#include <mpi.h>\n#include <mpi-ext.h>\nOMPI_HAVE_MPI_EXT_PCOLLREQ\n' |
    ${TEST_MPICC:-mpicc} -x c -E - 2>/dev/null | grep -qx 1; then
    $fortran -o "$scratch/fortran_persistent_test" -J "$scratch" "$TEST_SRCDIR/tests/drop_in/fortran_device.f90" \
      "$TEST_SRCDIR/tests/drop_in/fortran_persistent_test.f90" -L"$scratch/fake" -l:libcuda.so.1 >"$log" 2>&1 ||
      fail "$fortran does not compile fortran_persistent_test.f90"
    for ranks in 1 2 3; do
      echo "== Fortran's persistent collectives on device buffers, $ranks ranks"
      withDriver layered $ranks RONDO_MPI=both RONDO_MPI_STATS=1 "$scratch/fortran_persistent_test" >"$log" 2>&1 ||
        fail "fortran_persistent_test failed"
      # Six starts on a rank, where all ranks are in the communicator.
      [[ $ranks = 1 ]] || counted MPI_Ialltoallv $((ranks * 6)) 0 "by way of the host $((ranks * 6))"
    done
    $fortran -o "$scratch/fortran_ends_test" -J "$scratch" "$TEST_SRCDIR/tests/drop_in/fortran_ends_test.f90" \
      >"$log" 2>&1 || fail "$fortran does not compile fortran_ends_test.f90"
    for ranks in 2 3; do
      layered $ranks "$scratch/fortran_ends_test" >"$log" 2>&1 || fail "fortran_ends_test failed"
    done
  else
    echo "this MPI has no MPIX_Allreduce_init: Fortran's persistent collectives are not tested"
  fi
elif command -v "$("$fortran" --showme:command 2>/dev/null || echo "$fortran")" >/dev/null; then
  fail "$fortran does not compile fortran_test.f90"
else
  echo "no Fortran compiler behind $fortran: the Fortran entry points are not tested"
fi
