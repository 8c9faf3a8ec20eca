#!/bin/sh
# check_headers.sh SRC : every header below SRC compiles alone, and the public ones as C11 and C++17
# without a warning. Environment: CC, CXX, CPPFLAGS.
#
# A source file that includes its own header first has shown that already, and is not asked again.
set -u
cd "$1" || exit 2
flags="-I. ${CPPFLAGS-} -Wall -Wextra -fsyntax-only"
bad=0

compile() {  # header, compiler and flags...
  header=$1
  shift
  said=$(echo "#include \"$header\"" | "$@" - 2>&1) && [ -z "$said" ] && return
  printf '%s does not compile alone with: %s\n%s\n' "$header" "$*" "$said"
  bad=1
}

isShown() {  # header
  source=${1%.h}.cc
  [ -f "$source" ] && [ "$(grep -m1 '^#include' "$source")" = "#include \"$1\"" ]
}

check() {  # header
  case $1 in
    api/rondo.h | api/rondo_*.h)
      compile "$1" $CC -std=c11 -pedantic -Werror $flags -x c
      compile "$1" $CXX -std=c++17 -pedantic -Werror $flags -x c++
      ;;
    api/rondo.hpp) compile "$1" $CXX -std=c++17 -pedantic -Werror $flags -x c++ ;;
    # Device code: only nvcc understands it, and only launch.h is included by others.
    kernels/launch.h) compile "$1" $CXX -std=c++20 -Werror $flags -x c++ ;;
    kernels/*) ;;
    # Needs libxml2's headers, which a build may do without.
    topo/xml_library.h)
      xml2=$(pkg-config --cflags libxml-2.0 2>/dev/null) &&
        compile "$1" $CXX -std=c++20 -Werror $flags $xml2 -x c++
      ;;
    # Needs the CUDA toolkit, which a build may do without.
    p2p/cuda_driver.h)
      echo '#include <cuda.h>' | $CXX $flags -x c++ - 2>/dev/null &&
        compile "$1" $CXX -std=c++20 -Werror $flags -x c++
      ;;
    *) isShown "$1" || compile "$1" $CXX -std=c++20 -Werror $flags -x c++ ;;
  esac
}

if [ $# -gt 1 ]; then
  for header in $2; do check "$header"; done
  exit $bad
fi
case $0 in /*) self=$0 ;; *) self=$OLDPWD/$0 ;; esac
find . -name '*.h' -o -name '*.hpp' | sed 's,^\./,,' | sort |
  xargs -P "$(nproc)" -n 1 sh "$self" .
