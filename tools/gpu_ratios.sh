#!/bin/bash
# All-reduces of ./dev gpu-bench as one table: Rondo's time and bus bandwidth, over NCCL's time, over that of NCCL on
# symmetric windows, and over a kernel without a library around it, of calls in graphs and of those launched one by one.
# Usage: tools/gpu_ratios.sh FOLDER RANKS
# FOLDER holds allreduce_RANKS.csv and allreduce_RANKS_graph.csv of rondo-bench --peer nccl, where there are any
# allreduce_RANKS_sym*.csv of --peer nccl-sym, and bare_RANKS, the lines "best MODE BYTES METHOD BLOCKS TIME us".
set -eu

fail() { echo "gpu_ratios: $*" >&2; exit 2; }
[[ $# == 2 ]] || fail "given ${#} arguments; allowed are a folder and a number of ranks"
[[ -d $1 ]] || fail "\"$1\" is no folder"
[[ $2 =~ ^[0-9]+$ ]] || fail "\"$2\" ranks; allowed is a number"
files=()
for name in allreduce_"$2"{,_graph}{.csv,_sym.csv}; do [[ -r $1/$name ]] && files+=("$1/$name"); done
[[ ${#files[@]} != 0 ]] || fail "no allreduce_$2.csv in \"$1\", which ./dev gpu-bench writes"
[[ ! -r $1/bare_$2 ]] || files+=("$1/bare_$2")

# shellcheck disable=SC2016
"${AWK:-awk}" '
FNR == 1 {
  mode = FILENAME ~ /_graph/ ? "graph" : "eager"
  against = FILENAME ~ /_sym\.csv$/ ? "sym" : "nccl"
  if (FILENAME !~ /\.csv$/) next_is_bare = 1
  for (column in at) delete at[column]
  if (!next_is_bare) { n = split($0, names, ","); for (i = 1; i <= n; ++i) at[names[i]] = i; next }
}
next_is_bare {
  if ($1 == "best" && (!(($2, $3) in bare) || $6 < bare[$2, $3])) bare[$2, $3] = $6
  next
}
{
  split($0, cell, ",")
  bytes = cell[at["bytes"]]
  if (!(bytes in seen)) { seen[bytes] = 1; sizes[++count] = bytes }
  if (cell[at["library"]] == "rondo") {
    time[against, mode, bytes] = cell[at["usec_p50"]]
    if (against == "nccl") { bandwidth[mode, bytes] = cell[at["busbw_GBps"]]; any[mode] = 1 }
  } else {
    ratio[against, mode, bytes] = time[against, mode, bytes] / cell[at["usec_p50"]]
  }
  wrong += cell[at["wrong"]]
}
function short(bytes,   k) {
  for (k = 0; bytes >= 1024 && bytes % 1024 == 0; ++k) bytes /= 1024
  return bytes (k ? substr(" Ki Mi Gi", 3 * k - 2, 3) : "")
}
function three(key) { return key in ratio ? sprintf("%.3f", ratio[key]) : "" }
END {
  line = "| bytes |"; rule = "| --- |"
  for (m = 1; m <= 2; ++m) {
    mode = m == 1 ? "graph" : "eager"
    line = line " " mode ", us | GB/s | NCCL | symmetric | bare, us | over it |"
    rule = rule " --- | --- | --- | --- | --- | --- |"
  }
  print line; print rule
  for (i = 2; i <= count; ++i)  # ascending
    for (j = i; j > 1 && sizes[j] + 0 < sizes[j - 1] + 0; --j) { t = sizes[j]; sizes[j] = sizes[j - 1]; sizes[j - 1] = t }
  for (i = 1; i <= count; ++i) {
    bytes = sizes[i]; line = "| " short(bytes) " |"
    for (m = 1; m <= 2; ++m) {
      mode = m == 1 ? "graph" : "eager"
      mine = time["nccl", mode, bytes]; base = bare[mode, bytes]; over = ""
      if (mine && base) over = bytes <= 65536 ? sprintf("%+.2f us", mine - base) : sprintf("%.3f", mine / base)
      line = line " " (mine ? sprintf("%.4g", mine) : "") " | " (mine ? sprintf("%.4g", bandwidth[mode, bytes]) : "") " | " \
        three("nccl" SUBSEP mode SUBSEP bytes) " | " three("sym" SUBSEP mode SUBSEP bytes) " | " (base ? sprintf("%.4g", base) : "") " | " over " |"
    }
    print line
  }
  print "wrong elements: " wrong + 0
  exit wrong != 0
}' "${files[@]}"
