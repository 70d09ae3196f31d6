// tests/stack/mixed/kinds.hpp -- one coroutine of each kind, for a checked and an unchecked unit to exchange.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/utility/expected_coroutine.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <optional>

/// A coroutine made of the parts, as users make them.
struct own_task {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<int>,
                        coracle::part::continues_parent,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    own_task get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
  };

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) const noexcept {
    body.promise().set_parent(parent);
    return coracle::transfer_to(body);
  }
  int await_resume() const {
    const int result = body.promise().take();
    body.destroy();
    return result;
  }

  std::coroutine_handle<promise_type> body;
};
/// Its promise would have another size with one more flag.
struct nine_bytes {
  char each[9];
};
struct kinds {
  coracle::task<int> task;
  coracle::shared_task<int> shared;
  coracle::async_generator<int> generator;
  own_task own;
  std::optional<int> optional;
  std::optional<nine_bytes> larger_optional;
  coracle::expected<int, long> expected;
  coracle::expected<void, long> expected_of_nothing;
};
kinds first_kinds();
kinds second_kinds();
int take_in_second(kinds all);

namespace {
inline coracle::task<int> a_task() { co_return 1; }
inline coracle::shared_task<int> a_shared_task() { co_return 2; }
inline coracle::async_generator<int> a_generator() {
  const int copied = 4;
  co_yield 3;
  co_yield copied;
}
inline own_task an_own_task() { co_return 5; }
inline std::optional<int> an_optional(std::optional<int> n) { co_return co_await n + 1; }
inline std::optional<nine_bytes> a_larger_optional(std::optional<int> n) {
  co_return nine_bytes{{static_cast<char>(co_await n)}};
}
inline coracle::expected<int, long> an_expected(coracle::expected<int, long> n) {
  co_return co_await std::move(n) + 1;
}
inline coracle::expected<void, long> an_expected_of_nothing(coracle::expected<int, long> n) {
  static_cast<void>(co_await std::move(n));
}
inline kinds make_kinds() {
  return {a_task(),        a_shared_task(),      a_generator(),   an_own_task(),
          an_optional(20), a_larger_optional(7), an_expected(30), an_expected_of_nothing(1)};
}
inline coracle::task<int> sum(kinds all) {
  int result = co_await std::move(all.task) + co_await all.shared + co_await all.own;
  while (const int* const element = co_await all.generator.next()) result += *element;
  co_return result + *all.optional + all.larger_optional->each[0] + *all.expected;
}
/// 74 for what make_kinds() returned.
inline int take(kinds all) { return coracle::sync_wait(sum(std::move(all))); }
}  // namespace
