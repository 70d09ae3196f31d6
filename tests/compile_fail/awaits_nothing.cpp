// expect: this coroutine cannot co_await
// tests/compile_fail/awaits_nothing.cpp -- a promise that awaits nothing.
// SPDX-License-Identifier: MIT
#include <coracle/core/promise_parts.hpp>

struct custom {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<void>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_nothing {
    custom get_return_object() noexcept;
  };
};

custom wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await std::suspend_never{};
#endif
  co_return;
}
