#!/usr/bin/env bash
# With CORACLE_ENABLE_HEAP_FRAMES=0 what takes its memory from the caller compiles and links; what would take it from the heap
# does not compile, or, where clang drops the attribute of a member of a template's base, does not link.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/head.hpp" <<'END'
#include <coracle/coracle.hpp>
#include <memory_resource>
using memory = std::pmr::memory_resource;
constexpr auto from = std::allocator_arg;
coracle::task<int> one(std::allocator_arg_t, memory*);
END
right='coracle::task<int> one(std::allocator_arg_t, memory*) { co_return 1; }
coracle::task<int> both(std::allocator_arg_t, memory* here, coracle::async_mutex& mutex) {
  co_await mutex.lock_async();
  co_await coracle::when_any(one(from, here), mutex.lock_async());
  auto [a, b] = co_await coracle::when_all(one(from, here), one(from, here));
  mutex.unlock();
  co_return a + b;
}
coracle::generator<int> numbers(std::allocator_arg_t, memory*) { co_yield 1; }
int use(memory* here) {
  coracle::async_mutex mutex;
  for (const int number : numbers(from, here)) return number;
  return coracle::sync_wait(both(from, here, mutex));
}'
wrong=(
  'coracle::task<> wrong() { co_return; }'
  'coracle::generator<int> wrong() { co_yield 1; }'
  'coracle::shared_task<int> wrong() { co_return 1; }'
  'void wrong(coracle::async_scope& scope, memory* here) { scope.spawn(one(from, here)); }'
  'auto wrong(memory* here) { return coracle::stop_after(one(from, here), std::chrono::seconds{1}); }'
)
for compiler in g++-12 clang++-22; do
  [[ $compiler == g++* ]] && precompiled=gch || precompiled=pch
  for level in -O0 -O2; do
    flags=(-std=c++20 "$level" -Iinclude -DCORACLE_ENABLE_HEAP_FRAMES=0)
    "$compiler" "${flags[@]}" -x c++-header "$folder/head.hpp" -o "$folder/head.hpp.$precompiled"
    compile=("$compiler" "${flags[@]}" -include "$folder/head.hpp" -x c++ -c -o "$folder/unit.o" -)
    "${compile[@]}" <<<"$right"
    if nm -C "$folder/unit.o" | grep 'recycled_frames::operator new'; then
      echo "FAIL  $compiler $level: what comes from a memory resource refers to the heap"
      exit 1
    fi
    for text in "${wrong[@]}"; do
      rm -f "$folder/unit.o"
      if "${compile[@]}" 2>"$folder/says" <<<"$text" && ! nm -C "$folder/unit.o" | grep 'U coracle::recycled_frames::operator new' >/dev/null; then
        echo "FAIL  $compiler $level: neither an error of the compiler nor one of the linker: $text"
        exit 1
      fi
      [[ ! -s $folder/says ]] || grep -q 'CORACLE_ENABLE_HEAP_FRAMES is 0, and this frame' "$folder/says" || {
        cat "$folder/says"
        exit 1
      }
    done
    echo "pass  $compiler $level"
  done
done
