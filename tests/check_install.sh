#!/usr/bin/env bash
# `make install` gives a tree that a user's program is built against with pkg-config, and runs.
set -euo pipefail
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
. "$TEST_SRCDIR/tests/mpi_env.sh"
flock "$TEST_BUILDDIR/tests/install.lock" env -u MAKEFLAGS "$TEST_MAKE" -s -C "$TEST_BUILDDIR" install DESTDIR="$stage" >"$stage/log" 2>&1 ||
  { cat "$stage/log"; exit 1; }
prefix=$stage$TEST_PREFIX
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
[[ $(pkg-config --modversion rondo) == "$(cat "$TEST_SRCDIR/VERSION")" ]]
read -ra flags <<<"$(pkg-config --define-variable=prefix="$prefix" --cflags --libs rondo)"

cat >"$stage/user.c" <<'END'
#include <rondo.h>
int main(void) {
  int version = 0;
  return rondoGetVersion(&version) != rondoSuccess || version != RONDO_VERSION_CODE;
}
END
$TEST_CC -Wall -Werror -o "$stage/user" "$stage/user.c" "${flags[@]}"
"$stage/user"

# A program that knows of it only when it runs.
cat >"$stage/late.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** names) {
  for (int n = 1; n < count; ++n) {
    void* library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    int version = 0;
    int (*get)(int*) = NULL;
    if (library != NULL) *(void**)&get = dlsym(library, n == 1 ? "rondoGetVersion" : "ncclGetVersion");
    if (get == NULL || get(&version) != 0 || version == 0) {
      const char* error = dlerror();
      return fprintf(stderr, "%s: %s\n", names[n], error != NULL ? error : "no version"), 1;
    }
  }
  return 0;
}
END
$TEST_CC -Wall -Werror -o "$stage/late" "$stage/late.c" -ldl
late=("$prefix/lib/librondo.so.0")
[[ ! -e $prefix/lib/rondo/nccl/libnccl.so.2 ]] || late+=("$prefix/lib/rondo/nccl/libnccl.so.2")
env -u LD_PRELOAD "$stage/late" "${late[@]}"

# Headers are installed without the source tree's folders.
for header in rondo{,_collectives,_comm,_group,_mpi,_types,_virtual}.h; do
  echo "#include <$header>" | "$TEST_MPICC" -std=c11 -Wall -Werror "${flags[@]}" -fsyntax-only -x c -
done

# The C++ layer, in the oldest C++ that it promises, with MPI and without.
for before in rondo.h rondo_mpi.h; do
  printf '#include <%s>\n#include <rondo.hpp>\n' $before |
    "$TEST_MPICC" -std=c++17 -DOMPI_SKIP_MPICXX -Wall -Wextra -Werror "${flags[@]}" -fsyntax-only -x c++ -
done

for example in allreduce_mpi:2 transpose_mpi:3; do
  name=${example%:*}
  "$TEST_MPICC" -std=c11 -Wall -Wextra -Werror -o "$stage/$name" "$TEST_SRCDIR/examples/$name.c" \
    "${flags[@]}"
  runMpi "${example#*:}" "$stage/$name"
done

# A program that is linked to the layer, before MPI, instead of having it loaded first.
if [[ -e $prefix/lib/librondo_mpi.so ]]; then
  cat >"$stage/linked.c" <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int one = 1, sum = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != size;
}
END
  "$TEST_MPICC" -Wall -Werror -o "$stage/linked" "$stage/linked.c" -L"$prefix/lib" -Wl,--no-as-needed -lrondo_mpi
  export RONDO_MPI_STATS=1
  runMpi 2 -x RONDO_MPI_STATS "$stage/linked" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
  unset RONDO_MPI_STATS
  grep -qE 'MPI_Allreduce +20 ' "$stage/log" || { echo "the layer did not answer"; cat "$stage/log"; exit 1; }
fi

# In a tree that is moved the layers before MPI and NCCL find Rondo by where they are themselves.
for layer in librondo_mpi.so rondo/nccl/libnccl.so.2; do
  # shellcheck disable=SC2016  # the loader expands it
  [[ ! -e $prefix/lib/$layer ]] || readelf -d "$prefix/lib/$layer" | grep -F runpath | grep -qF '$ORIGIN' ||
    { echo "$layer does not look for librondo.so from where it is"; exit 1; }
done

bash "$TEST_SRCDIR/tests/readme_drop_in.sh" "$prefix"
