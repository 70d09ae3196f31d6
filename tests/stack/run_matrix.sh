#!/usr/bin/env bash
# Runs bounded_stack.cpp under every compiler, optimisation level and sanitizer that coracle promises a bounded
# stack for. --quick: the few configurations that differ most, with a tenth of the steps: one that left as little as two bytes on
# the stack would exceed its limit even then.
set -euo pipefail
cd "$(dirname "$0")/../.."

scope=${1:---full}
if (($# > 1)) || [[ $scope != --full && $scope != --quick ]]; then
  echo "usage: tests/stack/run_matrix.sh [--quick|--full]" >&2
  exit 2
fi

configurations() {
  local compiler level sanitizer
  if [[ $scope == --quick ]]; then
    printf '%s\n' "g++-12 -O0" "g++-12 -Og" "g++-12 -O1" "g++-12 -O2" "g++-12 -O1 -fsanitize=address" \
      "g++-12 -O1 -fsanitize=thread" "clang++-19 -O2" "clang++-22 -O0" "clang++-22 -O2"
    return
  fi
  for compiler in g++-12 clang++-19 clang++-22; do
    for level in -O0 -Og -O1 -O2 -O3; do
      for sanitizer in "" " -fsanitize=address" " -fsanitize=thread" " -fsanitize=undefined"; do
        echo "$compiler $level$sanitizer"
      done
    done
  done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What the program needs of the library, as one unit: what its files include is parsed once.
printf '#include "%s"\n' "$PWD"/src/{{core,sync,compose}/*,exec/run_loop}.cpp >"$work/library.cpp"

run_one() {
  local index=$1 configuration=$2 program=$work/$1 log=$work/$1.log reason="" command
  read -ra command <<<"$configuration"
  # As the CMake target does: at these levels g++ makes no tail calls by itself.
  [[ $configuration =~ ^g\+\+.*\ -O[1g] ]] && command+=(-foptimize-sibling-calls)
  # At -Og only for coroutines, whatever the flag: each level of nested children takes a little stack.
  [[ $configuration =~ ^g\+\+.*\ -Og ]] && command+=(-DSTACK_LEVELS=500)
  [[ $scope == --full ]] || command+=(-DSTACK_SCALE=10)
  command+=(-std=c++20 -Iinclude -pthread tests/stack/bounded_stack.cpp "$work/library.cpp" -o "$program")
  if ! command -v "${command[0]}" >"$log" 2>&1; then
    reason="compiler not installed"
  elif ! "${command[@]}" >"$log" 2>&1; then
    reason="does not compile"
  else
    timeout 120 "$program" >"$log" 2>&1 || reason="exit status $?"
  fi
  rm -f "$program"
  if [[ -z $reason ]]; then
    echo "pass  $configuration"
    return
  fi
  touch "$work/$index.failed"
  printf 'FAIL  %s: %s\n%s\n' "$configuration" "$reason" "$(tail -n 12 "$log" | sed 's/^/      /')"
}

count=0
while IFS= read -r configuration; do
  ((count < 2)) || wait -n || true
  count=$((count + 1))
  run_one "$count" "$configuration" &
done < <(configurations)
wait

failed=$(find "$work" -name '*.failed' | wc -l)
echo "$((count - failed)) passed, $failed failed"
((failed == 0))
