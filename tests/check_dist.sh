#!/usr/bin/env bash
# `make dist` packs every file that git knows: a header that no sources.am lists is missing there
# and nowhere else.
set -euo pipefail
cd "$TEST_SRCDIR"
git rev-parse --show-toplevel >/dev/null 2>&1 && [[ -e .git ]] || { echo "no git checkout"; exit 77; }
packed=$(env -u MAKEFLAGS "$TEST_MAKE" -s -C "$TEST_BUILDDIR" dist-list |
  sed "s,^$TEST_SRCDIR/,,; s,^\.\./,," | sort -u)
missing=$(comm -23 <(git ls-files | sort) <(sort <<<"$packed") | grep -v '^\.gitignore$' || true)
[[ -z $missing ]] || { printf 'not packed by make dist:\n%s\n' "$missing"; exit 1; }
