#!/usr/bin/env bash
# rondo-tune writes a file, later jobs find it and say so, and what is wrong with one is told. rondo-explain's planner
# knows machines and files. No time is judged.
set -euo pipefail
. "$TEST_SRCDIR/tests/mpi_env.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export RONDO_TUNE_DIR=$scratch/dir
tune=$TEST_BUILDDIR/rondo-tune info=$TEST_BUILDDIR/rondo-info explain=$TEST_BUILDDIR/rondo-explain

fail() { echo "$*"; exit 1; }
expect() {  # text, pattern
  grep -qE -- "$2" <<<"$1" || { printf '%s\n' "$1"; fail "no \"$2\" above"; }
}
refused() {  # exit status, pattern, command...
  local wanted=$1 pattern=$2 status=0
  shift 2
  "$@" >"$scratch/said" 2>&1 || status=$?
  [[ $status == "$wanted" ]] || { cat "$scratch/said"; fail "exit status $status, expected $wanted: $*"; }
  expect "$(cat "$scratch/said")" "$pattern"
}

# A busy machine may have had several states by then, each with all fields.
firstState() { awk '/^state / && states++ { exit } !/^state /' "$1"; }

short=(--seconds 0.1 --max 64KB)
expect "$("$info")" '^costs +built-in \(no costs-[0-9a-f]{16}\.txt in '
out=$(runMpi 2 "$tune" "${short[@]}" --dry-run)
expect "$out" 'Not written \(--dry-run\): .*/dir/costs-'
[[ ! -e $RONDO_TUNE_DIR ]] || fail "--dry-run has written something"

out=$(runMpi 2 "$tune" "${short[@]}")
expect "$out" '^allreduce ring/2/32 KiB +64 KiB +[0-9.]+ +[0-9.]+ +[+-][0-9]+% +[+-][0-9]+%$'
expect "$out" '^hop +[0-9.]+ +90\.000 +this run'
expect "$out" '^hosts_hop +2000\.000 +2000\.000 +built-in'
file=$(echo "$RONDO_TUNE_DIR"/costs-*.txt)
expect "$out" "^Written: $file\$"
expect "$(cat "$file")" '^hop [0-9]+ measured$'
expect "$(cat "$file")" '^hosts_hop 2000000 default$'
expect "$("$info")" "^costs +$file, measured 20.* ago\)"

# A job finds it, unless rank 0 has none.
job=("$TEST_BUILDDIR/tests/mpi/allreduce_test")
said=$(RONDO_EXPLAIN=1 runMpi 2 "${job[@]}" 2>&1) || fail "$said"
expect "$said" "^rondo: costs: $file, measured 20"
[[ $(grep -c '^rondo: costs: ' <<<"$said") -ge 1 ]] || fail "nobody says which costs there are"

# It is looked whether the file still holds.
out=$(runMpi 2 "$tune" --check --max 64K)
expect "$out" "^costs: $file, measured 20"
expect "$out" '^Without sign: median [0-9]+ %, worst [0-9]+ %\.$'

# Of a file with states one is picked, by all ranks alike, unless ranks wait for a core.
cp "$file" "$scratch/before"
{ firstState "$scratch/before" | sed 's/^hop .*/state 100\n&/'; echo "state 900000000"; } >"$file"
said=$(RONDO_EXPLAIN=1 runMpi 2 "${job[@]}" 2>&1) || fail "$said"
expect "$said" "^rondo: costs: $file, measured 20"
expect "$(RONDO_EXPLAIN=1 runMpi 3 "${job[@]}" 2>&1)" "^rondo: costs: $file, measured 20"
mv "$scratch/before" "$file"

# What a run cannot see is kept from the run before; --fresh forgets it.
sed -i 's/^hosts_hop .*/hosts_hop 7654321 measured/' "$file"
expect "$(runMpi 2 "$tune" "${short[@]}")" '^hosts_hop +7654\.321 +2000\.000 +an earlier'
expect "$(cat "$file")" '^hosts_hop 7654321 measured$'
runMpi 2 "$tune" "${short[@]}" --fresh --memory rondo --output "$scratch/other" >"$scratch/said"
expect "$(cat "$scratch/other")" '^hosts_hop 2000000 default$'

# Over hosts it is the network that is measured; what the file says of a host stays, in each of its states.
cat >"$scratch/asHost" <<'AS'
#!/usr/bin/env bash
export RONDO_HOSTID=host$((OMPI_COMM_WORLD_RANK % 2))
exec "$@"
AS
chmod +x "$scratch/asHost"
{ firstState "$file" | sed 's/^hop .*/state 100\nhop 4321 measured/'; echo "state 900000000"; } >"$scratch/states"
mv "$scratch/states" "$file"
for ranks in 2 4; do
  out=$(runMpi $ranks "$scratch/asHost" "$tune" "${short[@]}")
  expect "$out" "^rondo-tune: [0-9]+ kinds of calls on $ranks ranks of 2 hosts, for the network's costs"
  expect "$out" '^hosts_hop +[0-9.]+ +2000\.000 +this run'
  expect "$out" '^hop +4\.321 +90\.000 +an earlier'
  expect "$out" '^Predictions of the calls above, before: +median'
  [[ $(grep -c '^hosts_hop [0-9]* measured$' "$file") == 2 ]] || fail "not in both states: $(cat "$file")"
  expect "$(cat "$file")" '^hop 4321 measured$'
