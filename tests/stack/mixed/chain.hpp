// tests/stack/mixed/chain.hpp -- what both units of the test of mixed optimisation levels share.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>

coracle::task<int> first_leaf(int n);
coracle::task<int> first_depth(int levels);
coracle::task<int> second_middle(int n);
coracle::task<int> second_depth(int levels);

// Both units instantiate what follows, and the linker keeps one version of each function.

/// Awaits a task through a function that is never inlined. Both units call it from coroutines of their own,
/// and only CORACLE_TRANSFER_ABI() keeps the linker from giving one unit the other's version.
template <class T>
class out_of_line {
 public:
  explicit out_of_line(coracle::task<T>& child) noexcept : inner_(std::move(child).operator co_await()) {}
  bool await_ready() const noexcept { return inner_.await_ready(); }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  [[gnu::noinline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    return inner_.await_suspend(parent);
  }
  T await_resume() { return inner_.await_resume(); }

 private:
  coracle::awaiter_type_t<coracle::task<T>> inner_;
};

template <class T>
coracle::task<T> relay(coracle::task<T> child) {
  co_return co_await out_of_line(child);
}

/// Runs at once inside the call, awaits `child` and adds its result to `sum`.
struct at_once {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    at_once get_return_object() const noexcept { return {}; }
  };
};
template <class T>
at_once add_at_once(T& sum, coracle::task<T> child) {
  sum += co_await relay(std::move(child));
}
