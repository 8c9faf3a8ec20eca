#!/usr/bin/env bash
# Each sentence in docs/when-things-go-wrong.md can be said and has a test; and the check sees what is
# wrong.
set -euo pipefail
export AWK=$TEST_AWK
check=$TEST_SRCDIR/tools/check_sentences.sh
sh "$check" "$TEST_SRCDIR"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{docs,src,tests}
cat >"$scratch/src/a.cc" <<'CC'
  throw Error(format("%s: the cat of rank %d is not "
                     "at home", call, rank));
CC
echo 'TEST(Cats, AreAway) { expect("the cat of rank 2 is"); }' >"$scratch/tests/a_test.cc"
echo 'TEST_F(Dogs, Bark) {}' >"$scratch/tests/b_test.cc"
failures=0
try() {  # what the check has to say ("": nothing but the number of rows), sentence, test
  {
    echo '| result | sentence | test |'
    echo '| --- | --- | --- |'
    for _ in $(seq 40); do echo "| x | $2 | $3 |"; done
  } >"$scratch/docs/when-things-go-wrong.md"
  local got=0
  sh "$check" "$scratch" >"$scratch/said" || got=$?
  if [[ -z $1 ]]; then [[ $got == 0 ]] && return; else
    [[ $got == 1 ]] && grep -qF -- "$1" "$scratch/said" && return
  fi
  echo "\"$2\", $3: exit status $got, and it said:"
  head -n 3 "$scratch/said"
  failures=1
}
try '' 'the cat of rank 2 is not at home' '`Cats.AreAway`'
try '' 'the cat of rank 2 is not at home *or so*' '`AreAway`'
try '' 'the cat of rank 2 is not at home' '`Dogs.Bark`, `tests/a_test.cc`'
try 'no source says "is at home"' 'the cat of rank 2 is at home' '`Cats.AreAway`'
try 'there is no test Cats.AreHere' 'the cat of rank 2 is not at home' '`Cats.AreHere`'
try 'there is no test tests/c_test.cc' 'the cat of rank 2 is not at home' '`tests/c_test.cc`'
try 'no test is named' 'the cat of rank 2 is not at home' ''
try '`Dogs.Bark` does not look for' 'the cat of rank 2 is not at home' '`Dogs.Bark`'
exit $failures
