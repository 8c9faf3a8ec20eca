#!/bin/sh
# check_includes.sh [SRC] : enforces which folder of src/ may include which (docs/architecture.md).
# Prints every include that breaks an arrow; exit status 1 if there is one.
#
# An allowed line below is "folder : prefixes of what it may include", besides itself. What is below
# a folder that it may include is allowed too (api -> coll -> p2p). Every folder may include the
# leaves: api/rondo.h, api/rondo_types.h, api/types.h, base/ and config.h; coll/algo and the public
# headers may not. Public headers include each other.
set -eu
cd "${1:-$(dirname "$0")/../src}"
find . -type f \( -name '*.h' -o -name '*.hpp' -o -name '*.cuh' -o -name '*.cc' -o -name '*.cu' \) |
  sed 's,^\./,,' | sort | xargs "${AWK:-awk}" '
BEGIN {
  allowed["base"] = "base/"
  allowed["topo"] = "topo/"
  allowed["p2p"] = "p2p/"
  allowed["ucx"] = "ucx/ p2p/"
  allowed["coll/algo"] = "coll/algo/"
  allowed["coll"] = "coll/ p2p/ topo/ kernels/direct_call.h kernels/far.h kernels/fold.h kernels/joint_call.h kernels/launch.h kernels/scale.h kernels/standing_call.h"
  allowed["kernels"] = "kernels/ coll/algo/ p2p/channel_view.h"
  allowed["api"] = "api/ coll/ p2p/ topo/ kernels/launch.h ucx/ucx_transport.h"
  allowed["drop_in"] = "drop_in/ api/rondo.h api/rondo_mpi.h api/rondo_virtual.h"
  leaves = "api/rondo.h api/rondo_types.h api/types.h base/ config.h"
}

function startsWithOneOf(name, prefixes,    list, n, i) {
  n = split(prefixes, list, " ")
  for (i = 1; i <= n; i++) if (index(name, list[i]) == 1) return 1
  return 0
}

function isPublic(name) { return name ~ /^api\/rondo(_[a-z]+)?\.h(pp)?$/ }

function complain(why) {
  printf "%s:%d: includes \"%s\": %s\n", FILENAME, FNR, name, why
  bad = 1
}

FNR == 1 {
  folder = FILENAME
  if (folder ~ /^coll\/algo\//) folder = "coll/algo"
  else sub(/\/.*/, "", folder)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
  name = $0
  sub(/^[^<]*</, "", name)
  sub(/>.*/, "", name)
  # The same header is compiled by nvcc and g++, for a GPU and for a recorder.
  if (folder == "coll/algo" && name ~ /[.\/]/) complain("coll/algo includes only itself")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
  name = $0
  sub(/^[^"]*"/, "", name)
  sub(/".*/, "", name)
  if (isPublic(FILENAME)) {
    if (!isPublic("api/" name)) complain("a public header is a leaf")
  } else if (!(folder in allowed)) {
    complain("unknown folder; give it a line in check_includes.sh")
  } else if (folder == "coll/algo") {
    if (!startsWithOneOf(name, allowed[folder])) complain("coll/algo includes only itself")
  } else if (name !~ /\// && name != "config.h") {
    complain("write includes from src/, as in \"coll/plan.h\"")
  } else if (!startsWithOneOf(name, allowed[folder] " " leaves)) {
    complain(folder " may include: " allowed[folder] " " leaves)
  }
}

END { exit bad }
' || exit 1
