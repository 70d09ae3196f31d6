#!/usr/bin/env bash
# Runs each program given twice, in two processes that have their memory at different addresses: the traces are the same.
set -euo pipefail
traces() { "$1" 200 | sed 's/, [0-9]* ms$//'; }
(($# != 0)) || { echo "no program is given" >&2; exit 1; }
for program in "$@"; do
  first=$(traces "$program")
  second=$(traces "$program")
  grep -q 'hash [0-9a-f]\{16\}' <<<"$first"
  diff <(echo "$first") <(echo "$second")
done
echo "$# programs: same traces in both processes"
