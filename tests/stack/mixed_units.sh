#!/usr/bin/env bash
# A program may mix units with and without tail calls: coroutines of both, and inline ones that both instantiate,
# await one another a hundred thousand times on a stack of 256 KiB, whichever version the linker keeps. Those of two compilers
# exchange tasks, or do not link, and the linker's message names the compiler of the caller; the same holds for units with and
# without exceptions. All of them can exchange what the library's own functions return. Units of two language levels, of which
# one has std::expected, do not link where one gives the other an expected. Checked and unchecked units exchange coroutines of
# all kinds.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# -O0 makes no tail calls; with the flag -O1 does, as the build asks of it.
levels=(-O0 "-O1 -foptimize-sibling-calls" -O2)
# What the units need of the library, which is compiled once, with tail calls.
printf '#include "%s"\n' "$PWD"/src/{core,sync}/*.cpp >"$work/library.cpp"
g++-12 -O2 -std=c++20 -Iinclude -c "$work/library.cpp" -o "$work/library.o"
check() { # NAME OBJECT OBJECT, in the order of linking
  local name=$1 program=$work/${1// /_} status=0
  shift
  g++-12 -pthread "$@" "$work/library.o" -o "$program"
  timeout 300 "$program" >"$program.log" 2>&1 || status=$?
  if ((status == 0)); then
    touch "$program.passed"
    echo "pass  $name"
  else
    printf 'FAIL  %s: exit status %s\n%s\n' "$name" "$status" "$(tail -n 12 "$program.log" | sed 's/^/      /')"
  fi
}

for level in "${levels[@]}"; do
  for unit in first second; do
    read -ra flags <<<"$level"
    g++-12 "${flags[@]}" -std=c++20 -Iinclude -pthread -c "tests/stack/mixed/$unit.cpp" -o "$work/$unit$level.o" &
  done
  wait
done
count=0
for first in "${levels[@]}"; do
  for second in "${levels[@]}"; do
    [[ $first != "$second" ]] || continue
    count=$((count + 2))
    check "first.cpp $first, second.cpp $second" "$work/first$first.o" "$work/second$second.o" &
    check "second.cpp $second, first.cpp $first" "$work/second$second.o" "$work/first$first.o" &
    wait
  done
done

# A task returned by clang is in a register, by g++ in memory: the linker refuses a program where one awaits what the other has
# compiled. clang 19 and 22 agree.
for compiler in g++-12 clang++-19 clang++-22; do
  for unit in gives takes; do
    $compiler -O1 -foptimize-sibling-calls -std=c++20 -Iinclude -c "tests/stack/mixed/$unit.cpp" -o "$work/$unit-$compiler.o" &
    $compiler -O1 -foptimize-sibling-calls -fno-exceptions -std=c++20 -Iinclude -c "tests/stack/mixed/$unit.cpp" \
      -o "$work/$unit-$compiler without exceptions.o" &
  done
  wait
done
check_refused() { # GIVES TAKES TAGS, how the two are compiled, and what the message says of takes.cpp
  if g++-12 -pthread "$work/gives-$1.o" "$work/takes-$2.o" "$work/library.o" -o "$work/refused" 2>"$work/refused.log"; then
    echo "FAIL  takes.cpp by $2 was linked with gives.cpp by $1"
  elif grep -qF "undefined reference to \`give$3()'" "$work/refused.log"; then
    touch "$work/refused-$1-$2.passed"
    echo "pass  takes.cpp by $2 does not link with gives.cpp by $1"
  else
    cat "$work/refused.log"
  fi
}
count=$((count + 8))
check "takes.cpp clang++-22, gives.cpp clang++-19" "$work"/{takes-clang++-22,gives-clang++-19}.o
check "takes.cpp clang++-19, gives.cpp clang++-22" "$work"/{takes-clang++-19,gives-clang++-22}.o
check_refused g++-12 clang++-22 "[abi:compiled_by_clang]"
check_refused clang++-22 g++-12 "[abi:compiled_by_gcc]"
check_refused g++-12 "g++-12 without exceptions" "[abi:compiled_by_gcc][abi:without_exceptions]"
check_refused "g++-12 without exceptions" g++-12 "[abi:compiled_by_gcc]"
check_refused clang++-22 "clang++-22 without exceptions" "[abi:compiled_by_clang][abi:without_exceptions]"
check_refused "clang++-22 without exceptions" clang++-22 "[abi:compiled_by_clang]"

# The library's functions that return tasks, in a program of another compiler.
for compiler in g++-12 clang++-22; do
  for unit in library_bodies library_users; do
    $compiler -O1 -foptimize-sibling-calls -std=c++20 -Iinclude -c "tests/stack/mixed/$unit.cpp" -o "$work/$unit-$compiler.o" &
  done
done
wait
count=$((count + 2))
check "library by g++-12, program by clang++-22" "$work"/library_{bodies-g++-12,users-clang++-22}.o
check "library by clang++-22, program by g++-12" "$work"/library_{bodies-clang++-22,users-g++-12}.o

# The same with programs without exceptions: an error in the library ends the tasks that await it.
for compiler in g++-12 clang++-22; do
  $compiler -O1 -foptimize-sibling-calls -std=c++20 -fno-exceptions -fno-rtti -Iinclude \
    -c tests/stack/mixed/library_users_without_exceptions.cpp -o "$work/library_users_without_exceptions-$compiler.o" &
done
wait
for library in g++-12 clang++-22; do
  for program in g++-12 clang++-22; do
    count=$((count + 1))
    check "library by $library, program without exceptions by $program" \
      "$work/library_bodies-$library.o" "$work/library_users_without_exceptions-$program.o"
  done
done

# std::expected is there from -std=c++23 on.
for level in 20 23; do
  for unit in gives takes; do
    g++-12 -O2 -std=c++$level -Iinclude -c "tests/stack/mixed/${unit}_expected.cpp" -o "$work/$unit-expected-$level.o" &
  done
done
wait
check_levels_refused() { # GIVES TAKES MESSAGE
  if g++-12 -pthread "$work/gives-expected-$1.o" "$work/takes-expected-$2.o" "$work/library.o" -o "$work/refused" 2>"$work/refused.log"; then
    echo "FAIL  takes_expected.cpp by -std=c++$2 was linked with gives_expected.cpp by -std=c++$1"
  elif grep -qF "undefined reference to \`$3'" "$work/refused.log"; then
    touch "$work/refused-$1-$2.passed"
    echo "pass  takes_expected.cpp by -std=c++$2 does not link with gives_expected.cpp by -std=c++$1"
  else
    cat "$work/refused.log"
  fi
}
count=$((count + 4))
check "expected, -std=c++20" "$work"/{takes,gives}-expected-20.o
check "expected, -std=c++23" "$work"/{takes,gives}-expected-23.o
check_levels_refused 23 20 "give[abi:without_std_expected]()"
check_levels_refused 20 23 "give()"

# At -O0 each unit has every function of the promises and awaiters, of which the linker keeps the first.
for compiler in g++-12 clang++-22; do
  for unit in first second; do
    $compiler -O0 -std=c++20 -Iinclude -c "tests/stack/mixed/${unit}_kinds.cpp" -o "$work/$unit-checked-$compiler.o" &
    $compiler -O0 -DNDEBUG -std=c++20 -Iinclude -c "tests/stack/mixed/${unit}_kinds.cpp" -o "$work/$unit-unchecked-$compiler.o" &
    wait
  done
  for kinds in "checked unchecked" "unchecked checked"; do
    read -r first second <<<"$kinds"
    count=$((count + 2))
    check "first_kinds.cpp $first, second_kinds.cpp $second, $compiler" "$work"/{first-"$first",second-"$second"}-"$compiler.o"
    check "second_kinds.cpp $second, first_kinds.cpp $first, $compiler" "$work"/{second-"$second",first-"$first"}-"$compiler.o"
  done
done

passed=$(find "$work" -name '*.passed' | wc -l)
echo "$passed passed, $((count - passed)) failed"
((passed == count))
