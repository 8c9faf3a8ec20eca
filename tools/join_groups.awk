# Which sources are compiled together (tools/joined_cxx): neighbours of one list of a sources.am, in one
# folder. A line a group, the source that stands for it first.
#   awk -v most=12 [-v only=REGEX] -f join_groups.awk */sources.am ...
# Alone stay sources of two lists, those that are lent to the sanitizers' builds as they are, those with
# a name of their own that a header has too, and whose helpers have a name that the group has already. To be
# run in the top folder.
BEGIN {
  apart = "^src/(coll/reduce/.*|coll/planner|drop_in/nccl/config|p2p/fd_exchange|topo/draw_text)\\.cc$"
  # Programs of a source or two, which are read here for what they share with others.
  apart = apart "|^benchmarks/([a-z_]+|bare/.*|micro/.*)\\.cc$"
}

# Names that a source declares for itself, in a namespace without a name; "" for what can't be joined.
function ownNames(path,   line, kind, hidden, outside, names, found) {
  names = " "
  while ((found = getline line < path) > 0) {
    sub(/^\[\[[a-z_:]*\]\] /, "", line)
    if (line ~ /^namespace rondo[a-z_:]* \{/) kind = "rondo"
    if (line ~ /^(using|[a-z]+.*[({;]$)/ && line !~ /^namespace/ && kind == "") outside = 1
    if (line ~ /^namespace \{/) hidden = 1
    else if (line ~ /^}  \/\/ namespace$/) hidden = 0
    else if (hidden && line ~ /^[A-Za-z]/) names = names namesOf(line) " "
    if (line ~ /^(void\*? )?operator (new|delete)|^void\* operator new/) outside = kind = "both"
  }
  close(path)
  return kind != "" && outside ? "" : names
}

function namesOf(line,   names) {
  while (line ~ /^constexpr/ && match(line, /k[A-Z][A-Za-z0-9]* =/)) {
    names = names " " substr(line, RSTART, RLENGTH - 2)
    line = "constexpr" substr(line, RSTART + RLENGTH)
  }
  if (names != "") return names
  sub(/^(enum class|using|struct|class|enum|union) /, "", line)
  if (match(line, /[A-Za-z_][A-Za-z0-9_]*\(/)) return substr(line, RSTART, RLENGTH - 1)
  sub(/ *(=|;|\{|\[).*/, "", line)
  sub(/.*[^A-Za-z0-9_]/, "", line)
  return line
}

function shared(names, others,   word, i, count) {
  count = split(names, word, " ")
  for (i = 1; i <= count; i++)
    if (index(others, " " word[i] " ")) return 1
  return 0
}

function close_group() {
  if (members > 1) print group
  group = ""
  members = 0
}

/=[ \t]*\\?$/ || /^[^\t ]/ { list++ }
{
  for (i = 1; i <= NF; i++)
    if ($i ~ /^[a-z].*\.cc$/) {
      path[++sources] = $i
      listOf[sources] = list
      uses[$i]++
    }
}
END {
  for (s = 1; s <= sources; s++) {
    folder = path[s]
    sub(/\/[^\/]*$/, "", folder)
    if (uses[path[s]] > 1 || path[s] ~ apart || (only != "" && path[s] !~ only)) continue
    own = ownNames(path[s])
    if (own == "") continue
    isTest = folder ~ /^tests/
    if (members == most || listOf[s] != groupList || folder != groupFolder ||
        (!isTest && shared(own, taken))) {
      close_group()
      taken = " "
    }
    group = group (members ? " " : "") path[s]
    members++
    taken = taken own
    groupList = listOf[s]
    groupFolder = folder
  }
  close_group()
}
