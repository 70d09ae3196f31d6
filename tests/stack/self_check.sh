#!/usr/bin/env bash
# g++ -O1 without -foptimize-sibling-calls would use up the stack. A program built so must say so at start and
# stop; built in any other way it must run.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/program.cpp" <<'END'
#include <coracle/core/task.hpp>
int main() {}
END

passed=0
failed=0
check() {
  local want=$1 status=0 good=0
  shift
  g++-12 -std=c++20 -Iinclude -pthread "$@" "$work/program.cpp" -o "$work/program"
  "$work/program" >"$work/out" 2>"$work/err" || status=$?
  case $want in
    runs) [[ $status == 0 && ! -s $work/err ]] && good=1 ;;
    stops)
      [[ $status != 0 && $(wc -l <"$work/err") == 1 ]] &&
        grep -q -e -foptimize-sibling-calls "$work/err" && good=1
      ;;
  esac
  if ((good)); then
    passed=$((passed + 1))
    echo "pass  g++-12 $*: $want"
  else
    failed=$((failed + 1))
    echo "FAIL  g++-12 $*: should be: $want; exit status $status, stderr:"
    cat "$work/err"
  fi
}

check stops -O1
check stops -Og
check runs -O1 -foptimize-sibling-calls
check runs -Og -foptimize-sibling-calls
check runs -O0
check runs -O2
check runs -O3
echo "$passed passed, $failed failed"
((failed == 0))
