// expect: this coroutine awaits only the types that its promise names
// tests/compile_fail/awaits_only.cpp -- a promise that names what it awaits.
// SPDX-License-Identifier: MIT
#include <coracle/core/promise_parts.hpp>

struct custom {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<void>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_only<std::suspend_always> {
    custom get_return_object() noexcept;
  };
};

custom wrong() {
  co_await std::suspend_always{};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await std::suspend_never{};
#endif
}
