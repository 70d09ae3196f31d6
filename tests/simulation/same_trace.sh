#!/usr/bin/env bash
# same_trace.sh SEEDS PROGRAM...: runs each program twice, in two processes whose memory is at different
# addresses. The traces must be the same.
set -euo pipefail
seeds=$1
shift
traces() { "$1" "$seeds" | sed 's/, [0-9]* ms$//'; }
(($# != 0)) || { echo "no program is given" >&2; exit 1; }
for program in "$@"; do
  first=$(traces "$program")
  second=$(traces "$program")
  grep -q 'hash [0-9a-f]\{16\}' <<<"$first"
  diff <(echo "$first") <(echo "$second")
done
echo "$# programs: same traces in both processes"
