#!/usr/bin/env bash
# readme_drop_in.sh PREFIX : the README's commands for programs that are not changed, as they stand there,
# on an installed tree: an MPI program by mpirun, the same as one rank of a machine that is not there, and a
# Python program whose extension has an RPATH to another libnccl, as PyTorch's has. check_install.sh runs it.
set -euo pipefail
prefix=$1
. "$TEST_SRCDIR/tests/mpi_env.sh"
unset LD_LIBRARY_PATH
[[ -f $prefix/lib/librondo_mpi.so ]] || { echo "no layers in this build"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complain() {
  echo "$1"
  cat "$scratch/said"
  exit 1
}
mkdir -p "$scratch/build" "$scratch/bin" "$scratch/elsewhere"
ln -s "$prefix" "$scratch/build/install"
touch "$scratch/said"

# The block of commands of a section that has the given word.
commands() {  # headline, word
  awk -v headline="## $1" -v word="$2" '
    /^## / { inside = $0 == headline }
    inside && /^```/ {
      if (open && found) printf "%s", block
      open = !open; block = ""; found = 0
      next
    }
    inside && open { block = block $0 "\n"; found = found || index($0, word) }' "$TEST_SRCDIR/README.md"
}
run() {  # headline, word
  commands "$@" >"$scratch/commands"
  grep -q LD_PRELOAD "$scratch/commands" || complain "the README has no command with $2 under \"$1\""
  (cd "$scratch" && PATH=$scratch/bin:$PATH timeout -k 10 600 bash -euo pipefail commands) >"$scratch/said" 2>&1 ||
    complain "exit status $?: $(cat "$scratch/commands")"
}

# It looks for the layer among its maps, and holds every call against MPI's own.
program() {  # command...
  printf '#!/bin/sh\nexec %s\n' "$*" >"$scratch/their_program"
  chmod +x "$scratch/their_program"
}
program "$TEST_BUILDDIR/tests/drop_in/collectives_test" expect-layer
run "Without changing a line" mpirun
grep -q ' checks on a rank' "$scratch/said" || complain "nothing was checked"

ln -s "$TEST_BUILDDIR/tests/drop_in/osu_pattern" "$scratch/osu_allreduce"
program ./osu_allreduce -i 3 -x 1 -m 1048576:1048576
run "A machine that is not there" RONDO_VIRTUAL
grep -q '^rondo_mpi: rehearsed [0-9]* calls as rank 0 of 512: [1-9]' "$scratch/said" || complain "no rehearsal"
grep -q '^[0-9]*,rondoAllReduce,1048576,' "$scratch/rondo-virtual.calls.csv" || complain "no all-reduce among the calls"

if ! command -v python3 >/dev/null; then
  echo "no python3: the README's python command is not tested"
  exit 0
fi
ln -s "$(command -v python3)" "$scratch/bin/python"
# Somebody else's libnccl.so.2, and what is linked against it and looks for it there first.
cat >"$scratch/other.c" <<'CODE'
typedef struct { char internal[128]; } Id;
int ncclGetVersion(int* version) { *version = 1; return 0; }
int ncclGetUniqueId(Id* id) { return id == 0; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }
int ncclCommInitRank(void** comm, int ranks, Id id, int rank) { *comm = &id; return ranks < rank; }
int ncclAllReduce(const void* in, void* out, unsigned long n, int type, int op, void* comm, void* stream) {
  return !in + !out + !n + type + op + !comm + !!stream;
}
int ncclCommDestroy(void* comm) { return !comm; }
CODE
cat >"$scratch/trainer.c" <<'CODE'
typedef struct { char internal[128]; } Id;
int ncclGetVersion(int*), ncclGetUniqueId(Id*), ncclGroupStart(void), ncclGroupEnd(void);
int ncclCommInitRank(void**, int, Id, int), ncclCommDestroy(void*);
int ncclAllReduce(const void*, void*, unsigned long, int, int, void*, void*);
int version(void) { int v = 0; ncclGetVersion(&v); return v; }
/* Two ranks of one thread: the sum of 30 and 12, 0 if a call fails. */
int sum(void) {
  enum { kInt32 = 2, kSum = 0 };
  Id id;
  void* comms[2];
  int in[2] = {30, 12}, out[2] = {0, 0}, failed = ncclGetUniqueId(&id);
  failed += ncclGroupStart();
  for (int r = 0; r < 2; ++r) failed += ncclCommInitRank(&comms[r], 2, id, r);
  failed += ncclGroupEnd();
  failed += ncclGroupStart();
  for (int r = 0; r < 2 && !failed; ++r) failed += ncclAllReduce(&in[r], &out[r], 1, kInt32, kSum, comms[r], 0);
  failed += ncclGroupEnd();
  for (int r = 0; r < 2 && !failed; ++r) failed += ncclCommDestroy(comms[r]);
  return failed || out[0] != out[1] ? 0 : out[0];
}
CODE
$TEST_CC -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$scratch/elsewhere/libnccl.so.2" "$scratch/other.c"
$TEST_CC -shared -fPIC -o "$scratch/libtrainer.so" "$scratch/trainer.c" "$scratch/elsewhere/libnccl.so.2" \
  -Wl,--disable-new-dtags,-rpath,"$scratch/elsewhere"
cat >"$scratch/train.py" <<'CODE'
import ctypes
trainer = ctypes.CDLL("./libtrainer.so")
with open("/proc/self/maps") as maps:
    for path in sorted({line.split()[-1] for line in maps if "libnccl" in line}):
        print("mapped:", path)
print("version:", trainer.version(), "sum:", trainer.sum())
CODE
run "Without changing a line" python
[[ $(grep '^mapped: ' "$scratch/said") == "mapped: $(realpath "$prefix")/lib/rondo/nccl/libnccl.so.2"* ]] ||
  complain "another library than $prefix's, or more than one"
grep -q '^version: 22809 sum: 42$' "$scratch/said" || complain "Rondo did not answer"
# Why it must be preloaded: an RPATH is looked at before LD_LIBRARY_PATH.
(cd "$scratch" && LD_LIBRARY_PATH=$prefix/lib/rondo/nccl python3 train.py) >"$scratch/said" 2>&1 ||
  complain "train.py failed on the other library"
grep -q "^mapped: $scratch/elsewhere/libnccl.so.2\$" "$scratch/said" || complain "the RPATH did not win"
echo "the README's commands for unchanged programs hold"
