#!/usr/bin/env bash
# With CORACLE_ENABLE_LIFETIME_CHECKS clang still compiles the library in use, and warns of a task that outlives
# its argument.
set -euo pipefail
cd "$(dirname "$0")/../.."
compile=(clang++-22 -std=c++20 -Iinclude -Werror -DCORACLE_ENABLE_LIFETIME_CHECKS -fsyntax-only -x c++ -)

"${compile[@]}" <<'END'
#include <coracle/coracle.hpp>
#include <stop_token>
coracle::task<int> size_of(const std::string& text) { co_return static_cast<int>(text.size()); }
CORACLE_CORO_WRAPPER() coracle::task<int> forward(const std::string& text) { return size_of(text); }
coracle::task<> use(coracle::static_thread_pool& pool, std::stop_token token) {
  const std::string text = "kept";
  co_await forward(text);
  co_await size_of("until the end of the expression");
  co_await coracle::via(coracle::with_stop(coracle::schedule_on(pool, size_of(text)), token), pool);
  co_await coracle::when_all(size_of(text), coracle::make_task(size_of(text)));
}
END
echo "pass  the library in use compiles"

found=$("${compile[@]}" 2>&1 <<'END' || true
#include <coracle/core/task.hpp>
#include <string>
coracle::task<int> size_of(const std::string& text) { co_return static_cast<int>(text.size()); }
coracle::task<int> dangling() {
  auto later = size_of("gone at the end of this line");
  co_return co_await std::move(later);
}
END
)
if ! grep -q Wdangling <<<"$found"; then
  printf 'FAIL  no warning of a task that outlives its argument:\n%s\n' "$found"
  exit 1
fi
echo "pass  a task that outlives its argument is warned of"