done
out=$(runMpi 4 "$scratch/asHost" "$tune" --check --max 64K)
expect "$out" '^Without sign: median [0-9]+ %, worst [0-9]+ %\.$'
runMpi 2 "$tune" "${short[@]}" --fresh >"$scratch/said"

# Costs of device memory stay where host memory is measured.
echo 'device_lane 4321 measured' >>"$file"
runMpi 2 "$tune" "${short[@]}" --fresh >"$scratch/said"
expect "$(cat "$file")" '^device_lane 4321 measured$'
expect "$(cat "$file")" '^hosts_hop 2000000 default$'

# One that is no good is told once, with its line, and is no reason to fail.
sed -i 's/^hop .*/hop fast measured/' "$file"
line=$(grep -n '^hop ' "$file" | cut -d: -f1)
expect "$("$info")" "^costs +built-in \($file is no good\)"
said=$(runMpi 2 "${job[@]}" 2>&1) || fail "$said"
expect "$said" "^rondo: warning: $file:$line: hop is \"fast\"; allowed: a whole number .*; the built-in costs are used"

refused 2 'there is 1 rank; allowed: 2 or more' runMpi 1 "$tune"
refused 2 '--max is "1"; allowed: 64K to 16G' runMpi 2 "$tune" --max 1
refused 2 '^rondo-tune: --seconds: ' runMpi 2 "$tune" --seconds 1e9
for what in --dry-run --check; do
  CUDA_VISIBLE_DEVICES='' refused 2 '--memory is device, but the ranks have no GPUs' \
    runMpi 2 "$tune" --memory device $what
  CUDA_VISIBLE_DEVICES='' refused 2 '--memory is device, but rank [0-9] has no device: .*; allowed here: host and rondo' \
    runMpi 4 "$scratch/asHost" "$tune" --memory device $what
done
# What cannot be written is found out before anything is measured; folders are not made.
for place in /dev/null/x "$scratch/none/x" "$scratch"; do
  refused 1 "^rondo-tune: --output is \"$place\", which cannot be written (.*); allowed: a file in a folder that exists" \
    runMpi 2 "$tune" --output "$place"
  ! grep -q "kinds of calls" "$scratch/said" || fail "measured for $place: $(cat "$scratch/said")"
done
[[ ! -e $scratch/none ]] || fail "a folder was made"

if [[ -x $explain ]]; then
  mv "$scratch/other" "$file"
  expect "$("$explain" allreduce 64K --ranks 2)" "^rondo: costs: $file"
  expect "$("$explain" allreduce 64K --ranks 2 --costs "$file")" 'runs [a-z]+ '
  expect "$(RONDO_TUNE=allreduce:host:0-1M:tree "$explain" allreduce 64K --ranks 4)" 'runs tree '
  refused 2 'RONDO_TUNE rule "allreduce:host:0-1M:fast"' env RONDO_TUNE=allreduce:host:0-1M:fast "$explain" allreduce 64K --ranks 4
  said=$("$explain" allreduce 64K --ranks 2 --memory device --type bfloat16)
  expect "$said" 'runs oneshot LL128, [0-9]+ lanes of [0-9]+ threads, predicted [0-9.]+ us$'
  echo "device_flag_ll128 900000000 measured" >>"$file"
  said=$("$explain" allreduce 64K --ranks 2 --memory device)
  expect "$said" "^rondo: costs: $file"
  expect "$said" 'runs oneshot LL, [0-9]+ lanes '
  expect "$("$explain" scan 64K --memory device --ranks 12)" 'runs chain Simple, '
  refused 2 'alltoall of device memory has no kernel for 12 ranks; allowed: allreduce, ' \
    "$explain" alltoall 64K --memory device --ranks 12
  refused 2 '--memory' "$explain" allreduce 64K --memory mapped
  refused 2 "README.md:[0-9]+: is .*; allowed: \"rondo-costs 1\"" \
    "$explain" allreduce 64K --costs "$TEST_SRCDIR/README.md"
  refused 2 '--costs: /nonexistent: No such file' "$explain" allreduce ring --costs /nonexistent
  if "$explain" allreduce 1M --ranks 8 --topology "2 cpu cores=4" >"$scratch/said" 2>&1; then
    expect "$(cat "$scratch/said")" '^rondo: costs: built-in$'
    expect "$(cat "$scratch/said")" '^rondo: groups: 0,0,0,0,1,1,1,1$'
    hosts="4 x (1 cpu cores=2, 1 nic=50)"
    expect "$("$explain" allreduce 1M --ranks 8 --topology "$hosts")" '^rondo: groups: 0,0,1,1,2,2,3,3$'
    expect "$("$explain" allreduce 1M --ranks 8 --topology "$hosts")" \
      '^rondo: links: hosts 50 GB/s and 1.5us apart, 50 GB/s into each, by RDMA$'
    gpus=(--memory device --topology "2 cpu, 4 gpu nvlink=450 nvswitch")
    expect "$("$explain" alltoall 1M --ranks 4 "${gpus[@]}")" 'runs direct LL128, '
    refused 2 '--ranks is 5; allowed on this machine.s device memory: 1 to 4' "$explain" alltoall 1M -n 5 "${gpus[@]}"
    refused 2 '--ranks is 9; allowed on this machine: 1 to 8' "$explain" allreduce 1M -n 9 --topology "$hosts"
  else
    expect "$(cat "$scratch/said")" 'without libxml2'
  fi
fi
