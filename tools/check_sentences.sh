#!/bin/sh
# check_sentences.sh TREE: every row of a table with sentences in docs/when-things-go-wrong.md is one
# that the library can say and that a test produces. For each row:
#  - its fixed words stand in a source file. Not fixed are numbers, "..." in quotes, dots, and what
#    is set in *italics*; pieces of less than two words are not looked for;
#  - its last column names tests: `Suite.Name`, `Suite`, `Name`, or files under tests/ (with words
#    after it: which part of the file). All of them are there;
#  - some of the sentence's fixed words stand in a file of one of these tests.
# "the same" means the row above. Exit status 1, and a line for each that is wrong.
set -eu
cd "$1"
awk=${AWK:-awk}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
find src -name '*.cc' -o -name '*.h' -o -name '*.cu' | sort | xargs cat >"$scratch/sources"
find tests \( -name '*.cc' -o -name '*.h' -o -name '*.sh' \) | sort >"$scratch/tests"

# shellcheck disable=SC2016
exec "$awk" -v sources="$scratch/sources" -v tests="$scratch/tests" '
# A file as one line, with adjacent string literals joined as the compiler does.
function textOf(file,   text, before) {
  before = RS
  RS = "\2"  # which is in none: all of it
  text = ""
  getline text < file
  close(file)
  RS = before
  gsub(/\n/, " ", text)
  gsub(/\\"/, "\1", text)
  gsub(/" *"/, "", text)
  gsub(/\1/, "\"", text)
  gsub(/[ \t]+/, " ", text)
  return text
}
function testText(file) {
  if (!(file in known)) known[file] = textOf(file)
  return known[file]
}
function bad(what) {
  printf "docs/when-things-go-wrong.md:%d: %s\n", NR, what
  failed = 1
}
function trim(text) { gsub(/^ +| +$/, "", text); return text }

# The pieces of a sentence into pieces[]; their number.
function cut(sentence,   n, i, raw, kept, piece) {
  gsub(/"[^"]*"|\.\.\.|0x|[0-9]+/, "\n", sentence)
  gsub("[][();:,/`]", "\n", sentence)
  n = split(sentence, raw, "\n")
  kept = 0
  for (i = 1; i <= n; ++i) {
    piece = trim(raw[i])
    if (length(piece) >= 8 && piece ~ / /) pieces[++kept] = piece
  }
  return kept
}
# The file that has test NAME; empty: none.
function fileOf(name,   dot, pattern, either, text, f) {
  if (name ~ /^tests\//) {
    if (index(allTests, "\n" name "\n")) return name
    return ""
  }
  dot = index(name, ".")
  if (dot) pattern = "(" substr(name, 1, dot - 1) ", " substr(name, dot + 1) ")"
  either = "TEST(_F|_P)?[(](" name ",|[A-Za-z]+, " name "[)])"
  for (f = 1; f <= testCount; ++f) {
    text = testText(files[f])
    if (dot && index(text, pattern)) return files[f]
    if (!dot && text ~ either) return files[f]
  }
  return ""
}
# Whether a run of two words or more, with ten letters or more, of a piece is in the text.
function shares(text, count,   p, n, words, i, run) {
  for (p = 1; p <= count; ++p) {
    n = split(pieces[p], words, " ")
    for (i = 1; i < n; ++i) {
      run = words[i] " " words[i + 1]
      if (length(run) < 10 && i + 2 <= n) run = run " " words[i + 2]
      if (length(run) >= 10 && index(text, run)) return 1
    }
  }
  return 0
}
function checkRow(sentence, named,   count, p, n, i, parts, file, shown, fixed) {
  fixed = sentence
  gsub(/\*[^*]*\*/, "\n", fixed)
  count = cut(fixed)
  for (p = 1; p <= count; ++p) {
    if (!index(sourceText, pieces[p])) bad("no source says \"" pieces[p] "\"")
  }
  n = split(named, parts, "`")
  if (n < 3) return bad("no test is named for: " sentence)
  gsub(/\*/, "", sentence)
  count = cut(sentence)
  shown = count == 0
  for (i = 2; i <= n; i += 2) {
    file = fileOf(parts[i])
    if (file == "") bad("there is no test " parts[i])
    else if (!shown) shown = shares(testText(file), count)
  }
  if (!shown) bad(named " does not look for: " sentence)
}
BEGIN {
  sourceText = textOf(sources)
  while ((getline file < tests) > 0) files[++testCount] = file
  allTests = "\n"
  for (f = 1; f <= testCount; ++f) allTests = allTests files[f] "\n"
}
!/^\|/ { head = 0; next }
{
  line = $0
  gsub(/\\\|/, "\1", line)
  n = split(substr(line, 2), cells, "|")
  if (cells[n] ~ /^ *$/) --n
  for (i = 1; i <= n; ++i) { cells[i] = trim(cells[i]); gsub(/\1/, "|", cells[i]) }
}
!head {
  head = n
  column = 0
  for (i = 1; i <= n; ++i) if (cells[i] ~ /^sentence/) column = i
  if (column && cells[n] != "test") bad("a table with sentences whose last column is not \"test\"")
  next
}
cells[1] ~ /^-+$/ || !column { next }
{
  ++rows
  if (cells[head] != "the same") named = cells[head]
  checkRow(cells[column], named)
}
END {
  if (rows < 40) { print "only " rows + 0 " rows with sentences were found"; failed = 1 }
  else printf "%d rows\n", rows
  exit failed
}' docs/when-things-go-wrong.md
