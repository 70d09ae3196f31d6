#!/usr/bin/env bash
# With CORACLE_ENABLE_LIFETIME_CHECKS clang still compiles the library in use, and warns of a task that outlives
# its argument.
set -euo pipefail
cd "$(dirname "$0")/../.."
compile=(clang++-22 -std=c++20 -Iinclude -Werror -DCORACLE_ENABLE_LIFETIME_CHECKS -fsyntax-only -x c++ -)

"${compile[@]}" <<'END'
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <stop_token>
coracle::task<int> size_of(const std::string& text) { co_return static_cast<int>(text.size()); }
CORACLE_CORO_WRAPPER() coracle::task<int> forward(const std::string& text) { return size_of(text); }
coracle::task<> use(coracle::static_thread_pool& pool, std::stop_token token) {
  const std::string text = "kept";
  co_await forward(text);
  co_await size_of("until the end of the expression");
  co_await coracle::via(coracle::with_stop(coracle::schedule_on(size_of(text), pool), token), pool);
  co_await coracle::when_all(size_of(text), coracle::make_task(size_of(text)));
}
struct server {
  coracle::task<> serve(std::string) { co_return; }
};
coracle::task<> keep_functions(server& one, const std::string& text) {
  coracle::async_scope scope;
  coracle::inline_scheduler here;
  const auto run = [text]() -> coracle::task<> { co_return; };
  scope.spawn([text]() -> coracle::task<> { co_return; });
  scope.spawn(size_of, text);
  scope.spawn(size_of(text));
  scope.spawn(run());
  scope.spawn(&server::serve, &one, text);
  scope.spawn(one.serve("copied"));
  scope.spawn(here, one.serve("copied"));
  auto later = scope.spawn_future(size_of(text));
  co_await coracle::when_all(run, coracle::timeout(run, std::chrono::hours{1}), std::move(later));
  const auto body = [](coracle::async_scope&, std::string) -> coracle::task<> { co_return; };
  co_await coracle::with_scope(body, text);
  co_await scope.join();
}
END
echo "pass  the library in use compiles"

# Each of these lines alone dangles.
while IFS= read -r line; do
  found=$("${compile[@]}" 2>&1 <<END || true
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <string>
coracle::task<int> size_of(const std::string& text) { co_return static_cast<int>(text.size()); }
struct server {
  std::string name;
  coracle::task<> serve() { co_return; }
};
void dangling(coracle::async_scope& scope, coracle::inline_scheduler& here, const std::string& text) {
  $line
}
END
)
  if [[ $(grep -c "error: .*Wdangling" <<<"$found") != 1 ]]; then
    printf 'FAIL  no warning, or more than one, of: %s\n%s\n' "$line" "$found"
    exit 1
  fi
  echo "pass  warned of: $line"
done <<'LINES'
auto later = size_of("gone at the end of this line");
auto later = [text]() -> coracle::task<> { co_return; }();
auto later = server{text}.serve();
scope.spawn([text]() -> coracle::task<> { co_return; }());
scope.spawn(here, [text]() -> coracle::task<> { co_return; }());
scope.spawn(size_of("gone at the end of this line"));
scope.spawn(server{text}.serve());
auto later = scope.spawn_future(size_of("gone at the end of this line"));
LINES
