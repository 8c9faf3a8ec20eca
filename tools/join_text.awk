# Several test sources as one (tools/joined_cxx): what each of them says is in a namespace of its own, so
# that helpers of the same name do not meet. Messages name the lines of the sources.

function put(   i, text, inner, last) {
  for (i = 1; i <= lines; i++) {
    if (line[i] ~ /^namespace rondo[a-z_:]* \{/) inner = 1
    if (line[i] ~ /^#include/) last = i
  }
  printf "#line 1 \"%s\"\n", file
  for (i = 1; i <= lines; i++) {
    text = line[i]
    if (inner && text ~ /^namespace rondo[a-z_:]* \{/) text = text " namespace " name " {"
    if (inner && text ~ /^}  \/\/ namespace rondo/) text = "}" text
    if (!inner && i == last + 1) text = "namespace " name " {" text
    print text
  }
  if (!inner) print "}"
  lines = 0
}

FNR == 1 {
  if (NR > 1) put()
  file = name = FILENAME
  sub(/.*\//, "", name)
  sub(/\.cc$/, "", name)
}
{ line[++lines] = $0 }
END { put() }
